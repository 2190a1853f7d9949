// Counters for one event loop, kept apart from those of other loops so that counting stays cheap.

import Synchronization

/// A fixed number of counters that one lane adds to, mostly alone, and anybody may read.
///
/// A lane is a loop, or everything that runs on none. Loops that added to one counter would pass its cache line to and
/// fro with every request; each has its own cells instead, and whoever wants a total adds them up.
final class Cells<let count: Int>: Sendable {
  private let cells: InlineArray<count, Atomic<Int>>

  init() { cells = InlineArray { _ in Atomic(0) } }

  /// Adds to a cell: one instruction, no lock, no order with anything else.
  @inline(__always) func add(_ amount: Int, at index: Int) {
    cells[index].wrappingAdd(amount, ordering: .relaxed)
  }

  /// What a cell holds.
  func value(at index: Int) -> Int { cells[index].load(ordering: .relaxed) }
}

extension Array {
  /// The sum of a cell over all lanes.
  func total<let count: Int>(at index: Int) -> Int where Element == Cells<count> {
    reduce(0) { $0 &+ $1.value(at: index) }
  }
}
