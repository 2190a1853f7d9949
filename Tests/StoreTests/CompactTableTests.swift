// Tests of the compact hash table against a dictionary.

import TestSupport
import Testing

@testable import Store

@Suite struct CompactTableTests {
  /// Ids that crowd few homes, so that long probes and shifts happen.
  private func id(_ number: Int) -> LocalID {
    LocalID(high: UInt64(number), low: UInt64(number % 7) << 1 | 1 | UInt64(number / 7) << 40)
  }

  @Test func `it agrees with a dictionary over long random use`() {
    var generator = SeededGenerator(42)
    var table = CompactTable<Int>(empty: 0)
    var model: [LocalID: Int] = [:]
    for step in 0..<60_000 {
      let id = id(Int.random(in: 0..<300, using: &generator))
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<5:
        let place = table.insert(id)
        table[place] = step
        model[id] = step
      case 5..<9:
        if let place = table.place(of: id) { table.remove(at: place) }
        model[id] = nil
      default:
        let bound = step - Int.random(in: 0..<400, using: &generator)
        if Bool.random(using: &generator) {
          let removed = table.purgeAll { $0 < bound }
          let before = model.count
          model = model.filter { $0.value >= bound }
          #expect(removed == before - model.count)
        } else {
          table.purge(places: 16) { value in value < bound }
          // What a partial purge took is found out by looking.
          model = model.filter { entry in
            let isThere = table.place(of: entry.key) != nil
            #expect(isThere || entry.value < bound)
            return isThere
          }
        }
      }
      #expect(table.count == model.count)
    }
    for (id, value) in model { #expect(table.place(of: id).map { table[$0] } == value) }
  }
}
