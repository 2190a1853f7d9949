// Decides whether a server with certain store keys may use a store, and updates the list of keys in use.

public import Gate
public import Sealing

/// The decision whether a server may use a store with the server's store keys.
public enum KeyRuling: Hashable, Sendable {
  /// The server may use the store, after these changes.
  case usable(KeyChanges)
  /// The server may not use the store.
  case refused(KeyRefusal)
}

/// The changes of the list of keys in use.
public struct KeyChanges: Hashable, Sendable {
  /// The server's current key, if the store does not list it yet.
  public var added: StoreKeyMark?
  /// The keys that are removed from the list.
  public var removed: [StoreKeyID] = []
  /// The server's previous key, if it is still in use.
  public var previous: PreviousKey?

  /// A previous key that is still in use.
  public struct PreviousKey: Hashable, Sendable {
    public let id: StoreKeyID
    /// When the last value that was sealed with the key expires; nil if there is no such value.
    public let sealedUntil: Instant?
  }

  /// Whether nothing changes.
  package var isEmpty: Bool { added == nil && removed.isEmpty }
}

/// The reason why a server may not use a store.
public enum KeyRefusal: Hashable, Sendable {
  /// The store is in use with these keys, and the server has no key.
  case missing([StoreKeyID])
  /// The store is in use with keys that the server does not have.
  case other([StoreKeyID], held: [StoreKeyID])
  /// The store still has values sealed with a key that the server does not have.
  case stillSealed(StoreKeyID, until: Instant)

  /// The mistake, as part of a sentence.
  public var message: String {
    switch self {
    case .missing(let keys):
      "this store is in use with the store key \(Self.list(keys)), and no store key is configured"
    case .other(let keys, let held):
      "this store is in use with the store key \(Self.list(keys)), and the configured one is \(Self.list(held))"
    case .stillSealed(let key, let until):
      "this store holds values until \(until.rfc3339) that only the store key \(key) opens"
    }
  }

  /// The action with which the operator can fix the mistake, as part of a sentence.
  public var remedy: String {
    switch self {
    case .missing: "set CALLGATE_STORE_KEY (store.key_file) to that key"
    case .other:
      "configure that key; to change it, follow \"Change the store key\" in docs/operate/keys.md"
    case .stillSealed:
      "configure that key as CALLGATE_STORE_PREVIOUS_KEY (store.previous_key_file) until then, or run callgate migrate "
        + "--reseal with both keys"
    }
  }

  private static func list(_ keys: [StoreKeyID]) -> String {
    keys.map(\.description).joined(separator: " or ")
  }
}

extension KeyRuling {
  /// Decides whether a server with these keys may use the store.
  ///
  /// | in the store | held | ruling |
  /// |---|---|---|
  /// | nothing | any | usable; the current key is added |
  /// | keys | none | refused |
  /// | keys | none of these | refused |
  /// | another key beside a held one, with values | | refused until they expire |
  /// | another key beside a held one, without values | | usable; that key is removed |
  /// | the previous key, not the current one | both | usable; the current key is added |
  ///
  /// - Parameters:
  ///   - now: The current time. Values that have expired by then count as deleted, even if no purge has
  ///     deleted them yet. A key that sealed the content of an appointment, or a device token, counts as in
  ///     use until `now` at least, as long as the callback has not ended.
  ///   - removesPrevious: Whether the previous key is removed from the list as soon as nothing is sealed with
  ///     it, although the server still has it.
  public init(
    _ rows: [KeyInUse], holding keys: StoreKeys?, at now: Instant = Instant(seconds: 0),
    removesPrevious: Bool = false
  ) {
    let rows = rows.map { row in
      KeyInUse(
        row.mark, since: row.since,
        sealedUntil: row.sealedUntil.flatMap { now < $0 || row.isOpen ? max($0, now) : nil })
    }
    let held = keys?.all.map(\.mark) ?? []
    var changes = KeyChanges()
    if let current = keys?.current.mark, !rows.contains(where: { $0.mark == current }) {
      changes.added = current
    }
    guard rows.isEmpty || rows.contains(where: { held.contains($0.mark) }) else {
      let ids = rows.map(\.mark.id)
      self = .refused(held.isEmpty ? .missing(ids) : .other(ids, held: held.map(\.id)))
      return
    }
    for row in rows where !held.contains(row.mark) {
      if let until = row.sealedUntil {
        self = .refused(.stillSealed(row.mark.id, until: until))
        return
      }
      changes.removed.append(row.mark.id)
    }
    if let previous = rows.first(where: { $0.mark == keys?.previous?.mark }) {
      if removesPrevious, previous.sealedUntil == nil {
        changes.removed.append(previous.mark.id)
      } else {
        changes.previous = .init(id: previous.mark.id, sealedUntil: previous.sealedUntil)
      }
    }
    self = .usable(changes)
  }
}
