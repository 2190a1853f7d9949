// Stores the audit lines of the last decisions in memory, so that operators can look them up.

import Glibc
import Synchronization
import Texts

/// The parts of an audit line that other lines are likely to repeat, as ranges of its octets, in the order of
/// the line. A part that the line lacks is an empty range.
struct RepeatedParts {
  /// The action, the caller, the app, the attestation and the proof.
  var caller = 0..<0
  /// The verdicts of all rules, up to the duration.
  var verdicts = 0..<0
  /// The token's hash.
  var token = 0..<0
}

/// The last decisions as audit lines, each with its number.
///
/// Every decision is stored here. So a line is copied once, as octets, into memory of its own lane, and no
/// object is allocated for it. Only the part that differs is copied, about 150 octets: the verdicts of 20
/// rules alone have 1,000. A lane keeps its last two parts and moves older ones to the archive of all lanes.
/// Decisions are found there and in the lanes by their request id.
package final class RecentDecisions: Sendable {
  /// The number of recent decisions that are listed, and of lines after which a lane's part is full.
  package static let capacity = 200
  /// The minimum number of decisions that can be found by their request id, unless they average more than
  /// 1,600 bytes.
  package static let findable = 10_000
  /// The maximum size of the archive in bytes.
  package static let archiveOctets = 16 << 20

  package struct Entry: Sendable {
    /// The decision's number, counted from 1 since the start.
    package let number: Int
    /// The decision's audit line: a JSON object and a newline.
    package let line: [UInt8]
  }

  /// Texts shared by the lines of a part.
  private struct Texts: Sendable {
    /// The number of newest texts that are searched. If clients never repeat themselves, a longer search
    /// finds nothing.
    private static let searched = 16

    private(set) var bytes: [UInt8] = []
    private var ends: [Int] = []

    /// Finds or adds a text and returns its index; nil if the text is too short. One byte is enough for the
    /// lines of a part.
    mutating func index(of part: Slice<UnsafeBufferPointer<UInt8>>) -> UInt8? {
      let text = unsafe UnsafeBufferPointer(rebasing: part)
      // Searching for a shorter text takes longer than copying it.
      guard text.count >= 32 else { return nil }
      var index = ends.count - 1
      while index >= 0, index >= ends.count - Self.searched {
        let range = range(index)
        let isEqual = unsafe bytes.withUnsafeBytes { bytes in
          unsafe range.count == text.count
            && memcmp(bytes.baseAddress! + range.lowerBound, text.baseAddress!, text.count) == 0
        }
        if isEqual { return UInt8(index) }
        index -= 1
      }
      unsafe bytes.append(contentsOf: text)
      ends.append(bytes.count)
      return UInt8(ends.count - 1)
    }

    func text(_ index: UInt8) -> ArraySlice<UInt8> { bytes[range(Int(index))] }

    private func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : ends[index - 1])..<ends[index] }

    mutating func clear(like other: Texts) {
      bytes.removeAll(keepingCapacity: true)
      bytes.reserveCapacity(other.bytes.count)
      ends.removeAll(keepingCapacity: true)
      ends.reserveCapacity(other.ends.count)
    }
  }

  /// Consecutive lines of a lane.
  ///
  /// A repeated part of a line is stored as two bytes: its kind, 1 to 3, which no JSON text contains, and the
  /// index of its text.
  private struct Lines: Sendable {
    private var bytes: [UInt8] = []
    private var ends: [(number: Int, end: Int)] = []
    private var callers = Texts()
    private var verdicts = Texts()
    private var tokens = Texts()

    var count: Int { ends.count }
    var octets: Int { bytes.count + callers.bytes.count + verdicts.bytes.count + tokens.bytes.count }

    mutating func append(_ line: borrowing Span<UInt8>, _ repeated: RepeatedParts, number: Int) {
      unsafe line.withUnsafeBufferPointer { line in
        let caller = unsafe callers.index(of: line[repeated.caller])
        let verdict = unsafe verdicts.index(of: line[repeated.verdicts])
        let token = unsafe tokens.index(of: line[repeated.token])
        var most = line.count
        if caller != nil { most -= repeated.caller.count - 2 }
        if verdict != nil { most -= repeated.verdicts.count - 2 }
        if token != nil { most -= repeated.token.count - 2 }
        bytes.append(upTo: most) { output in
          var start = 0
          unsafe Self.append(repeated.caller, 1, caller, of: line, from: &start, to: &output)
          unsafe Self.append(repeated.verdicts, 2, verdict, of: line, from: &start, to: &output)
          unsafe Self.append(repeated.token, 3, token, of: line, from: &start, to: &output)
          unsafe output.append(octets: UnsafeBufferPointer(rebasing: line[start...]).span)
        }
      }
      ends.append((number, bytes.count))
    }

    /// Appends the bytes before a part, and its mark. Without an index, appends nothing: the part is copied
    /// later as ordinary bytes.
    @inline(__always) private static func append(
      _ part: Range<Int>, _ kind: UInt8, _ index: UInt8?, of line: UnsafeBufferPointer<UInt8>,
      from start: inout Int, to output: inout OutputSpan<UInt8>
    ) {
      guard let index else { return }
      unsafe output.append(octets: UnsafeBufferPointer(rebasing: line[start..<part.lowerBound]).span)
      output.append(kind)
      output.append(index)
      start = part.upperBound
    }

    /// Calls `body` with the number of each line and its stored bytes.
    func visit(_ body: (Int, ArraySlice<UInt8>) -> Void) {
      var start = 0
      for line in ends {
        body(line.number, bytes[start..<line.end])
        start = line.end
      }
    }

    /// Restores a line as it was written.
    func entry(_ number: Int, _ stored: ArraySlice<UInt8>) -> Entry {
      var line: [UInt8] = []
      var start = stored.startIndex
      while let mark = stored[start...].firstIndex(where: { (1...3).contains($0) }) {
        line += stored[start..<mark]
        let texts = stored[mark] == 1 ? callers : stored[mark] == 2 ? verdicts : tokens
        line += texts.text(stored[mark + 1])
        start = mark + 2
      }
      return Entry(number: number, line: line + stored[start...])
    }

    /// Removes all lines and reserves as much memory as another part uses, so that this part does not grow
    /// line by line.
    mutating func clear(like other: Lines) {
      bytes.removeAll(keepingCapacity: true)
      bytes.reserveCapacity(other.bytes.count)
      ends.removeAll(keepingCapacity: true)
      ends.reserveCapacity(capacity)
      callers.clear(like: other.callers)
      verdicts.clear(like: other.verdicts)
      tokens.clear(like: other.tokens)
    }
  }

  /// Full parts of all lanes, the oldest first, limited in lines and bytes.
  private struct Archive: Sendable {
    private(set) var parts: [Lines] = []
    private var octets = 0
    private var lines = 0

    /// Adds a part and returns the memory of a removed one for reuse.
    mutating func add(_ part: Lines, atLeast least: Int, octets most: Int) -> Lines {
      parts.append(part)
      octets += part.octets
      lines += part.count
      var spare = Lines()
      while let oldest = parts.first, parts.count > 1,
        lines - oldest.count >= least || octets > most
      {
        octets -= oldest.octets
        lines -= oldest.count
        spare = parts.removeFirst()
      }
      return spare
    }
  }

  /// Two parts. When the newer one is full, the older one moves to the archive and the newer one takes its
  /// place.
  private struct Parts: Sendable {
    var older = Lines()
    var newer = Lines()
  }

  private final class Lane: Sendable {
    let parts = Mutex(Parts())
  }

  private let lanes: [Lane]
  private let last = Atomic<Int>(0)
  private let archive = Mutex(Archive())
  private let archiveOctets: Int

  /// Makes an empty list.
  /// - Parameter lanes: Number of event loops that make decisions.
  package init(lanes: Int, archiveOctets: Int = archiveOctets) {
    self.lanes = (0..<lanes).map { _ in Lane() }
    self.archiveOctets = archiveOctets
  }

  /// Stores a decision's audit line.
  func append(_ line: borrowing Span<UInt8>, _ repeated: RepeatedParts = RepeatedParts(), lane: Int) {
    lanes[lane % lanes.count].parts.withLock { parts in
      if parts.newer.count == Self.capacity {
        swap(&parts.older, &parts.newer)
        let full = parts.newer
        parts.newer = Lines()
        if full.count > 0 {
          parts.newer = archive.withLock { $0.add(full, atLeast: Self.findable, octets: archiveOctets) }
          parts.newer.clear(like: full)
        }
      }
      // The number is assigned and the line stored under one lock, so that a reader who knows the number
      // finds the line.
      let number = last.wrappingAdd(1, ordering: .relaxed).newValue
      parts.newer.append(line, repeated, number: number)
    }
  }

  /// The recent decisions after `number`, in order, and the number of the last one. A number above the last
  /// one comes from an earlier process, so all decisions count as new.
  package func after(_ number: Int) -> (entries: [Entry], last: Int) {
    let last = last.load(ordering: .relaxed)
    let range = max(number > last ? 0 : number, last - Self.capacity)..<last
    var found: [Entry] = []
    for lane in lanes {
      lane.parts.withLock { parts in
        for lines in [parts.older, parts.newer] {
          lines.visit { number, line in
            if range.contains(number - 1) { found.append(lines.entry(number, line)) }
          }
        }
      }
    }
    return (found.sorted { $0.number < $1.number }, last)
  }

  /// All stored decisions about a request, in order: at least those among the last `findable`. The decision
  /// on an appointment has the request id of its booking.
  package func decisions(of requestID: String) -> [Entry] {
    let member = Array(#""request_id":""#.utf8) + Array(requestID.utf8) + [UInt8(ascii: "\"")]
    var found: [Entry] = []
    func search(_ lines: Lines) {
      lines.visit { number, line in
        // The member follows the time, which has a fixed length, in every line.
        let start = line.startIndex + Self.requestIDOffset
        guard line.count > Self.requestIDOffset + member.count,
          line[start..<start + member.count].elementsEqual(member)
        else { return }
        found.append(lines.entry(number, line))
      }
    }
    // A part that moves to the archive during the search is found at least once; duplicates are removed
    // below.
    for lane in lanes {
      let parts = lane.parts.withLock { $0 }
      search(parts.older)
      search(parts.newer)
    }
    for part in archive.withLock({ $0.parts }) { search(part) }
    var seen: Set<Int> = []
    return found.sorted { $0.number < $1.number }.filter { seen.insert($0.number).inserted }
  }

  /// Offset of the `request_id` member in a line.
  private static let requestIDOffset = #"{"log":"audit","time":"2026-11-20T15:04:05.000Z","#.utf8.count
}
