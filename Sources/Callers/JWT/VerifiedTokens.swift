// Remembers verified tokens by their digest, so that each signature is checked only once.

import JOSE
import Synchronization

/// What verified tokens prove, until they expire: a caller, or an app. Holds digests, never tokens.
final class VerifiedTokens<Value: Sendable>: Sendable {
  /// The result for one token.
  struct Entry: Sendable {
    let value: Value
    /// Seconds since 1970 after which it is no longer accepted, leeway included.
    let validUntil: Double
    /// The generation of the keys it was verified with.
    let generation: Int
  }

  /// The most tokens in the table. A full table is emptied.
  static var capacity: Int { 16_384 }

  private let table = Mutex<[SHA256Digest: Entry]>([:])

  /// What a token proves that was verified before with the keys in force, if it has not expired.
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

  /// Remembers a token.
  func remember(_ digest: SHA256Digest, _ entry: Entry, now: Double) {
    table.withLock { table in
      if table.count >= Self.capacity {
        table = table.filter { $0.value.validUntil > now }
        if table.count >= Self.capacity { table.removeAll(keepingCapacity: true) }
      }
      table[digest] = entry
    }
  }
}
