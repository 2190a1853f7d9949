// Remembers verified tokens by their digest, so that the server does not verify the same signature at each
// request.

import JOSE
import Synchronization

/// A cache of what verified tokens prove, until they expire: a caller, or an app. Stores digests, never
/// tokens.
final class VerifiedTokens<Value: Sendable>: Sendable {
  /// A verified token's result, and how long it may be used.
  struct Entry: Sendable {
    let value: Value
    /// The time in seconds since 1970 from which the token is no longer accepted, leeway included.
    let validUntil: Double
    /// The generation of the keys that verified the token.
    let generation: Int
    /// The token's size in octets. The memory for its claims grows with it.
    let size: Int
  }

  /// The maximum number of tokens in the table, and their maximum total size in octets. A full table drops
  /// expired tokens. If that is not enough, it is emptied.
  static var capacity: Int { 16_384 }
  static var octets: Int { 16 << 20 }

  private struct Table {
    var entries: [SHA256Digest: Entry] = [:]
    /// The total size of all tokens in the table, in octets.
    var size = 0

    subscript(digest: SHA256Digest) -> Entry? {
      get { entries[digest] }
      set {
        size += (newValue?.size ?? 0) - (entries[digest]?.size ?? 0)
        entries[digest] = newValue
      }
    }

    func hasRoom(for entry: Entry) -> Bool {
      entries.count < capacity && size + entry.size <= octets
    }
  }

  private let table = Mutex(Table())

  /// How many tokens are remembered.
  var count: Int { table.withLock { $0.entries.count } }

  /// The value of a token that was verified before with the current keys. Nil if there is none, or if the
  /// token has expired.
  func value(_ digest: SHA256Digest, generation: (Entry) -> Bool, now: Double) -> Value? {
    table.withLock { table in
      guard let entry = table[digest] else { return nil }
      guard now < entry.validUntil, generation(entry) else {
        table[digest] = nil
        return nil
      }
      return entry.value
    }
  }

  func remember(_ digest: SHA256Digest, _ entry: Entry, now: Double) {
    table.withLock { table in
      if !table.hasRoom(for: entry) {
        for (digest, entry) in table.entries where entry.validUntil <= now { table[digest] = nil }
        if !table.hasRoom(for: entry) { table = Table() }
      }
      table[digest] = entry
    }
  }
}
