// The protocol for records of logins, so that guesses from an address do not lock out callers who logged in
// there before.

public import Gate

/// The last login of a caller at an address, without the address and the password.
public struct StoredLogin: Hashable, Sendable {
  /// The maximum number of logins in a store.
  package static let most = 10_000
  /// How long a login counts, in seconds: 30 days.
  private static let lifetime: Int64 = 30 * 86_400
  /// How old a saved login must be before a later one with the same credential replaces it, in seconds: a
  /// day. A login with another credential replaces it at once.
  static let grain: Int64 = 86_400

  /// The first 128 bits of a keyed digest of caller and address.
  package let id: StoreID
  /// The id of the caller.
  package let caller: String
  /// The first 16 bits of a keyed digest of user name and password. The digest must not depend on the
  /// address: otherwise the rows of a caller would together tell more about its password.
  package let credential: UInt16
  /// The time of the login.
  package let last: Instant

  package init(id: StoreID, caller: String, credential: UInt16, last: Instant) {
    self.id = id
    self.caller = caller
    self.credential = credential
    self.last = last
  }

  /// Whether a later login with the same credential need not be saved, because less than a day has passed
  /// since this one.
  package func covers(_ later: Instant) -> Bool {
    last > later.advanced(by: .seconds(-Self.grain))
  }

  /// The time up to which logins no longer count: 30 days before `now`.
  package static func horizon(_ now: Instant) -> Instant {
    now.advanced(by: .seconds(-lifetime))
  }
}

/// A store of logins. It shows all instances where a caller has logged in before.
public protocol LoginStore: Sendable {
  /// The logins at or after a time, the newest first.
  ///
  /// - Returns: At most 10,000 logins.
  func logins(since time: Instant) async throws(StoreError) -> [StoredLogin]

  /// Saves logins. A login with the same credential changes nothing if it is less than a day newer than the
  /// saved one. Beyond 10,000, the oldest are removed.
  func save(_ logins: [StoredLogin]) async throws(StoreError)
}
