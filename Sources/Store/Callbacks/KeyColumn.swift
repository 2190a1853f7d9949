// The tables of requests' keys (`Idempotency-Key`s and the keys of AI agents' requests) and of dedupe
// entries.

import Gate

/// The columns of a request's key (`CallbackIntent.Key`).
package enum KeyColumn: Int, TableColumn {
  case id, callback, fingerprint, answerStatus, answer, expires

  package static let table = Table<KeyColumn>("callgate_callback_key")

  package var column: ColumnDescription<CallbackBook.NamedKey> {
    switch self {
    case .id: .id(.never) { $0.name }
    case .callback: .id(.changes) { $0.key?.callback.id }
    case .fingerprint: .id(.changes) { $0.key?.fingerprint }
    // The first release saved the status of the response here.
    case .answerStatus: .small(.changes) { _ in nil }
    case .answer: .bytes(.changes) { $0.key.flatMap { RefusedFields.written($0.refusedFields) } }
    case .expires: .integer(.changes) { $0.key?.expires ?? 0 }
    }
  }
}

/// The columns of a dedupe entry.
package enum PlaceColumn: Int, TableColumn {
  case id, callback, expires

  package static let table = Table<PlaceColumn>("callgate_callback_place")

  package var column: ColumnDescription<CallbackBook.NamedPlace> {
    switch self {
    case .id: .id(.never) { $0.name }
    case .callback: .id(.changes) { $0.place?.callback.id }
    case .expires: .integer(.changes) { $0.place?.expires ?? 0 }
    }
  }
}

extension CallbackBook {
  /// A key with its hash. The key is nil in a row that was inserted only so that a transaction can lock it.
  package struct NamedKey: TableEntry {
    package let name: StoreID
    package let key: Key?

    package init(_ name: StoreID, _ key: Key?) {
      self.name = name
      self.key = key
    }

    package init(_ row: TableRow<KeyColumn>) throws(UnreadableValue) {
      name = try row.id(.id)
      guard let callback = try row.optionalID(.callback) else {
        key = nil
        return
      }
      key = Key(
        callback: CallbackID(callback), fingerprint: try row.id(.fingerprint),
        refusedFields: try row.optionalBytes(.answer).map { RefusedFields.read($0) } ?? [],
        expires: try row.integer(.expires))
    }
  }

  /// A dedupe entry with its hash. The entry is nil in a row that was inserted only so that a transaction can
  /// lock it.
  package struct NamedPlace: TableEntry {
    package let name: StoreID
    package let place: Place?

    package init(_ name: StoreID, _ place: Place?) {
      self.name = name
      self.place = place
    }

    package init(_ row: TableRow<PlaceColumn>) throws(UnreadableValue) {
      name = try row.id(.id)
      let expires = try row.integer(.expires)
      place = try row.optionalID(.callback).map { Place(callback: CallbackID($0), expires: expires) }
    }
  }

  package mutating func add(_ named: NamedKey) { if let key = named.key { keys[named.name] = key } }
  package mutating func add(_ named: NamedPlace) { if let place = named.place { places[named.name] = place } }

  /// The keys to write, and the hashes of the keys to remove. `changedPlaces` does the same for dedupe
  /// entries.
  package var changedKeys: (put: [NamedKey], removed: [StoreID]) {
    let all = changes.keys.map { NamedKey($0, keys[$0]) }
    return (all.filter { $0.key != nil }, all.filter { $0.key == nil }.map(\.name))
  }
  package var changedPlaces: (put: [NamedPlace], removed: [StoreID]) {
    let all = changes.places.map { NamedPlace($0, places[$0]) }
    return (all.filter { $0.place != nil }, all.filter { $0.place == nil }.map(\.name))
  }
}
