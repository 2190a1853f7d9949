// Reads and writes callback records in SQLite.

import Gate
import JOSE
import Platform
import Store

/// Statements by their purpose, prepared on one connection.
struct SQLiteCallbacks {
  private let readRow, readKey, readPlace: SQLiteStatement
  private let putRow, putKey, putPlace: SQLiteStatement
  private let removeRow, removeKey, removePlace: SQLiteStatement
  private let putNotice: SQLiteStatement
  private let pending, late, slot, number, living: SQLiteStatement

  /// A record's columns, in the order in which rows are read and written.
  static let columns = """
    id, caller, subject, app, contact, created, settled, status, code, upstream_status, platform_tid, key, place,
    instance, abandoned, expires, verification_code, verification_key, verification_until, at, slot, number, due,
    tries, last_code, content, content_key, content_until, key_retention, retention, \(CallbackNotices.columns), ticket,
    installation, generation, \(CallbackAlias.columns)
    """
  /// How many they are.
  static let count: Int32 = 44

  /// The statement for a page of records.
  private static func list(_ status: StoredCallback.Status?) -> String {
    "SELECT \(columns) FROM callgate_callback WHERE \(CallbackQuery.condition(status))id < ? ORDER BY id DESC LIMIT ?"
  }

  /// The SQL of each statement.
  private enum SQL {
    static let readRow = "SELECT \(columns) FROM callgate_callback WHERE id = ?"
    /// With its record, in one statement: between two, another process could settle it.
    static let readKey = """
      SELECT named.*, kept.callback, kept.fingerprint, kept.answer_status, kept.answer, kept.expires
      FROM callgate_callback_key AS kept
      JOIN (SELECT \(columns) FROM callgate_callback) AS named ON named.id = kept.callback
      WHERE kept.id = ?
      """
    static let readPlace = "SELECT callback, expires FROM callgate_callback_place WHERE id = ?"
    static let putRow = """
      INSERT INTO callgate_callback (\(columns))
      VALUES (\(repeatElement("?", count: Int(count)).joined(separator: ", ")))
      ON CONFLICT (id) DO UPDATE SET \(CallbackBook.Row.updates)
      """
    static let putKey = """
      INSERT INTO callgate_callback_key (id, callback, fingerprint, answer_status, answer, expires)
      VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET callback = excluded.callback, fingerprint = excluded.fingerprint,
        answer_status = excluded.answer_status, answer = excluded.answer, expires = excluded.expires
      """
    static let putPlace = """
      INSERT INTO callgate_callback_place (id, callback, expires) VALUES (?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET callback = excluded.callback, expires = excluded.expires
      """
    static let putNotice = """
      INSERT INTO callgate_notice (id, callback, installation, action, serial, created, generation)
      VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
      """
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
    /// The conditions after the owner are no index's: an owner has few appointments.
    static let ofInstallation = """
      SELECT \(columns) FROM callgate_callback
      WHERE status = 'scheduled' AND caller = ? AND coalesce(subject, caller) = ?
        AND (installation = ?3 AND generation = ?4 OR notifies = ?3 AND notifies_generation = ?4)
      """
    static let withoutOrigin = """
      SELECT \(columns) FROM callgate_callback WHERE due IS NOT NULL AND generation IS NULL LIMIT ?
      """
    static let due = """
      SELECT \(columns) FROM callgate_callback WHERE due IS NOT NULL AND due <= ? ORDER BY due LIMIT ?
      """
    static let appointments = """
      SELECT \(columns) FROM callgate_callback
      WHERE status = 'scheduled' AND caller = ? AND coalesce(subject, caller) = ? ORDER BY at, id LIMIT ?
      """
    static let slots = """
      SELECT slot, count(*) FROM callgate_callback WHERE slot IS NOT NULL AND slot BETWEEN ? AND ? GROUP BY slot
      """
    static let alias = "SELECT \(columns) FROM callgate_callback WHERE alias IS NOT NULL AND alias = ?"
    static let aliasNumber = """
      SELECT \(columns) FROM callgate_callback WHERE alias_number IS NOT NULL AND alias_number = ?
      ORDER BY id DESC LIMIT ?
      """
    static let counts = """
      SELECT (SELECT count(*) FROM callgate_callback WHERE due IS NOT NULL),
        (SELECT count(*) FROM callgate_callback WHERE status = 'pending' AND at IS NOT NULL),
        (SELECT count(*) FROM callgate_callback WHERE due IS NOT NULL AND due < ?)
      """
  }

  /// All statements, for a test of SQLite's query plans.
  static let allSQL =
    [
      SQL.readRow, SQL.readKey, SQL.readPlace, SQL.putRow, SQL.putKey, SQL.putPlace, SQL.putNotice,
      SQL.removeRow,
      SQL.removeKey,
      SQL.removePlace, SQL.pending, SQL.late, SQL.slot, SQL.number, SQL.due, SQL.appointments, SQL.slots,
      SQL.counts, SQL.alias, SQL.aliasNumber, SQL.living, SQL.ofInstallation, SQL.withoutOrigin,
      SQLiteSession.dueQuestions,
      SQLiteSession.dueNews, list(nil),
    ] + StoredCallback.Status.allCases.map(list)

  init(_ connection: SQLiteConnection) throws(StoreError) {
    readRow = try SQLiteStatement(connection, SQL.readRow)
    readKey = try SQLiteStatement(connection, SQL.readKey)
    readPlace = try SQLiteStatement(connection, SQL.readPlace)
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
  }

  // MARK: Reading

  func row(_ id: CallbackID) throws(StoreError) -> CallbackBook.Row? {
    var found: CallbackBook.Row?
    try readRow.run([.blob(id.id.bytes)]) { found = Self.row($0) }
    return found
  }

  /// A page of records; seldom asked for, so prepared when it is.
  static func records(
    _ query: CallbackQuery, _ connection: SQLiteConnection
  ) throws(StoreError) -> [StoredCallback] {
    var records: [StoredCallback] = []
    try SQLiteStatement(connection, list(query.status)).run([
      .blob(query.bound.bytes), .integer(Int64(query.limit)),
    ]) { if let row = row($0) { records.append(row.record) } }
    return records
  }

  /// Adds a key and its record to a book.
  func read(key name: StoreID, into book: inout CallbackBook) throws(StoreError) {
    try readKey.run([.blob(name.bytes)]) { row in
      guard let record = Self.row(row), let callback = row.id(Self.count),
        let fingerprint = row.id(Self.count + 1)
      else { return }
      book.add(record)
      book.add(
        name,
        CallbackBook.Key(
          callback: CallbackID(callback), fingerprint: fingerprint,
          refusedFields: row.optionalBlob(Self.count + 3).map { RefusedFields.read($0) } ?? [],
          expires: row.integer(Self.count + 4))
      )
    }
  }

  /// Adds a dedupe place to a book.
  func read(place name: StoreID, into book: inout CallbackBook) throws(StoreError) {
    try readPlace.run([.blob(name.bytes)]) { row in
      guard let callback = row.id(0) else { return }
      book.add(name, CallbackBook.Place(callback: CallbackID(callback), expires: row.integer(1)))
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
      try living.run([.blob(installation.id.bytes)]) { row in
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
    for slot in working.slots {
      var taken = 0
      try self.slot.run([.integer(slot)]) { taken = Int($0.integer(0)) }
      working.book.add(slot: slot, taken: taken)
    }
    for number in working.numbers {
      var ids: Set<CallbackID> = []
      try self.number.run([.blob(number.bytes)]) { row in
        if let id = row.id(0) { ids.insert(CallbackID(id)) }
      }
      working.book.add(number: number, ids)
    }
  }

  static func row(_ row: SQLiteRow) -> CallbackBook.Row? {
    guard let id = row.id(0), let status: StoredCallback.Status = row.word(7) else { return nil }
    return CallbackBook.Row(
      record: StoredCallback(
        id: CallbackID(id), callerID: row.text(1), subject: row.optionalText(2), appID: row.optionalText(3),
        contact: row.text(4), createdAt: Instant(nanosecondsSinceEpoch: row.integer(5)),
        at: row.optionalInteger(19).map { Instant(nanosecondsSinceEpoch: $0) },
        settledAt: row.optionalInteger(6).map { Instant(nanosecondsSinceEpoch: $0) }, status: status,
        code: row.optionalText(8), upstreamStatus: row.optionalInteger(9).map { Int($0) },
        platformTID: row.optionalText(10),
        verificationCode: row.optionalBlob(16).map {
          SealedCode($0, until: Instant(nanosecondsSinceEpoch: row.integer(18)))
        },
        notices: CallbackNotices(
          row.optionalID(30), confirmAt: row.optionalInteger(31),
          serial: row.optionalInteger(32), state: row.optionalWord(33), next: row.optionalInteger(34),
          tries: row.optionalInteger(35), snoozes: row.optionalInteger(36),
          generation: row.optionalInteger(37)),
        ticket: row.optionalText(38).map(StoredTicket.init(stored:)),
        origin: CallbackOrigin(row.optionalID(39), column: row.optionalInteger(40)),
        alias: CallbackAlias(row.optionalDigest(41), row.optionalDigest(42), row.optionalText(43))),
      key: row.optionalID(11), place: row.optionalID(12), instance: row.integer(13),
      abandoned: row.integer(14), expires: row.integer(15), appointment: appointment(row))
  }

  private static func appointment(_ row: SQLiteRow) -> CallbackBook.Appointment? {
    guard let number = row.optionalID(21) else { return nil }
    return CallbackBook.Appointment(
      slot: row.optionalInteger(20), number: number, due: row.optionalInteger(22),
      tries: Int(row.integer(23)), lastCode: row.optionalText(24),
      content: row.optionalBlob(25).map {
        SealedCode($0, until: Instant(nanosecondsSinceEpoch: row.integer(27)))
      }, keyRetention: .nanoseconds(row.integer(28)), retention: .nanoseconds(row.integer(29)))
  }

  // MARK: Writing

  /// Writes the changes.
  func write(_ book: CallbackBook) throws(StoreError) {
    for id in book.changes.rows {
      guard let row = book.rows[id] else {
        try removeRow.run([.blob(id.id.bytes)])
        continue
      }
      let record = row.record
      let appointment = row.appointment
      try putRow.run([
        .blob(id.id.bytes), .text(record.callerID), .optional(record.subject), .optional(record.appID),
        .text(record.contact), .integer(record.createdAt.nanosecondsSinceEpoch),
        .optional(record.settledAt?.nanosecondsSinceEpoch), .text(record.status.rawValue),
        .optional(record.code), .optional(record.upstreamStatus.map { Int64($0) }),
        .optional(record.platformTID), .optional(row.key?.bytes), .optional(row.place?.bytes),
        .integer(row.instance), .integer(row.abandoned), .integer(row.expires),
        .optional(record.verificationCode?.sealed), .optional(record.verificationCode?.key),
        .optional(record.verificationCode?.until.nanosecondsSinceEpoch),
        .optional(record.at?.nanosecondsSinceEpoch), .optional(appointment?.slot),
        .optional(appointment?.number.bytes), .optional(appointment?.due),
        .optional(appointment.map { Int64($0.tries) }), .optional(appointment?.lastCode),
        .optional(appointment?.content?.sealed), .optional(appointment?.content?.key),
        .optional(appointment?.content?.until.nanosecondsSinceEpoch),
        .optional(appointment?.keyRetention.nanosecondsClamped),
        .optional(appointment?.retention.nanosecondsClamped),
        .optional(record.notices?.installation.id.bytes),
        .optional(record.notices?.confirmAt?.nanosecondsSinceEpoch),
        .optional(record.notices.map { Int64($0.serial) }), .optional(record.notices?.state.rawValue),
        .optional(record.notices?.next?.nanosecondsSinceEpoch),
        .optional(record.notices.map { Int64($0.tries) }),
        .optional(record.notices.map { Int64($0.snoozes) }),
        .optional(record.notices?.installation.column), .optional(record.ticket?.stored),
        .optional(record.origin.installation?.id.bytes), .optional(record.origin.column),
        .optional(record.alias?.name.bytes), .optional(record.alias?.number.bytes),
        .optional(record.alias?.service),
      ])
    }
    for notice in book.changes.notices {
      try put(notice)
    }
    for name in book.changes.keys {
      guard let key = book.keys[name] else {
        try removeKey.run([.blob(name.bytes)])
        continue
      }
      try putKey.run([
        .blob(name.bytes), .blob(key.callback.id.bytes), .blob(key.fingerprint.bytes),
        .optional(nil as Int64?), .optional(RefusedFields.written(key.refusedFields)), .integer(key.expires),
      ])
    }
    for name in book.changes.places {
      guard let place = book.places[name] else {
        try removePlace.run([.blob(name.bytes)])
        continue
      }
      try putPlace.run([.blob(name.bytes), .blob(place.callback.id.bytes), .integer(place.expires)])
    }
  }

  /// Writes a notice, unless it is there.
  func put(_ notice: StoredNotice) throws(StoreError) {
    try putNotice.run([
      .blob(notice.id.bytes), .blob(notice.callback?.id.bytes ?? StoredNotice.noCallback.bytes),
      .blob(notice.installation.id.bytes), .text(notice.action.rawValue), .integer(Int64(notice.serial)),
      .integer(notice.created.nanosecondsSinceEpoch), .optional(notice.installation.column),
    ])
  }

  /// Reads the rows of the appointments of an installation that is over, and has them succeed.
  func succeed(
    _ succession: Succession, at now: Instant, _ connection: SQLiteConnection
  ) throws(StoreError) -> [EndedAppointment] {
    var ids: Set<CallbackID> = []
    let (owner, installation) = (succession.owner, succession.installation)
    try SQLiteStatement(connection, SQL.ofInstallation).run([
      .text(owner.callerID), .text(owner.subject), .blob(installation.id.bytes),
      .integer(installation.generation),
    ]) { if let row = Self.row($0) { ids.insert(row.record.id) } }
    guard !ids.isEmpty else { return [] }
    var working = WorkingSet(ending: ids)
    try read(&working)
    let ended = working.book.succeed(succession, ids, at: now)
    try write(working.book)
    return ended
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

// MARK: Appointments, prepared when they are asked for

extension SQLiteCallbacks {
  static func due(
    at time: Instant, most: Int, _ connection: SQLiteConnection
  ) throws(StoreError) -> [DueAppointment] {
    var due: [DueAppointment] = []
    try SQLiteStatement(connection, SQL.due).run([
      .integer(time.nanosecondsSinceEpoch), .integer(Int64(most)),
    ]) { if let appointment = row($0)?.dueAppointment { due.append(appointment) } }
    return due
  }

  static func withoutOrigin(
    most: Int, _ connection: SQLiteConnection
  ) throws(StoreError) -> [DueAppointment] {
    var found: [DueAppointment] = []
    try SQLiteStatement(connection, SQL.withoutOrigin).run([.integer(Int64(most))]) {
      if let appointment = row($0)?.dueAppointment { found.append(appointment) }
    }
    return found
  }

  static func appointments(
    of callerID: String, subject: String, most: Int, _ connection: SQLiteConnection
  ) throws(StoreError) -> [StoredCallback] {
    var records: [StoredCallback] = []
    try SQLiteStatement(connection, SQL.appointments).run([
      .text(callerID), .text(subject), .integer(Int64(most)),
    ]) { if let row = row($0) { records.append(row.record) } }
    return records
  }

  static func records(
    _ query: AliasQuery, _ connection: SQLiteConnection
  ) throws(StoreError) -> [StoredCallback] {
    var records: [StoredCallback] = []
    switch query {
    case .name(let name):
      try SQLiteStatement(connection, SQL.alias).run([.blob(name.bytes)]) {
        if let row = row($0) { records.append(row.record) }
      }
    case .numbers(let numbers):
      for number in numbers {
        try SQLiteStatement(connection, SQL.aliasNumber).run([
          .blob(number.bytes), .integer(Int64(AliasQuery.most)),
        ]) { if let row = row($0) { records.append(row.record) } }
      }
    }
    return Array(records.sorted { $0.id > $1.id }.prefix(AliasQuery.most))
  }

  static func takenPlaces(
    in slots: ClosedRange<Int64>, _ connection: SQLiteConnection
  ) throws(StoreError) -> [Int64: Int] {
    var taken: [Int64: Int] = [:]
    try SQLiteStatement(connection, SQL.slots).run([.integer(slots.lowerBound), .integer(slots.upperBound)]) {
      taken[$0.integer(0)] = Int($0.integer(1))
    }
    return taken
  }

  static func counts(
    dueBefore time: Instant, _ connection: SQLiteConnection
  ) throws(StoreError) -> AppointmentCounts {
    var counts = AppointmentCounts()
    try SQLiteStatement(connection, SQL.counts).run([.integer(time.nanosecondsSinceEpoch)]) {
      counts = AppointmentCounts(
        scheduled: Int($0.integer(0)), pending: Int($0.integer(1)), overdue: Int($0.integer(2)))
    }
    return counts
  }
}
