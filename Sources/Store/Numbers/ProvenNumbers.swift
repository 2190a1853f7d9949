// The numbers that users and installations have proven to be theirs, as keyed hashes.

public import Gate

/// A number that a user or an installation has proven.
public struct ProvenNumber: Hashable, Sendable {
  /// The most numbers of one subject. The one proven longest ago is deleted.
  package static let mostOfOwner = 5
  /// The most numbers of all subjects. The one proven longest ago is deleted.
  package static let most: Int64 = 1_000_000

  /// A keyed hash of the subject and the number.
  package let id: StoreID
  /// A keyed hash of the subject. For an installation it covers the generation, so a revocation ends it.
  package let owner: StoreID

  package init(id: StoreID, owner: StoreID) {
    self.id = id
    self.owner = owner
  }
}

/// A store that remembers proven numbers. `CallbackStore.standing` reads one for the subject of a callback.
public protocol ProvenNumberStore: Sendable {
  /// When a number was last proven. Nil if it is not remembered.
  func proven(_ number: ProvenNumber) async throws(StoreError) -> Instant?

  /// Remembers a number until a time, and forgets the subject's oldest beyond five.
  func remember(_ number: ProvenNumber, at now: Instant, until end: Instant) async throws(StoreError)
}
