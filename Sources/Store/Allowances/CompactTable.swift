// A hash table in a single array, small enough for a million keys.

/// Open addressing with linear probing. A removal shifts the following entries back, so that no tombstone remains.
struct CompactTable<Value: Sendable>: Sendable {
  private struct Slot: Sendable {
    /// All zero in an empty slot.
    var id: LocalID
    var value: Value
  }

  private static var none: LocalID { LocalID(high: 0, low: 0) }

  private var slots: [Slot]
  private let empty: Value
  /// Where the next purge goes on.
  private var cursor = 0
  /// How many there are.
  private(set) var count = 0

  /// An empty table; `empty` fills its unused slots.
  init(empty: Value) {
    self.empty = empty
    slots = Array(repeating: Slot(id: Self.none, value: empty), count: 8)
  }

  /// The slot of an id, valid until the table changes.
  @inline(__always) func place(of id: LocalID) -> Int? {
    var place = home(id)
    while true {
      let found = slots[place].id
      if found == id { return place }
      if found == Self.none { return nil }
      place = (place + 1) & (slots.count - 1)
    }
  }

  /// The value in a slot.
  @inline(__always) subscript(place: Int) -> Value {
    get { slots[place].value }
    set { slots[place].value = newValue }
  }

  /// Changes the value in a slot, in place.
  @inline(__always) mutating func update<R>(_ place: Int, _ body: (inout Value) -> R) -> R {
    body(&slots[place].value)
  }

  /// Reads the value in a slot without copying it.
  @inline(__always) func read<R>(_ place: Int, _ body: (borrowing Value) -> R) -> R {
    body(slots[place].value)
  }

  /// The slot of an id. A missing id is added.
  @inline(__always) mutating func insert(_ id: LocalID) -> Int {
    if let place = place(of: id) { return place }
    // At most four fifths full: a probe then reads three slots on average.
    if (count + 1) * 5 > slots.count * 4 { resize(to: slots.count * 2) }
    var place = home(id)
    while slots[place].id != Self.none { place = (place + 1) & (slots.count - 1) }
    slots[place] = Slot(id: id, value: empty)
    count += 1
    return place
  }

  /// Empties a slot.
  mutating func remove(at place: Int) {
    var hole = place
    var next = (hole + 1) & (slots.count - 1)
    while slots[next].id != Self.none {
      // The entry at `next` may move into the hole unless its home slot lies between the two.
      let distance = (next - home(slots[next].id)) & (slots.count - 1)
      if distance >= (next - hole) & (slots.count - 1) {
        slots[hole] = slots[next]
        hole = next
      }
      next = (next + 1) & (slots.count - 1)
    }
    slots[hole] = Slot(id: Self.none, value: empty)
    count -= 1
  }

  /// Removes the entries that a condition picks among the next so many slots. The next call continues there.
  ///
  /// - Returns: how many were removed.
  @discardableResult mutating func purge(places: Int, where isDone: (borrowing Value) -> Bool) -> Int {
    guard count > 0 else { return 0 }
    var removed = 0
    for _ in 0..<min(places, slots.count) {
      if cursor >= slots.count { cursor = 0 }
      if slots[cursor].id != Self.none, isDone(slots[cursor].value) {
        // Another entry may have moved in, so this slot is read again.
        remove(at: cursor)
        removed += 1
      } else {
        cursor += 1
      }
    }
    return removed
  }

  /// Removes everything a condition picks, and gives memory back when little is left.
  ///
  /// - Returns: how many were removed.
  @discardableResult mutating func purgeAll(where isDone: (borrowing Value) -> Bool) -> Int {
    guard count > 0 else { return 0 }
    var removed = 0
    // A removal shifts entries into this slot or, from the start, to the end. So none is skipped.
    var place = 0
    while place < slots.count {
      if slots[place].id != Self.none, isDone(slots[place].value) {
        remove(at: place)
        removed += 1
      } else {
        place += 1
      }
    }
    shrink()
    return removed
  }

  /// Gives memory back when less than an eighth is used.
  private mutating func shrink() {
    var size = slots.count
    while size > 8, count * 8 < size { size /= 2 }
    if size < slots.count { resize(to: size) }
  }

  /// The number of slots.
  var capacity: Int { slots.count }

  @inline(__always) private func home(_ id: LocalID) -> Int {
    // The upper half picks the shard; this uses the other, without its lowest bit, which is always one.
    Int(truncatingIfNeeded: id.low >> 1) & (slots.count - 1)
  }

  private mutating func resize(to size: Int) {
    let old = slots
    slots = Array(repeating: Slot(id: Self.none, value: empty), count: size)
    cursor = 0
    for slot in old where slot.id != Self.none {
      var place = home(slot.id)
      while slots[place].id != Self.none { place = (place + 1) & (size - 1) }
      slots[place] = slot
    }
  }
}
