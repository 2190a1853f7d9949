// Reads and writes callback records as PostgreSQL rows.

import Gate
import JOSE
import Platform
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
        at: integer(row[19]).map { Instant(nanosecondsSinceEpoch: $0) },
        settledAt: integer(row[6]).map { Instant(nanosecondsSinceEpoch: $0) }, status: status, code: row[8],
        upstreamStatus: integer(row[9]).map { Int($0) }, platformTID: row[10],
        verificationCode: row[16].flatMap { PostgresText.bytes($0) }.map {
          SealedCode($0, until: Instant(nanosecondsSinceEpoch: integer(row[18]) ?? 0))
        },
        notices: CallbackNotices(
          row[30].flatMap { StoreID(hex: $0) }, confirmAt: integer(row[31]), serial: integer(row[32]),
          state: row[33], next: integer(row[34]), tries: integer(row[35]), snoozes: integer(row[36])),
        ticket: row[37].map(StoredTicket.init(stored:))),
      key: row[11].flatMap { StoreID(hex: $0) }, place: row[12].flatMap { StoreID(hex: $0) },
      instance: instance, abandoned: abandoned, expires: expires, appointment: appointment(row))
  }

  private static func appointment(_ row: [String?]) -> CallbackBook.Appointment? {
    guard let number = row[21].flatMap({ StoreID(hex: $0) }), let tries = integer(row[23]),
      let keyRetention = integer(row[28]), let retention = integer(row[29])
    else { return nil }
    return CallbackBook.Appointment(
      slot: integer(row[20]), number: number, due: integer(row[22]), tries: Int(tries), lastCode: row[24],
      content: row[25].flatMap { PostgresText.bytes($0) }.map {
        SealedCode($0, until: Instant(nanosecondsSinceEpoch: integer(row[27]) ?? 0))
      }, keyRetention: .nanoseconds(keyRetention), retention: .nanoseconds(retention))
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

  /// Adds how many places of slots are taken to a book.
  static func add(slots rows: [[String?]], of slots: Set<Int64>, to book: inout CallbackBook) {
    let taken = taken(rows)
    for slot in slots { book.add(slot: slot, taken: taken[slot, default: 0]) }
  }

  /// Adds the appointments for numbers to a book.
  static func add(numbers rows: [[String?]], of numbers: Set<StoreID>, to book: inout CallbackBook) {
    var ids = Dictionary(uniqueKeysWithValues: numbers.map { ($0, Set<CallbackID>()) })
    for row in rows {
      guard let number = row[0].flatMap({ StoreID(hex: $0) }), let id = row[1].flatMap({ StoreID(hex: $0) })
      else { continue }
      ids[number]?.insert(CallbackID(id))
    }
    for (number, ids) in ids { book.add(number: number, ids) }
  }

  /// Rows of a slot and how many of its places are taken.
  static func taken(_ rows: [[String?]]) -> [Int64: Int] {
    var taken: [Int64: Int] = [:]
    for row in rows {
      if let slot = integer(row[0]), let count = integer(row[1]) { taken[slot] = Int(count) }
    }
    return taken
  }

  private static func integer(_ text: String?) -> Int64? { text.flatMap { Int64($0) } }

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
      PostgresText.array(quoting: rows.map(\.record.platformTID)),
      PostgresText.array(rows.map { $0.key?.hex ?? "NULL" }),
      PostgresText.array(rows.map { $0.place?.hex ?? "NULL" }),
      PostgresText.array(rows.map { "\($0.instance)" }), PostgresText.array(rows.map { "\($0.abandoned)" }),
      PostgresText.array(rows.map { "\($0.expires)" }),
      PostgresText.array(
        quoting: rows.map { $0.record.verificationCode.map { PostgresText.bytea($0.sealed) } }),
      PostgresText.array(quoting: rows.map { $0.record.verificationCode.map { PostgresText.bytea($0.key) } }),
      PostgresText.array(rows.map { number($0.record.verificationCode?.until.nanosecondsSinceEpoch) }),
    ] + parameters(rows.map(\.record.at), rows.map(\.appointment)) + parameters(rows.map(\.record.notices))
      + [PostgresText.array(quoting: rows.map(\.record.ticket?.stored))]
  }

  private static func parameters(_ notices: [CallbackNotices?]) -> [String?] {
    [
      PostgresText.array(notices.map { $0?.installation.id.hex ?? "NULL" }),
      PostgresText.array(notices.map { number($0?.confirmAt?.nanosecondsSinceEpoch) }),
      PostgresText.array(notices.map { number($0?.serial) }),
      PostgresText.array(notices.map { $0?.state.rawValue ?? "NULL" }),
      PostgresText.array(notices.map { number($0?.next?.nanosecondsSinceEpoch) }),
      PostgresText.array(notices.map { number($0?.tries) }),
      PostgresText.array(notices.map { number($0?.snoozes) }),
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

  private static func parameters(_ notices: [StoredNotice]) -> [String?] {
    [
      PostgresText.array(quoting: notices.map { PostgresText.bytea($0.id.bytes) }),
      PostgresText.array(notices.map(\.callback.id.hex)),
      PostgresText.array(notices.map(\.installation.id.hex)),
      PostgresText.array(quoting: notices.map(\.action.rawValue)),
      PostgresText.array(notices.map { "\($0.serial)" }),
      PostgresText.array(notices.map { "\($0.created.nanosecondsSinceEpoch)" }),
    ]
  }

  private static func number(_ value: (some BinaryInteger)?) -> String { value.map { "\($0)" } ?? "NULL" }
}
