// The state that all connections of one open store share: its heartbeat, and transactions with an unknown outcome.

import Platform
import Store
import Synchronization

/// The number of this open store, shared by its connections, and the time of its last sign of life. A sign of life counts for ten
/// seconds by the server's clock. The beginning of a callback renews one older than three seconds.
package final class PostgresInstance: Sendable {
  private struct Doubts {
    var marks: [PostgresMark] = []
    var isLookedAt = false
    /// Not looked at again before this: of many that ask, one waits.
    var quietUntil: MonotonicTime?
  }

  /// Its number.
  let number = Int64.random(in: 1...Int64.max)
  /// The server's health, from all connections.
  let health: StoreHealth
  let clock: any TimeSource
  let login: PostgresLogin
  /// The way to the server.
  let route = PostgresRoute()
  private let seen = Mutex<MonotonicTime?>(nil)
  private let doubts = Mutex(Doubts())

  init(_ login: PostgresLogin, _ health: StoreHealth, _ clock: any TimeSource) {
    self.login = login
    self.health = health
    self.clock = clock
  }

  /// Whether the server ever had a sign of life.
  var isKnown: Bool { seen.withLock { $0 != nil } }

  /// Whether the last sign of life is fresh enough for a new callback.
  func isFresh(at now: MonotonicTime) -> Bool {
    seen.withLock { $0.map { now - $0 < .seconds(3) } ?? false }
  }

  /// The server has a sign of life, sent after this time.
  func seen(at now: MonotonicTime) { seen.withLock { $0 = now } }

  // MARK: Transactions in doubt

  /// How many are remembered; each is the end of a connection, and is looked at with the first withdrawal or question.
  static let mostDoubts = 1024

  /// A transaction in which a callback began, an appointment was booked or ended, or an installation changed, may be committed, now or
  /// later.
  func doubt(_ mark: PostgresMark) {
    doubts.withLock { doubts in
      if doubts.marks.count == Self.mostDoubts { doubts.marks.removeFirst() }
      doubts.marks.append(mark)
    }
  }

  /// Whether there are such transactions.
  var hasDoubts: Bool { doubts.withLock { !$0.marks.isEmpty } }

  /// The transactions to look at; nil while another task does so, or did so a moment ago without result. Call `looked` after it.
  func lookAtDoubts(at now: MonotonicTime) -> [PostgresMark]? {
    doubts.withLock { doubts in
      if doubts.isLookedAt { return nil }
      if let quiet = doubts.quietUntil, now < quiet { return nil }
      doubts.isLookedAt = true
      return doubts.marks
    }
  }

  /// This one has ended, one way or the other.
  func ended(_ mark: PostgresMark) { doubts.withLock { $0.marks.removeAll { $0 == mark } } }

  /// The task has looked at them.
  /// - Parameter isAll: Whether all that were looked at have ended.
  func looked(isAll: Bool, at now: MonotonicTime) {
    doubts.withLock { doubts in
      doubts.isLookedAt = false
      doubts.quietUntil = isAll ? nil : now + .milliseconds(500)
    }
  }
}
