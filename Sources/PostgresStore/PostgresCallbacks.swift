// Reads and writes callback records as PostgreSQL rows.

import Gate
import JOSE
import Platform
import Store

enum PostgresCallbacks {
  // MARK: Reading

  /// A record's columns.
  static func row(_ row: PostgresRow) throws(PostgresFailure) -> CallbackBook.Row {
    CallbackBook.Row(
      record: StoredCallback(
        id: CallbackID(try row.id(0)), callerID: try row.text(1), subject: row[2], appID: row[3],
        contact: try row.text(4), createdAt: try row.time(5), at: try row.optionalTime(19),
        settledAt: try row.optionalTime(6), status: try row.word(7), code: row[8],
        upstreamStatus: try row.optionalInteger(9).map { Int($0) }, platformTID: row[10],
        verificationCode: try sealed(row, 16, until: 18),
        notices: CallbackNotices(
          try row.optionalID(30), confirmAt: try row.optionalInteger(31), serial: try row.optionalInteger(32),
          state: try row.optionalWord(33), next: try row.optionalInteger(34),
          tries: try row.optionalInteger(35), snoozes: try row.optionalInteger(36),
          generation: try row.optionalInteger(37)),
        ticket: row[38].map(StoredTicket.init(stored:)),
        origin: CallbackOrigin(try row.optionalID(39), column: try row.optionalInteger(40)),
        alias: CallbackAlias(try row.optionalDigest(41), try row.optionalDigest(42), row[43])),
      key: try row.optionalID(11), place: try row.optionalID(12), instance: try row.integer(13),
      abandoned: try row.integer(14), expires: try row.integer(15), appointment: try appointment(row))
  }

  private static func appointment(_ row: PostgresRow) throws(PostgresFailure) -> CallbackBook.Appointment? {
    guard let number = try row.optionalID(21) else { return nil }
    return CallbackBook.Appointment(
      slot: try row.optionalInteger(20), number: number, due: try row.optionalInteger(22),
      tries: Int(try row.integer(23)), lastCode: row[24], content: try sealed(row, 25, until: 27),
      keyRetention: .nanoseconds(try row.integer(28)), retention: .nanoseconds(try row.integer(29)))
  }

  private static func sealed(
    _ row: PostgresRow, _ column: Int, until end: Int
  ) throws(PostgresFailure) -> SealedCode? {
    guard let sealed = try row.optionalBytes(column) else { return nil }
    return SealedCode(sealed, until: try row.time(end))
  }

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
    if !rows.isEmpty { commands.append(.prepared(PostgresStatements.putCallbacks, parameters(rows))) }
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
      commands.append(.prepared(PostgresStatements.putNotices, parameters(changes.notices)))
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

  /// An array for each column, all of the same length.
  private static func parameters(_ rows: [CallbackBook.Row]) -> [String?] {
    [
      PostgresText.array(rows.map(\.record.id.id.hex)),
      PostgresText.array(quoting: rows.map(\.record.callerID)),
      PostgresText.array(quoting: rows.map(\.record.subject)),
      PostgresText.array(quoting: rows.map(\.record.appID)),
      PostgresText.array(quoting: rows.map(\.record.contact)),
      PostgresText.array(rows.map { "\($0.record.createdAt.nanosecondsSinceEpoch)" }),
      PostgresText.array(rows.map { number($0.record.settledAt?.nanosecondsSinceEpoch) }),
      PostgresText.array(rows.map(\.record.status.rawValue)),
      PostgresText.array(quoting: rows.map(\.record.code)),
      PostgresText.array(rows.map { number($0.record.upstreamStatus) }),
      // Talkdesk's words, which name nothing here: a NUL must not keep the outcome from being saved.
      PostgresText.array(quoting: rows.map { $0.record.platformTID?.replacing("\0", with: "\u{FFFD}") }),
      PostgresText.array(rows.map { $0.key?.hex ?? "NULL" }),
      PostgresText.array(rows.map { $0.place?.hex ?? "NULL" }),
      PostgresText.array(rows.map { "\($0.instance)" }), PostgresText.array(rows.map { "\($0.abandoned)" }),
      PostgresText.array(rows.map { "\($0.expires)" }),
      PostgresText.array(
        quoting: rows.map { $0.record.verificationCode.map { PostgresText.bytea($0.sealed) } }),
      PostgresText.array(quoting: rows.map { $0.record.verificationCode.map { PostgresText.bytea($0.key) } }),
      PostgresText.array(rows.map { number($0.record.verificationCode?.until.nanosecondsSinceEpoch) }),
    ] + parameters(rows.map(\.record.at), rows.map(\.appointment)) + parameters(rows.map(\.record.notices))
      + [
        PostgresText.array(quoting: rows.map(\.record.ticket?.stored)),
        PostgresText.array(rows.map { $0.record.origin.installation?.id.id.hex ?? "NULL" }),
        PostgresText.array(rows.map { number($0.record.origin.column) }),
        PostgresText.array(quoting: rows.map { $0.record.alias.map { PostgresText.bytea($0.name.bytes) } }),
        PostgresText.array(quoting: rows.map { $0.record.alias.map { PostgresText.bytea($0.number.bytes) } }),
        PostgresText.array(quoting: rows.map { $0.record.alias?.service }),
      ]
  }

  private static func parameters(_ notices: [CallbackNotices?]) -> [String?] {
    [
      PostgresText.array(notices.map { $0?.installation.id.id.hex ?? "NULL" }),
      PostgresText.array(notices.map { number($0?.confirmAt?.nanosecondsSinceEpoch) }),
      PostgresText.array(notices.map { number($0?.serial) }),
      PostgresText.array(notices.map { $0?.state.rawValue ?? "NULL" }),
      PostgresText.array(notices.map { number($0?.next?.nanosecondsSinceEpoch) }),
      PostgresText.array(notices.map { number($0?.tries) }),
      PostgresText.array(notices.map { number($0?.snoozes) }),
      PostgresText.array(notices.map { number($0?.installation.column) }),
    ]
  }

  private static func parameters(
    _ times: [Instant?], _ appointments: [CallbackBook.Appointment?]
  ) -> [String?] {
    [
      PostgresText.array(times.map { number($0?.nanosecondsSinceEpoch) }),
      PostgresText.array(appointments.map { number($0?.slot) }),
      PostgresText.array(appointments.map { $0?.number.hex ?? "NULL" }),
      PostgresText.array(appointments.map { number($0?.due) }),
      PostgresText.array(appointments.map { number($0?.tries) }),
      PostgresText.array(quoting: appointments.map { $0?.lastCode }),
      PostgresText.array(quoting: appointments.map { $0?.content.map { PostgresText.bytea($0.sealed) } }),
      PostgresText.array(quoting: appointments.map { $0?.content.map { PostgresText.bytea($0.key) } }),
      PostgresText.array(appointments.map { number($0?.content?.until.nanosecondsSinceEpoch) }),
      PostgresText.array(appointments.map { number($0?.keyRetention.nanosecondsClamped) }),
      PostgresText.array(appointments.map { number($0?.retention.nanosecondsClamped) }),
    ]
  }

  static func parameters(_ notices: [StoredNotice]) -> [String?] {
    [
      PostgresText.array(quoting: notices.map { PostgresText.bytea($0.id.bytes) }),
      PostgresText.array(notices.map { ($0.callback?.id ?? StoredNotice.noCallback).hex }),
      PostgresText.array(notices.map(\.installation.id.id.hex)),
      PostgresText.array(quoting: notices.map(\.action.rawValue)),
      PostgresText.array(notices.map { "\($0.serial)" }),
      PostgresText.array(notices.map { "\($0.created.nanosecondsSinceEpoch)" }),
      PostgresText.array(notices.map { number($0.installation.column) }),
    ]
  }

  private static func number(_ value: (some BinaryInteger)?) -> String { value.map { "\($0)" } ?? "NULL" }
}
