// A list that keeps only its most recent elements and counts all.

/// The most recent elements of an endless sequence, oldest first, and the count of all.
struct RecentList<Element: Sendable>: Sendable {
  /// The maximum number of elements in the list.
  let capacity: Int
  /// The number of elements added since the list was made or emptied.
  private(set) var count = 0
  private var storage: [Element] = []
  private var oldest = 0

  init(capacity: Int) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  var elements: [Element] { Array(storage[oldest...] + storage[..<oldest]) }

  /// Adds an element. If the list is full, removes the oldest.
  mutating func append(_ element: Element) {
    count += 1
    guard storage.count == capacity else { return storage.append(element) }
    storage[oldest] = element
    oldest = (oldest + 1) % capacity
  }

  /// Empties the list and counts from 0 again.
  mutating func removeAll() { self = RecentList(capacity: capacity) }
}
