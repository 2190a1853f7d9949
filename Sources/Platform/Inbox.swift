// A queue that any thread adds to and one event loop empties.

import Synchronization

/// Elements that other threads send to an event loop. The lock is held only to append one element or to take
/// all.
struct Inbox<Element: Sendable>: ~Copyable, Sendable {
  private let elements = Mutex<[Element]>([])

  /// Whether the queue is empty. The loop reads this in each turn, so the code uses a closure: in generic
  /// code the runtime would make a key path each time, which takes half as long as serving a request.
  var isEmpty: Bool { elements.withLock { $0.isEmpty } }

  /// Adds an element; from any thread. Returns whether the queue was empty, and so whether its reader must be
  /// woken.
  func add(_ element: Element) -> Bool {
    elements.withLock { elements in
      elements.append(element)
      return elements.count == 1
    }
  }

  /// Removes all elements and calls a function with each, the oldest first.
  func drain(_ body: (Element) -> Void) {
    let taken = elements.withLock { elements in
      defer { elements = [] }
      return elements
    }
    for element in taken { body(element) }
  }
}
