// A lock-free queue that any thread adds to and one event loop empties.

import Synchronization

/// A queue that any thread adds to and another empties, without a lock: a linked list whose head is swapped.
///
/// Nobody ever takes a single element, so the list cannot be caught between two states (no ABA problem).
struct Inbox<Element: Sendable>: ~Copyable, Sendable {
  /// `@unchecked Sendable`: a node is written before it is linked in and read after it was taken out, by one thread each.
  private final class Node: @unchecked Sendable {
    let element: Element
    var next: Unmanaged<Node>?
    init(_ element: Element) { self.element = element }
  }

  /// The newest element; each node owns the one before it by an unbalanced retain.
  private let head = Atomic<Unmanaged<Node>?>(nil)

  deinit { drain { _ in } }

  /// Whether there is nothing to take.
  var isEmpty: Bool { head.load(ordering: .relaxed) == nil }

  /// Adds an element; from any thread. Returns whether the queue was empty, and so whether its reader must be woken.
  func add(_ element: Element) -> Bool {
    let node = Node(element)
    let reference = Unmanaged.passRetained(node)
    var expected = head.load(ordering: .relaxed)
    while true {
      node.next = expected
      let (isDone, found) = head.weakCompareExchange(
        expected: expected, desired: reference, successOrdering: .releasing, failureOrdering: .relaxed)
      if isDone { return expected == nil }
      expected = found
    }
  }

  /// Takes everything there is and calls a function with each element, the oldest first.
  func drain(_ body: (Element) -> Void) {
    var newest = head.exchange(nil, ordering: .acquiring)
    var oldest: Unmanaged<Node>?
    while let reference = newest {
      let node = reference._withUnsafeGuaranteedRef { $0 }
      newest = node.next
      node.next = oldest
      oldest = reference
    }
    while let reference = oldest {
      let node = reference.takeRetainedValue()
      oldest = node.next
      body(node.element)
    }
  }
}
