// Reads callback records from PostgreSQL rows, and creates the commands that write them.

import Gate
import JOSE
import Platform
import Store

enum PostgresCallbacks {
  // MARK: Reading

  static func row(_ row: PostgresRow) throws(PostgresFailure) -> CallbackBook.Row { try row.entry() }

  /// Adds dedupe entries of an older release and their records to a book.
  static func add(former rows: [PostgresRow], to book: inout CallbackBook) throws(PostgresFailure) {
    for row in rows {
      let named: CallbackBook.NamedPlace = try row.entry()
      guard let place = named.place else { continue }
      book.add(former: named.name, place, try Self.row(row.dropFirst(PlaceColumn.table.count)))
    }
  }

  /// Adds the number of taken places of each slot to a book.
  static func add(
    slots rows: [PostgresRow], of slots: Set<Int64>, to book: inout CallbackBook
  ) throws(PostgresFailure) {
    let taken = try taken(rows)
    for slot in slots { book.add(slot: slot, taken: taken[slot, default: 0]) }
  }

  /// Adds the appointments for numbers to a book.
  static func add(
    numbers rows: [PostgresRow], of numbers: Set<StoreID>, to book: inout CallbackBook
  ) throws(PostgresFailure) {
    var ids = Dictionary(uniqueKeysWithValues: numbers.map { ($0, Set<CallbackID>()) })
    for row in rows { ids[try row.id(0)]?.insert(CallbackID(try row.id(1))) }
    for (number, ids) in ids { book.add(number: number, ids) }
  }

  /// The number of taken places by slot, from rows of a slot and that number.
  static func taken(_ rows: [PostgresRow]) throws(PostgresFailure) -> [Int64: Int] {
    var taken: [Int64: Int] = [:]
    for row in rows { taken[try row.integer(0)] = Int(try row.integer(1)) }
    return taken
  }

  // MARK: Writing

  /// The commands that write the changes.
  static func commands(for book: CallbackBook) -> [PostgresCommand] {
    let changes = book.changes
    var commands: [PostgresCommand] = []
    let rows = changes.rows.compactMap { book.rows[$0] }
    if !rows.isEmpty {
      commands.append(.prepared(PostgresStatements.putCallbacks, CallbackColumn.table.arrays(of: rows)))
    }
    let (keys, places) = (book.changedKeys, book.changedPlaces)
    if !keys.put.isEmpty {
      commands.append(.prepared(PostgresStatements.putKeys, KeyColumn.table.arrays(of: keys.put)))
    }
    if !places.put.isEmpty {
      commands.append(.prepared(PostgresStatements.putPlaces, PlaceColumn.table.arrays(of: places.put)))
    }
    if !changes.notices.isEmpty {
      commands.append(
        .prepared(PostgresStatements.putNotices, NoticeColumn.table.arrays(of: changes.notices)))
    }
    remove(changes.rows.filter { book.rows[$0] == nil }.map(\.id), PostgresStatements.removeCallbacks)
    remove(keys.removed, PostgresStatements.removeKeys)
    remove(places.removed, PostgresStatements.removePlaces)
    return commands

    func remove(_ ids: some Collection<StoreID>, _ statement: PostgresStatement) {
      guard !ids.isEmpty else { return }
      commands.append(.prepared(statement, [PostgresText.array(ids.map(\.hex))]))
    }
  }
}
