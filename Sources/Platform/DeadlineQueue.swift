/// The deadlines of an event loop's registrations, at most one per slot: a binary heap with the earliest
/// first, which knows the index of each slot.
///
/// Moving a deadline later is one write to memory: the heap keeps the earlier time and checks again then. A
/// connection with a thousand responses in a second pays for its idle deadline once.
struct DeadlineQueue {
  private struct Entry {
    /// The point the heap is ordered by: never later than the slot's deadline.
    var point: Int64
    var slot: Int
  }

  private static let never = Int64.max
  private var heap: [Entry] = []
  /// Per slot: its deadline, or `never`.
  private var deadlines: [Int64] = []
  /// Per slot: its index in the heap, or -1.
  private var places: [Int] = []

  /// The number of slots in the heap.
  var count: Int { heap.count }

  /// The earliest point at which `next(due:)` has something to check.
  var earliest: MonotonicTime? { heap.first.map { MonotonicTime(nanoseconds: $0.point) } }

  /// Sets a slot's deadline; nil removes it.
  mutating func set(_ slot: Int, _ deadline: MonotonicTime?) {
    while deadlines.count <= slot {
      deadlines.append(Self.never)
      places.append(-1)
    }
    let point = deadline?.nanoseconds ?? Self.never
    deadlines[slot] = point
    guard point != Self.never else { return }
    let place = places[slot]
    if place < 0 {
      heap.append(Entry(point: point, slot: slot))
      rise(heap.count - 1)
    } else if point < heap[place].point {
      heap[place].point = point
      rise(place)
    }
  }

  /// Removes the deadline of a slot that is released, so that its next owner starts without one.
  mutating func remove(_ slot: Int) {
    guard slot < places.count else { return }
    deadlines[slot] = Self.never
    if places[slot] >= 0 { take(places[slot]) }
  }

  /// Removes and returns a slot whose deadline has come; nil if there is none.
  mutating func next(due now: MonotonicTime) -> Int? {
    while let first = heap.first, first.point <= now.nanoseconds {
      let deadline = deadlines[first.slot]
      if deadline == Self.never {
        take(0)
      } else if deadline > first.point {
        // The deadline was moved later meanwhile.
        heap[0].point = deadline
        sink(0)
      } else {
        deadlines[first.slot] = Self.never
        take(0)
        return first.slot
      }
    }
    return nil
  }

  private mutating func take(_ place: Int) {
    places[heap[place].slot] = -1
    let last = heap.removeLast()
    guard place < heap.count else { return }
    heap[place] = last
    places[last.slot] = place
    rise(place)
    sink(places[last.slot])
  }

  private mutating func rise(_ start: Int) {
    var place = start
    let entry = heap[place]
    while place > 0 {
      let parent = (place - 1) / 2
      guard entry.point < heap[parent].point else { break }
      heap[place] = heap[parent]
      places[heap[place].slot] = place
      place = parent
    }
    heap[place] = entry
    places[entry.slot] = place
  }

  private mutating func sink(_ start: Int) {
    var place = start
    let entry = heap[place]
    while true {
      var child = place * 2 + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1].point < heap[child].point { child += 1 }
      guard heap[child].point < entry.point else { break }
      heap[place] = heap[child]
      places[heap[place].slot] = place
      place = child
    }
    heap[place] = entry
    places[entry.slot] = place
  }
}
