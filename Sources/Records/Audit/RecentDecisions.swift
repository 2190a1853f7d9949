// Keeps the audit lines of the last decisions in memory, for operators who look.

import Synchronization

/// The last decisions as audit lines, each with its number.
///
/// Every decision passes here, so a line is copied once, as octets, into memory of its own lane: no object is made or retained.
package final class RecentDecisions: Sendable {
  /// How many are kept at least.
  package static let capacity = 200

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

  /// Keeps none yet.
  /// - Parameter lanes: How many loops decide.
  package init(lanes: Int) { self.lanes = (0..<lanes).map { _ in Lane() } }

  /// Keeps a decision's audit line.
  func append(_ line: borrowing Span<UInt8>, lane: Int) {
    lanes[lane % lanes.count].parts.withLock { parts in
      if parts.newer.marks.count == Self.capacity {
        swap(&parts.older, &parts.newer)
        parts.newer.bytes.removeAll(keepingCapacity: true)
        parts.newer.marks.removeAll(keepingCapacity: true)
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
          var start = 0
          for mark in lines.marks {
            if range.contains(mark.number - 1) {
              found.append(Entry(number: mark.number, line: Array(lines.bytes[start..<mark.end])))
            }
            start = mark.end
          }
        }
      }
    }
    return (found.sorted { $0.number < $1.number }, last)
  }
}
