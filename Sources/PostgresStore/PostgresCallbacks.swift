// Reads and writes callback records as PostgreSQL rows.

import Gate
import Store

enum PostgresCallbacks {
  // MARK: Reading

  /// A record's columns.
  static func row(_ row: [String?]) -> CallbackBook.Row? {
    guard let id = row[0].flatMap({ StoreID(hex: $0) }), let callerID = row[1], let contact = row[4],
      let created = integer(row[5]), let status = row[7].flatMap({ StoredCallback.Status(rawValue: $0) }),
      let instance = integer(row[13]), let abandoned = integer(row[14]), let expires = integer(row[15])
    else { return nil }
    return CallbackBook.Row(
      record: StoredCallback(
        id: CallbackID(id), callerID: callerID, subject: row[2], appID: row[3], contact: contact,
        createdAt: Instant(nanosecondsSinceEpoch: created),
        settledAt: integer(row[6]).map { Instant(nanosecondsSinceEpoch: $0) }, status: status, code: row[8],
        upstreamStatus: integer(row[9]).map { Int($0) }, platformTID: row[10],
        verificationCode: row[16].flatMap { PostgresText.bytes($0) }.map {
          SealedCode($0, until: Instant(nanosecondsSinceEpoch: integer(row[18]) ?? 0))
        }),
      key: row[11].flatMap { StoreID(hex: $0) }, place: row[12].flatMap { StoreID(hex: $0) },
      instance: instance, abandoned: abandoned, expires: expires)
  }

  /// Adds a key's columns to a book; nothing for a row that was made to be locked.
  static func add(key row: ArraySlice<String?>, to book: inout CallbackBook) {
    let row = Array(row)
    guard let name = row[0].flatMap({ StoreID(hex: $0) }),
      let callback = row[1].flatMap({ StoreID(hex: $0) }),
      let fingerprint = row[2].flatMap({ StoreID(hex: $0) }), let expires = integer(row[5])
    else { return }
    let answer = row[4].flatMap { PostgresText.bytes($0) }
    book.add(
      name,
      CallbackBook.Key(
        callback: CallbackID(callback), fingerprint: fingerprint,
        refusedFields: answer.map { RefusedFields.read($0) } ?? [], expires: expires))
  }

  /// Adds a place's columns to a book.
  static func add(place row: [String?], to book: inout CallbackBook) {
    guard let name = row[0].flatMap({ StoreID(hex: $0) }),
      let callback = row[1].flatMap({ StoreID(hex: $0) }),
      let expires = integer(row[2])
    else { return }
    book.add(name, CallbackBook.Place(callback: CallbackID(callback), expires: expires))
  }

  private static func integer(_ text: String?) -> Int64? { text.flatMap { Int64($0) } }

  // MARK: Writing

  /// The commands that write what has changed.
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
      PostgresText.array(quoting: rows.map(\.record.platformTID)),
      PostgresText.array(rows.map { $0.key?.hex ?? "NULL" }),
      PostgresText.array(rows.map { $0.place?.hex ?? "NULL" }),
      PostgresText.array(rows.map { "\($0.instance)" }), PostgresText.array(rows.map { "\($0.abandoned)" }),
      PostgresText.array(rows.map { "\($0.expires)" }),
      PostgresText.array(
        quoting: rows.map { $0.record.verificationCode.map { PostgresText.bytea($0.sealed) } }),
      PostgresText.array(quoting: rows.map { $0.record.verificationCode.map { PostgresText.bytea($0.key) } }),
      PostgresText.array(rows.map { number($0.record.verificationCode?.until.nanosecondsSinceEpoch) }),
    ]
  }

  private static func number(_ value: (some BinaryInteger)?) -> String { value.map { "\($0)" } ?? "NULL" }
}
