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
