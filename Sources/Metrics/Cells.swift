// Counters for one event loop, separate from those of other loops so that counting stays cheap.

import Synchronization

/// A fixed number of counters that mainly one lane adds to, and that any thread may read.
///
/// A lane is an event loop, or all code that runs outside the loops. If loops added to one counter, its cache
/// line would move between cores with every request. So each lane has its own cells, and a reader adds them
/// up.
final class Cells<let count: Int>: Sendable {
  private let cells: InlineArray<count, Atomic<Int>>

  init() { cells = InlineArray { _ in Atomic(0) } }

  /// Adds to a cell: one instruction, no lock, no ordering.
  @inline(__always) func add(_ amount: Int, at index: Int) {
    cells[index].wrappingAdd(amount, ordering: .relaxed)
  }

  func value(at index: Int) -> Int { cells[index].load(ordering: .relaxed) }
}

extension Array {
  /// The sum of a cell over all lanes.
  func total<let count: Int>(at index: Int) -> Int where Element == Cells<count> {
    reduce(0) { $0 &+ $1.value(at: index) }
  }
}
