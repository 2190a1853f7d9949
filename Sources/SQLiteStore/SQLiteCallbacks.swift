// Reads and writes callback records in SQLite.

import Gate
import JOSE
import Platform
import Store

/// Reads and writes records by statements that are prepared on one connection.
struct SQLiteCallbacks {
  private let readRow, readKey, readPlace: SQLiteStatement
  private let putRow, putKey, putPlace: SQLiteStatement
  private let removeRow, removeKey, removePlace: SQLiteStatement
  private let putNotice: SQLiteStatement
  private let pending, late, slot, number, living, ofCall: SQLiteStatement

  private static let table = CallbackColumn.table
  private static let columns = table.list

  enum SQL {
    static let readRow = "SELECT \(columns) FROM callgate_callback WHERE id = ?"
    static let putRow = table.upsert
    static let putKey = KeyColumn.table.upsert
    static let putPlace = PlaceColumn.table.upsert
    static let putNotice = NoticeColumn.table.upsert
    static let removeRow = "DELETE FROM callgate_callback WHERE id = ?"
    static let removeKey = "DELETE FROM callgate_callback_key WHERE id = ?"
    static let removePlace = "DELETE FROM callgate_callback_place WHERE id = ?"
    static let pending = "SELECT DISTINCT instance FROM callgate_callback WHERE status = 'pending'"
    static let late = """
      SELECT id FROM callgate_callback WHERE status = 'pending' AND instance = ? AND abandoned <= ?
      """
    static let slot = "SELECT count(*) FROM callgate_callback WHERE slot IS NOT NULL AND slot = ?"
    static let number = """
      SELECT id FROM callgate_callback
      WHERE number IS NOT NULL AND settled IS NULL AND number = ?
      """
    static let living = "SELECT generation FROM callgate_installation WHERE id = ? AND revoked IS NULL"
    /// No index covers the conditions after the owner: an owner has few appointments.
    static let ofInstallation = """
      SELECT \(columns) FROM callgate_callback
      WHERE status = 'scheduled' AND caller = ? AND coalesce(subject, caller) = ?
        AND (installation = ?3 AND generation = ?4 OR notifies = ?3 AND notifies_generation = ?4)
      """
  }

  init(_ connection: SQLiteConnection) throws(StoreError) {
    readRow = try SQLiteStatement(connection, SQL.readRow)
    readKey = try SQLiteStatement(connection, CallbackStatements.key.sql)
    readPlace = try SQLiteStatement(connection, CallbackStatements.place.sql)
    putRow = try SQLiteStatement(connection, SQL.putRow)
    putKey = try SQLiteStatement(connection, SQL.putKey)
    putPlace = try SQLiteStatement(connection, SQL.putPlace)
    putNotice = try SQLiteStatement(connection, SQL.putNotice)
    removeRow = try SQLiteStatement(connection, SQL.removeRow)
    removeKey = try SQLiteStatement(connection, SQL.removeKey)
    removePlace = try SQLiteStatement(connection, SQL.removePlace)
    pending = try SQLiteStatement(connection, SQL.pending)
    late = try SQLiteStatement(connection, SQL.late)
    slot = try SQLiteStatement(connection, SQL.slot)
    number = try SQLiteStatement(connection, SQL.number)
    living = try SQLiteStatement(connection, SQL.living)
    ofCall = try SQLiteStatement(connection, CallbackStatements.ofCall.sql)
  }

  // MARK: Reading

  func row(_ id: CallbackID) throws(StoreError) -> CallbackBook.Row? {
    var found: CallbackBook.Row?
    try readRow.run([.bytes(id.id.bytes)]) { found = Self.row($0) }
    return found
  }

  /// Adds a key and its record to a book.
  func read(key name: StoreID, into book: inout CallbackBook) throws(StoreError) {
    try readKey.run([.bytes(name.bytes)]) { row in
      guard let (record, key) = row.read(CallbackStatements.key) else { return }
      book.add(record)
      book.add(key)
    }
  }

  /// Adds a dedupe entry to a book.
  func read(place name: StoreID, into book: inout CallbackBook) throws(StoreError) {
    try readPlace.run([.bytes(name.bytes)]) { row in
      if let place: CallbackBook.NamedPlace = row.entry() { book.add(place) }
    }
  }

  /// Adds the rows that a new callback is checked against.
  func read(_ names: CallbackNames, into book: inout CallbackBook) throws(StoreError) {
    if let key = names.key { try read(key: key, into: &book) }
    if let place = names.place { try read(place: place, into: &book) }
    try read(former: names.former, into: &book)
  }

  /// Adds a dedupe entry of an older release and its record to a book.
  func read(former: FormerPlace?, into book: inout CallbackBook) throws(StoreError) {
    guard let former else { return }
    var found = CallbackBook()
    try read(place: former.name, into: &found)
    guard let place = found.places[former.name], let row = try row(place.callback) else { return }
    book.add(former: former.name, place, row)
  }

  /// Adds the rows of a transaction.
  func read(_ working: inout WorkingSet) throws(StoreError) {
    for installation in working.installations {
      try living.run([.bytes(installation.id.bytes)]) { row in
        if row.integer(0) == installation.generation { working.book.living.insert(installation) }
      }
    }
    for names in working.begins { try read(names, into: &working.book) }
    for id in working.callbacks {
      guard let row = try row(id) else { continue }
      working.book.add(row)
      guard working.ending.contains(id) else { continue }
      if let key = row.key { try read(key: key, into: &working.book) }
      if let place = row.place { try read(place: place, into: &working.book) }
    }
    for call in working.calls {
      try ofCall.run(call.parameters) { row in
        if let row = Self.row(row), working.book.rows[row.record.id] == nil { working.book.add(row) }
      }
    }
    for slot in working.slots {
      var taken = 0
      try self.slot.run([.integer(slot)]) { taken = Int($0.integer(0)) }
      working.book.add(slot: slot, taken: taken)
    }
    for number in working.numbers {
      var ids: Set<CallbackID> = []
      try self.number.run([.bytes(number.bytes)]) { row in
        if let id = row.id(0) { ids.insert(CallbackID(id)) }
      }
      working.book.add(number: number, ids)
    }
  }

  static func row(_ row: SQLiteRow) -> CallbackBook.Row? { row.entry() }

  // MARK: Writing

  /// Writes the changes of a book.
  func write(_ book: CallbackBook) throws(StoreError) {
    for id in book.changes.rows {
      guard let row = book.rows[id] else {
        try removeRow.run([.bytes(id.id.bytes)])
        continue
      }
      try putRow.run(Self.table.values(of: row))
    }
    for notice in book.changes.notices {
      try put(notice)
    }
    let (keys, places) = (book.changedKeys, book.changedPlaces)
    for key in keys.put { try putKey.run(KeyColumn.table.values(of: key)) }
    for name in keys.removed { try removeKey.run([.id(name)]) }
    for place in places.put { try putPlace.run(PlaceColumn.table.values(of: place)) }
    for name in places.removed { try removePlace.run([.id(name)]) }
  }

  /// Saves a notification that an instance has begun to send, unless it is already saved.
  func put(_ notice: StoredNotice) throws(StoreError) {
    try putNotice.run(NoticeColumn.table.values(of: notice))
  }

  /// Reads the appointments of a revoked or replaced installation.
  func appointments(
    of succession: Succession, _ connection: SQLiteConnection
  ) throws(StoreError) -> [CallbackBook.Row] {
    var rows: [CallbackBook.Row] = []
    let (owner, installation) = (succession.owner, succession.installation)
    try SQLiteStatement(connection, SQL.ofInstallation).run([
      .text(owner.callerID), .text(owner.subject), .bytes(installation.id.bytes),
      .integer(installation.generation),
    ]) { if let row = Self.row($0) { rows.append(row) } }
    return rows
  }

  // MARK: Recovering

  /// The instances that have pending records.
  func pendingInstances() throws(StoreError) -> [Int64] {
    var instances: [Int64] = []
    try pending.run { instances.append($0.integer(0)) }
    return instances
  }

  /// The pending records of an instance that count as abandoned at a time.
  func abandoned(_ instance: Int64, at time: Int64) throws(StoreError) -> [CallbackID] {
    var ids: [CallbackID] = []
    try late.run([.integer(instance), .integer(time)]) { row in
      if let id = row.id(0) { ids.append(CallbackID(id)) }
    }
    return ids
  }
}
