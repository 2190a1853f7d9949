// Keeps the audit lines of the last decisions in memory, for operators who look.

import Synchronization

/// The last decisions as audit lines, each with its number.
///
/// Every decision passes here, so a line is copied once, as octets, into memory of its own lane: no object is made or retained. A lane
/// whose part is full hands it over to the archive of all lanes, which finds decisions by their request id.
package final class RecentDecisions: Sendable {
  /// How many are listed at least.
  package static let capacity = 200
  /// How many can be found by their request id at least, unless their lines are longer than 1,600 octets on average.
  package static let findable = 10_000
  /// The most octets of the archive.
  package static let archiveOctets = 16 << 20

  /// A decision.
  package struct Entry: Sendable {
    /// Its number, counted from 1 since the start.
    package let number: Int
    /// Its audit line: a JSON object and a newline.
    package let line: [UInt8]
  }

  private struct Lines: Sendable {
    var bytes: [UInt8] = []
    /// Each line's number, and where it ends.
    var marks: [(number: Int, end: Int)] = []

    /// Calls back with each line and its number.
    func visit(_ body: (Int, ArraySlice<UInt8>) -> Void) {
      var start = 0
      for mark in marks {
        body(mark.number, bytes[start..<mark.end])
        start = mark.end
      }
    }
  }

  /// Parts of lanes, the oldest first, within a number of lines and of octets.
  private struct Archive: Sendable {
    private(set) var parts: [Lines] = []
    private var octets = 0
    private var lines = 0

    /// Adds a part, and gives back the memory of one that leaves, to be used again.
    mutating func add(_ part: Lines, atLeast least: Int, octets most: Int) -> Lines {
      parts.append(part)
      octets += part.bytes.count
      lines += part.marks.count
      var spare = Lines()
      while let oldest = parts.first, parts.count > 1,
        lines - oldest.marks.count >= least || octets > most
      {
        octets -= oldest.bytes.count
        lines -= oldest.marks.count
        spare = parts.removeFirst()
      }
      spare.bytes.removeAll(keepingCapacity: true)
      spare.marks.removeAll(keepingCapacity: true)
      return spare
    }
  }

  /// Two parts, of which the older one is overwritten when the newer one is full.
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

  /// Keeps none yet.
  /// - Parameter lanes: How many loops decide.
  package init(lanes: Int, archiveOctets: Int = archiveOctets) {
    self.lanes = (0..<lanes).map { _ in Lane() }
    self.archiveOctets = archiveOctets
  }

  /// Keeps a decision's audit line.
  func append(_ line: borrowing Span<UInt8>, lane: Int) {
    lanes[lane % lanes.count].parts.withLock { parts in
      if parts.newer.marks.count == Self.capacity {
        swap(&parts.older, &parts.newer)
        let full = parts.newer
        parts.newer = Lines()
        if !full.marks.isEmpty {
          parts.newer = archive.withLock {
            $0.add(full, atLeast: Self.findable, octets: archiveOctets)
          }
          // As large as the one before, so that it does not grow line by line.
          parts.newer.bytes.reserveCapacity(full.bytes.count)
          parts.newer.marks.reserveCapacity(Self.capacity)
        }
      }
      // A number is given and kept under one lock, so that a reader who knows the number finds the line.
      let number = last.wrappingAdd(1, ordering: .relaxed).newValue
      unsafe line.withUnsafeBufferPointer { unsafe parts.newer.bytes.append(contentsOf: $0) }
      parts.newer.marks.append((number, parts.newer.bytes.count))
    }
  }

  /// The last decisions with a higher number, in order, and the number of the last one. A number that is still to come is of a
  /// process that has ended: everything is new then.
  package func after(_ number: Int) -> (entries: [Entry], last: Int) {
    let last = last.load(ordering: .relaxed)
    let range = max(number > last ? 0 : number, last - Self.capacity)..<last
    var found: [Entry] = []
    for lane in lanes {
      lane.parts.withLock { parts in
        for lines in [parts.older, parts.newer] {
          lines.visit { number, line in
            if range.contains(number - 1) { found.append(Entry(number: number, line: Array(line))) }
          }
        }
      }
    }
    return (found.sorted { $0.number < $1.number }, last)
  }

  /// The decisions about a request among the last `findable`, in order. An appointment has the request id of its booking.
  package func decisions(of requestID: String) -> [Entry] {
    let member = Array(#""request_id":""#.utf8) + Array(requestID.utf8) + [UInt8(ascii: "\"")]
    var found: [Entry] = []
    func search(_ lines: Lines) {
      lines.visit { number, line in
        // It follows the time, which has a fixed length, in every line.
        let start = line.startIndex + Self.requestIDOffset
        guard line.count > Self.requestIDOffset + member.count,
          line[start..<start + member.count].elementsEqual(member)
        else { return }
        found.append(Entry(number: number, line: Array(line)))
      }
    }
    // A part that moves meanwhile is found at least once.
    for lane in lanes {
      let parts = lane.parts.withLock { $0 }
      search(parts.older)
      search(parts.newer)
    }
    for part in archive.withLock({ $0.parts }) { search(part) }
    var seen: Set<Int> = []
    return found.sorted { $0.number < $1.number }.filter { seen.insert($0.number).inserted }
  }

  /// Where the request id's member begins in a line.
  private static let requestIDOffset = #"{"log":"audit","time":"2026-11-20T15:04:05.000Z","#.utf8.count
}
