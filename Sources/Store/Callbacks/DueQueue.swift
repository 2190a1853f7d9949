// A queue of elements ordered by the time at which each is due.

/// A binary heap by time. An element stays until it is due. The owner then decides whether it still matters.
struct DueQueue<Element: Sendable>: Sendable {
  private var heap: [(time: Int64, element: Element)] = []

  /// How many wait.
  var count: Int { heap.count }

  /// Adds something that is due from a time on.
  mutating func add(_ element: Element, _ time: Int64) {
    heap.append((time, element))
    var place = heap.count - 1
    while place > 0, heap[(place - 1) / 2].time > heap[place].time {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Takes the earliest out, if it is due.
  mutating func removeDue(at now: Int64) -> Element? {
    guard let first = heap.first, first.time <= now else { return nil }
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2] where child < heap.count {
        if heap[child].time < heap[least].time { least = child }
      }
      guard least != place else { return first.element }
      heap.swapAt(place, least)
      place = least
    }
  }
}
