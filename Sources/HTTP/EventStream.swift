// Reads a stream of server-sent events (WHATWG HTML, "Server-sent events", §9.2.6), piece by piece.

/// One event of a stream.
public struct StreamedEvent: Hashable, Sendable {
  /// The event's type; `message` if the stream names none.
  public let name: String
  /// The event's data. Its lines are separated by line feeds.
  public let data: [UInt8]
}

/// Assembles the events of a stream, however its octets are split. Ids, retry times and comments are ignored.
public struct EventStreamReader: Sendable {
  /// The maximum number of octets in a line, and in an event's data.
  public static let mostBytes = 64 * 1024

  /// The error for a line or an event's data with more than `mostBytes` octets. The rest of the stream cannot
  /// be read.
  public struct TooLong: Error, Hashable, Sendable {}

  private var line: [UInt8] = []
  private var name: [UInt8] = []
  private var data: [UInt8] = []
  private var hasData = false
  /// Whether the last octet was a carriage return: a line feed after it does not end another line.
  private var endedWithReturn = false
  private var isFirstLine = true

  /// Creates a reader at the start of a stream.
  public init() {}

  /// Reads the next octets.
  ///
  /// - Returns: The events that these octets complete. An event that the stream's end cuts off is never
  ///   returned.
  public mutating func take(_ bytes: [UInt8]) throws(TooLong) -> [StreamedEvent] {
    var events: [StreamedEvent] = []
    var rest = bytes[...]
    while let first = rest.first {
      let isAfterReturn = endedWithReturn
      endedWithReturn = false
      if isAfterReturn, first == 0x0A {
        rest.removeFirst()
        continue
      }
      guard let end = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) else {
        try add(rest)
        break
      }
      try add(rest[..<end])
      endedWithReturn = rest[end] == 0x0D
      rest = rest[(end + 1)...]
      if let event = try endLine() { events.append(event) }
    }
    return events
  }

  private mutating func add(_ part: ArraySlice<UInt8>) throws(TooLong) {
    guard part.count <= Self.mostBytes - line.count else { throw TooLong() }
    line += part
  }

  /// Processes a complete line. An empty line ends an event.
  private mutating func endLine() throws(TooLong) -> StreamedEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    if isFirstLine {
      isFirstLine = false
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    }
    guard !line.isEmpty else {
      defer { (name, data, hasData) = ([], [], false) }
      guard hasData else { return nil }
      return StreamedEvent(
        name: name.isEmpty ? "message" : String(decoding: name, as: UTF8.self), data: data)
    }
    let colon = line.firstIndex(of: 0x3A) ?? line.endIndex
    var value = line[min(colon + 1, line.endIndex)...]
    if value.first == 0x20 { value.removeFirst() }
    if line[..<colon].elementsEqual("event".utf8) {
      name = Array(value)
    } else if line[..<colon].elementsEqual("data".utf8) {
      guard data.count + value.count + 1 <= Self.mostBytes else { throw TooLong() }
      if hasData { data.append(0x0A) }
      data += value
      hasData = true
    }
    return nil
  }
}
