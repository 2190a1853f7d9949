// Reads and writes callback records as PostgreSQL rows.

import Gate
import JOSE
import Platform
import Store

enum PostgresCallbacks {
  // MARK: Reading

  static func row(_ row: PostgresRow) throws(PostgresFailure) -> CallbackBook.Row { try row.entry() }

  /// Adds a key's columns to a book; nothing for a row that was made to be locked.
  static func add(key row: PostgresRow, to book: inout CallbackBook) throws(PostgresFailure) {
    guard let callback = try row.optionalID(1) else { return }
    book.add(
      try row.id(0),
      CallbackBook.Key(
        callback: CallbackID(callback), fingerprint: try row.id(2),
        refusedFields: try row.optionalBytes(4).map { RefusedFields.read($0) } ?? [],
        expires: try row.integer(5)))
  }

  /// Adds a place's columns to a book; nothing for a row that was made to be locked.
  static func add(place row: PostgresRow, to book: inout CallbackBook) throws(PostgresFailure) {
    guard let callback = try row.optionalID(1) else { return }
    book.add(try row.id(0), CallbackBook.Place(callback: CallbackID(callback), expires: try row.integer(2)))
  }

  /// Adds dedupe entries of an older release and their records to a book.
  static func add(former rows: [PostgresRow], to book: inout CallbackBook) throws(PostgresFailure) {
    for row in rows {
      let place = CallbackBook.Place(callback: CallbackID(try row.id(1)), expires: try row.integer(2))
      book.add(former: try row.id(0), place, try Self.row(row.dropFirst(3)))
    }
  }

  /// Adds how many places of slots are taken to a book.
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

  /// Rows of a slot and how many of its places are taken.
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
    let keys = changes.keys.compactMap { name in book.keys[name].map { (name: name, key: $0) } }
    if !keys.isEmpty {
      commands.append(
        .prepared(
          PostgresStatements.putKeys,
          [
            PostgresText.array(keys.map(\.name.hex)), PostgresText.array(keys.map(\.key.callback.id.hex)),
            PostgresText.array(keys.map(\.key.fingerprint.hex)),
            PostgresText.array(keys.map { _ in "NULL" }),
            PostgresText.array(
              quoting: keys.map { RefusedFields.written($0.key.refusedFields).map { PostgresText.bytea($0) } }
            ),
            PostgresText.array(keys.map { "\($0.key.expires)" }),
          ]))
    }
    let places = changes.places.compactMap { name in book.places[name].map { (name: name, place: $0) } }
    if !places.isEmpty {
      commands.append(
        .prepared(
          PostgresStatements.putPlaces,
          [
            PostgresText.array(places.map(\.name.hex)),
            PostgresText.array(places.map(\.place.callback.id.hex)),
            PostgresText.array(places.map { "\($0.place.expires)" }),
          ]))
    }
    if !changes.notices.isEmpty {
      commands.append(
        .prepared(PostgresStatements.putNotices, NoticeColumn.table.arrays(of: changes.notices)))
    }
    remove(changes.rows.filter { book.rows[$0] == nil }.map(\.id), PostgresStatements.removeCallbacks)
    remove(changes.keys.filter { book.keys[$0] == nil }, PostgresStatements.removeKeys)
    remove(changes.places.filter { book.places[$0] == nil }, PostgresStatements.removePlaces)
    return commands

    func remove(_ ids: some Collection<StoreID>, _ statement: PostgresStatement) {
      guard !ids.isEmpty else { return }
      commands.append(.prepared(statement, [PostgresText.array(ids.map(\.hex))]))
    }
  }
}
