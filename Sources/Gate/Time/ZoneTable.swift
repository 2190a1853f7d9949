// Reads the file of a time zone into a table of offsets.

/// The offsets of a time zone over a span of years, from a TZif file (RFC 9636).
struct ZoneTable: Sendable, Equatable {
  /// The first second of each span with one offset, ascending, in seconds since the epoch.
  private(set) var starts: [Int64]
  /// The offset of each span, in seconds east of UTC. Neighboring spans have different offsets.
  private(set) var offsets: [Int32]

  /// A table with one offset.
  init(offset: Int32, from start: Int64) {
    starts = [start]
    offsets = [offset]
  }

  /// The maximum size of a file, in bytes. The largest file of the database has 4 KB.
  static let maximumBytes = 1 << 16
  /// Offsets of the database are within a day; RFC 9636 §3.2 allows a little more.
  private static let offsetRange = -93_599...97_199

  /// Reads a file. Nil if the bytes are not a TZif file, or if the file counts leap seconds, because its
  /// times are not Unix time.
  ///
  /// - Parameter span: The instants that the table covers.
  init?(tzif bytes: [UInt8], covering span: Range<Int64>) {
    var reader = Reader(bytes: bytes)
    guard let first = reader.header() else { return nil }
    var header = first
    var timeSize = 4
    if first.version >= UInt8(ascii: "2") {
      // The first block repeats what fits into 32 bits.
      guard reader.skip(first.length(timeSize: 4)), let second = reader.header() else { return nil }
      header = second
      timeSize = 8
    }
    guard header.leaps == 0, header.types > 0, reader.has(header.length(timeSize: timeSize)) else {
      return nil
    }

    let times = (0..<header.times).map { _ in reader.integer(timeSize) }
    guard zip(times, times.dropFirst()).allSatisfy(<) else { return nil }
    let indices = (0..<header.times).map { _ in Int(reader.byte()) }
    let offsets = (0..<header.types).map { _ in
      let offset = reader.integer(4)
      _ = reader.skip(2)
      return offset
    }
    guard indices.allSatisfy({ $0 < offsets.count }),
      offsets.allSatisfy({ Self.offsetRange.contains(Int($0)) }),
      reader.skip(header.tail)
    else { return nil }
    var footer: ZoneFooter?
    if timeSize == 8 {
      guard let text = reader.line() else { return nil }
      if !text.isEmpty {
        guard let read = ZoneFooter(text) else { return nil }
        footer = read
      }
    }

    // Before the first transition type 0 is in effect (RFC 9636 §3.2).
    self.init(offset: Int32(offsets[0]), from: span.lowerBound)
    for (time, index) in zip(times, indices) { append(time, offsets[index], within: span) }
    guard let footer else { return }
    let last = times.last ?? .min
    if times.isEmpty { append(span.lowerBound, footer.standard, within: span) }
    let years = CivilDate(day: span.lowerBound).parts.year - 1...CivilDate(day: span.upperBound).parts.year
    for year in years {
      for change in footer.changes(in: year) where change.time > last {
        append(change.time, change.offset, within: span)
      }
    }
  }

  /// Appends a transition. Transitions must come in time order. Of several at the same time, or before the
  /// span, only the last counts.
  private mutating func append(_ time: Int64, _ offset: Int64, within span: Range<Int64>) {
    guard time < span.upperBound else { return }
    let time = max(time, span.lowerBound)
    if time == starts[starts.count - 1] {
      starts.removeLast()
      offsets.removeLast()
    }
    if let last = offsets.last, Int64(last) == offset { return }
    starts.append(time)
    offsets.append(Int32(offset))
  }
}

extension CivilDate {
  /// The date of an instant in UTC.
  fileprivate init(day seconds: Int64) {
    self.init(dayNumber: Int(seconds.flooredDivision(by: 86_400).quotient))
  }
}

extension ZoneTable {
  /// The counts of a header (RFC 9636 §3.1).
  private struct Header {
    var version: UInt8
    var utIndicators, standardIndicators, leaps, times, types, characters: Int

    /// The number of bytes after the types.
    var tail: Int { characters + standardIndicators + utIndicators }

    /// The number of bytes in the data block.
    func length(timeSize: Int) -> Int {
      times * (timeSize + 1) + types * 6 + leaps * (timeSize + 4) + tail
    }
  }

  /// Reads numbers in network byte order, front to back.
  private struct Reader {
    let bytes: [UInt8]
    private var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    func has(_ count: Int) -> Bool { count <= bytes.count - index }

    mutating func skip(_ count: Int) -> Bool {
      guard has(count) else { return false }
      index += count
      return true
    }

    mutating func byte() -> UInt8 {
      defer { index += 1 }
      return bytes[index]
    }

    /// Reads a signed number of four or eight bytes.
    mutating func integer(_ size: Int) -> Int64 {
      var value: UInt64 = 0
      for _ in 0..<size { value = value << 8 | UInt64(byte()) }
      return size == 4 ? Int64(Int32(truncatingIfNeeded: value)) : Int64(bitPattern: value)
    }

    mutating func header() -> Header? {
      guard has(44), bytes[index..<index + 4].elementsEqual("TZif".utf8) else { return nil }
      index += 4
      let version = byte()
      index += 15
      // Each count is below 2^32, so a block's length does not overflow.
      let counts = (0..<6).map { _ in Int(UInt32(truncatingIfNeeded: integer(4))) }
      return Header(
        version: version, utIndicators: counts[0], standardIndicators: counts[1], leaps: counts[2],
        times: counts[3], types: counts[4], characters: counts[5])
    }

    /// Reads the text between two line feeds.
    mutating func line() -> ArraySlice<UInt8>? {
      guard has(1), byte() == 0x0A, let end = bytes[index...].firstIndex(of: 0x0A) else { return nil }
      return bytes[index..<end]
    }
  }
}
