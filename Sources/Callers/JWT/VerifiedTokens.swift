// Remembers verified tokens by their digest, so that each signature is checked only once.

import JOSE
import Synchronization

/// The callers of verified tokens, until these expire. Holds digests, never tokens.
final class VerifiedTokens: Sendable {
  /// The result for one token.
  struct Entry: Sendable {
    let caller: Caller
    /// Seconds since 1970 after which it is no longer accepted, leeway included.
    let validUntil: Double
    /// The generation of the keys it was verified with.
    let generation: Int
  }

  /// The most tokens in the table. A full table is emptied.
  static let capacity = 16_384

  private let table = Mutex<[SHA256Digest: Entry]>([:])

  /// The caller of a token that was verified before with the keys in force, if it has not expired.
  func caller(_ digest: SHA256Digest, generation: (Entry) -> Bool, now: Double) -> Caller? {
    table.withLock { table in
      guard let entry = table[digest] else { return nil }
      guard now < entry.validUntil, generation(entry) else {
        table[digest] = nil
        return nil
      }
      return entry.caller
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
