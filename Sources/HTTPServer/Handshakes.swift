// Limits how many connections of one loop may be in the TLS handshake at a time.

import Platform

/// The connections of one loop whose TLS handshake has not finished, oldest first, and their limit. Such a
/// connection costs more memory than any other, and its client has proved nothing.
struct Handshakes {
  private struct Entry {
    let token: EventToken
    /// The end of the protection. Until then, the handshake is not ended to make room for another.
    let protectedUntil: MonotonicTime
  }

  private let limit: Int
  private let protection: Duration
  private var entries: [Entry] = []

  /// - Parameters:
  ///   - limit: The maximum number of handshakes at a time.
  ///   - protection: How long a handshake may not be ended to make room for another. The protection is
  ///     longer than an honest client's handshake takes. So many honest clients at once wait, and do not
  ///     end each other's handshakes.
  init(limit: Int, protection: Duration) {
    self.limit = max(1, limit)
    self.protection = protection
  }

  /// Whether one more handshake may begin, perhaps in place of the oldest.
  func hasRoom(now: MonotonicTime) -> Bool { entries.count < limit || oldestToEnd(now: now) != nil }

  /// The oldest handshake, if there is no room for one more and its protection has expired; otherwise nil.
  func oldestToEnd(now: MonotonicTime) -> EventToken? {
    guard entries.count >= limit, let oldest = entries.first, oldest.protectedUntil <= now else { return nil }
    return oldest.token
  }

  mutating func begin(_ token: EventToken, now: MonotonicTime) {
    entries.append(Entry(token: token, protectedUntil: now + protection))
  }

  /// Removes a handshake. There are few, so the search is cheap compared with the handshake itself.
  mutating func end(_ token: EventToken) {
    if let place = entries.firstIndex(where: { $0.token == token }) { entries.remove(at: place) }
  }
}
