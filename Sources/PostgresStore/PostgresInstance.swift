// The state that all connections of one open store share: its heartbeat, login, route and health, and the
// transactions with an unknown outcome.

import Platform
import Store
import Synchronization

/// An open store, as its connections share it. The server considers its instance alive for ten seconds after
/// each heartbeat, by the server's clock. Before a callback begins or an appointment is marked for its call,
/// a heartbeat older than three seconds is renewed.
package final class PostgresInstance: Sendable {
  private struct Doubts {
    var marks: [PostgresMark] = []
    var isLookedAt = false
    /// The marks are not checked again before this time, so that only one of many callers waits for the
    /// server.
    var quietUntil: MonotonicTime?
  }

  /// A random number that identifies this open store.
  let number = Int64.random(in: 1...Int64.max)
  /// The server's health, from all connections.
  let health: StoreHealth
  let clock: any TimeSource
  let login: PostgresLogin
  let route = PostgresRoute()
  private let seen = Mutex<MonotonicTime?>(nil)
  private let doubts = Mutex(Doubts())

  init(_ login: PostgresLogin, _ health: StoreHealth, _ clock: any TimeSource) {
    self.login = login
    self.health = health
    self.clock = clock
  }

  /// Whether the server ever received a heartbeat of this store.
  var isKnown: Bool { seen.withLock { $0 != nil } }

  /// Whether the last heartbeat is recent enough for a new callback.
  func isFresh(at now: MonotonicTime) -> Bool {
    seen.withLock { $0.map { now - $0 < .seconds(3) } ?? false }
  }

  /// Records that the server has a heartbeat, which was sent after this time.
  func seen(at now: MonotonicTime) { seen.withLock { $0 = now } }

  // MARK: Transactions in doubt

  /// The maximum number of transactions that are remembered. Each of them broke a connection. The next check
  /// covers all of them.
  static let mostDoubts = 1024

  /// Remembers a transaction that may be committed, now or later: one that began a callback, booked or ended
  /// an appointment, or changed an installation.
  func doubt(_ mark: PostgresMark) {
    doubts.withLock { doubts in
      if doubts.marks.count == Self.mostDoubts { doubts.marks.removeFirst() }
      doubts.marks.append(mark)
    }
  }

  /// Whether transactions are in doubt.
  var hasDoubts: Bool { doubts.withLock { !$0.marks.isEmpty } }

  /// The transactions to check; nil while another task checks them, and for half a second after a check that
  /// failed or found some that had not ended. Call `looked` afterwards.
  func lookAtDoubts(at now: MonotonicTime) -> [PostgresMark]? {
    doubts.withLock { doubts in
      if doubts.isLookedAt { return nil }
      if let quiet = doubts.quietUntil, now < quiet { return nil }
      doubts.isLookedAt = true
      return doubts.marks
    }
  }

  /// Forgets a transaction that has ended, whether it was committed or not.
  func ended(_ mark: PostgresMark) { doubts.withLock { $0.marks.removeAll { $0 == mark } } }

  /// Records that a task has checked the transactions.
  /// - Parameter isAll: Whether the check succeeded and all transactions have ended.
  func looked(isAll: Bool, at now: MonotonicTime) {
    doubts.withLock { doubts in
      doubts.isLookedAt = false
      doubts.quietUntil = isAll ? nil : now + .milliseconds(500)
    }
  }
}
