// The numbers that users and installations have proven to be theirs, as keyed hashes.

public import Gate

/// A number that somebody has proven.
public struct ProvenNumber: Hashable, Sendable {
  /// How many a subject has at most. The one proven longest ago goes.
  package static let mostOfOwner = 5
  /// How many there are at most, likewise.
  package static let most: Int64 = 1_000_000

  /// A keyed hash of the subject and the number.
  package let id: StoreID
  /// A keyed hash of the subject. That of an installation has its generation, so a revocation forgets.
  package let owner: StoreID

  package init(id: StoreID, owner: StoreID) {
    self.id = id
    self.owner = owner
  }
}

/// A store that remembers proven numbers. `CallbackStore.standing` reads one for the subject of a callback.
public protocol ProvenNumberStore: Sendable {
  /// When a number was proven last; nil if it is not remembered.
  func proven(_ number: ProvenNumber) async throws(StoreError) -> Instant?

  /// Remembers a number until a time, and forgets the subject's oldest beyond five.
  func remember(_ number: ProvenNumber, at now: Instant, until end: Instant) async throws(StoreError)
}

extension QueuedStore {
  package func proven(_ number: ProvenNumber) async throws(StoreError) -> Instant? {
    try await rows(ProvenNumberStatements.proven, .id(number.id)).first
  }

  package func remember(_ number: ProvenNumber, at now: Instant, until end: Instant) async throws(StoreError)
  {
    let calls = [
      ChangeCall(
        ProvenNumberStatements.remember, .id(number.id), .id(number.owner), .time(now), .time(end)),
      ChangeCall(
        ProvenNumberStatements.forgetOldest, .id(number.owner), .integer(Int64(ProvenNumber.mostOfOwner - 1))),
      ChangeCall(ProvenNumberStatements.forgetBeyond, .integer(ProvenNumber.most)),
    ]
    _ = try await sessions.call(.updates) { session throws(StoreError) in try session.change(calls) }
  }
}

extension QueuedStore {
  /// Remembers the number of a record whose proof is used now.
  func remember(_ intent: CallbackIntent, at now: Instant) async {
    guard let number = intent.ownership, let span = intent.remembersFor else { return }
    // If it fails, the subject proves the number again. `health` knows of the failure.
    do throws(StoreError) { try await remember(number, at: now, until: now.advanced(by: span)) } catch {}
  }
}

package enum ProvenNumberStatements {
  package static let proven = Query<Instant>(
    "proven_number", "SELECT proven FROM callgate_proven_number WHERE id = $1", [.integer]
  ) { row throws(UnreadableValue) in try row.time(0) }

  /// A number that is proven again becomes the newest. The serial numbers bound the table without counting its rows.
  static let remember = Change(
    "remember_number",
    """
    INSERT INTO callgate_proven_number (id, owner, proven, expires, serial)
    VALUES ($1, $2, $3, $4, (SELECT coalesce(max(serial), 0) + 1 FROM callgate_proven_number))
    ON CONFLICT (id) DO UPDATE SET proven = excluded.proven, expires = excluded.expires, serial = excluded.serial
    """)

  /// `$2` is one less than the number that stays.
  static let forgetOldest = Change(
    "forget_oldest_numbers",
    deleting: """
      DELETE FROM callgate_proven_number WHERE id IN (
        SELECT older.id FROM callgate_proven_number AS older WHERE older.owner = $1 AND older.serial < (
          SELECT serial FROM callgate_proven_number WHERE owner = $1 ORDER BY serial DESC LIMIT 1 OFFSET $2)
      """)

  static let forgetBeyond = Change(
    "forget_numbers_beyond",
    deleting: """
      DELETE FROM callgate_proven_number WHERE id IN (
        SELECT older.id FROM callgate_proven_number AS older
        WHERE older.serial <= (SELECT max(serial) FROM callgate_proven_number) - $1
      """)

  static let purge = Change(
    purging: "proven_numbers", "callgate_proven_number", where: "kept.expires <= $1")
}
