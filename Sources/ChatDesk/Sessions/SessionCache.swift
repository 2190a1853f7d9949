// Keeps the session tokens of the users that asked last, within a bound.

import JOSE
import Platform

/// The tokens of up to 100,000 users. When it is full, the half that was obtained earlier goes.
///
/// A token lives for a limited time anyway, so a use does not make its place younger.
struct SessionCache {
  /// How many users it keeps.
  private let mostUsers: Int
  /// How many bytes their tokens and ids may have together, so that long tokens do not use more memory than short ones.
  private let mostBytes: Int

  private var younger: [UserID: SessionToken] = [:]
  private var older: [UserID: SessionToken] = [:]
  private var youngerBytes = 0

  init(mostUsers: Int = 100_000, mostBytes: Int = 24_000_000) {
    (self.mostUsers, self.mostBytes) = (mostUsers, mostBytes)
  }

  /// How many it keeps, the expired ones included.
  var count: Int { younger.count + older.count }

  /// The token of a user, if it may be vended now.
  func token(of user: UserID, now: MonotonicTime) -> SessionToken? {
    guard let token = younger[user] ?? older[user], now <= token.vendableUntil else { return nil }
    return token
  }

  /// Keeps a token in place of the user's last one.
  mutating func keep(_ token: SessionToken) {
    let bytes = token.secret.count + token.user.text.utf8.count
    if younger[token.user] == nil,
      younger.count >= mostUsers / 2 || youngerBytes + bytes > mostBytes / 2
    {
      older = younger
      younger = [:]
      youngerBytes = 0
    }
    older[token.user] = nil
    younger[token.user] = token
    youngerBytes += bytes
  }

  /// Forgets every token.
  mutating func removeAll() { self = SessionCache(mostUsers: mostUsers, mostBytes: mostBytes) }
}
