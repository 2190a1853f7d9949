// Caches the session tokens of recent users, within a limit.

import JOSE
import Platform

/// The tokens of up to 100,000 users. When the cache is full, the older half is dropped.
///
/// A use does not make a token younger in the cache, because each token has a limited lifetime anyway.
struct SessionCache {
  /// The maximum number of users.
  private let mostUsers: Int
  /// The maximum size of all tokens and user IDs, in bytes, so that long tokens do not use more memory than
  /// short ones.
  private let mostBytes: Int

  private var younger: [UserID: SessionToken] = [:]
  private var older: [UserID: SessionToken] = [:]
  private var youngerBytes = 0

  init(mostUsers: Int = 100_000, mostBytes: Int = 24_000_000) {
    (self.mostUsers, self.mostBytes) = (mostUsers, mostBytes)
  }

  /// The number of cached tokens, including expired ones.
  var count: Int { younger.count + older.count }

  /// The token of a user, if it may be handed out now.
  func token(of user: UserID, now: MonotonicTime) -> SessionToken? {
    guard let token = younger[user] ?? older[user], now <= token.vendableUntil else { return nil }
    return token
  }

  /// Caches a token, and replaces the user's previous one.
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

  /// Removes every token.
  mutating func removeAll() { self = SessionCache(mostUsers: mostUsers, mostBytes: mostBytes) }
}
