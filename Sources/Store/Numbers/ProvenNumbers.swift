// The phone numbers that users and installations have proven to be theirs, saved as keyed hashes.

public import Gate

/// A number that a user or an installation has proven.
public struct ProvenNumber: Hashable, Sendable {
  /// The maximum number of numbers per subject. Beyond it, the one proven longest ago is deleted.
  package static let mostOfOwner = 5
  /// The maximum number of numbers in the store. Beyond it, the one proven longest ago is deleted.
  package static let most: Int64 = 1_000_000

  /// A keyed hash of the subject and the number.
  package let id: StoreID
  /// A keyed hash of the subject. For an installation, it covers the generation, so a later generation does
  /// not have the numbers of an earlier one.
  package let owner: StoreID

  package init(id: StoreID, owner: StoreID) {
    self.id = id
    self.owner = owner
  }
}

/// A store of proven numbers. `CallbackStore.standing` reads the one that a callback needs.
public protocol ProvenNumberStore: Sendable {
  /// When a number was last proven; nil if the store does not have it.
  func proven(_ number: ProvenNumber) async throws(StoreError) -> Instant?

  /// Saves a number until a time, and deletes the subject's oldest numbers beyond five.
  func remember(_ number: ProvenNumber, at now: Instant, until end: Instant) async throws(StoreError)
}
