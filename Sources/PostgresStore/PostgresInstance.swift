// The state that all connections of one open store share: its heartbeat, and transactions with an unknown outcome.

import Platform
import Store
import Synchronization

/// A number of this open store's own, shared by its connections, and when it was last said that it lives. By the
/// server's clock a sign of life is good for ten seconds. The beginning of a callback renews one older than three.
final class PostgresInstance: Sendable {
  private struct Doubts {
    var marks: [PostgresMark] = []
    var isLookedAt = false
    /// Not looked at again before this: of many that ask, one waits.
    var quietUntil: MonotonicTime?
  }

  /// Its number.
  let number = Int64.random(in: 1...Int64.max)
  /// What its connections say about the server.
  let health: StoreHealth
  /// The way to the server.
  let route = PostgresRoute()
  private let seen = Mutex<MonotonicTime?>(nil)
  private let doubts = Mutex(Doubts())

  init(_ health: StoreHealth) { self.health = health }

  /// Whether the server has ever been told of it.
  var isKnown: Bool { seen.withLock { $0 != nil } }

  /// Whether what begins now will be known to be ours.
  func isFresh(at now: MonotonicTime) -> Bool {
    seen.withLock { $0.map { now - $0 < .seconds(3) } ?? false }
  }

  /// The server knows it; the time is that before it was told.
  func seen(at now: MonotonicTime) { seen.withLock { $0 = now } }

  // MARK: Beginnings in doubt

  /// How many are remembered; each is the end of a connection, and is looked at with the first withdrawal.
  static let mostDoubts = 1024

  /// A transaction in which a callback began may be committed, now or later.
  func doubt(_ mark: PostgresMark) {
    doubts.withLock { doubts in
      if doubts.marks.count == Self.mostDoubts { doubts.marks.removeFirst() }
      doubts.marks.append(mark)
    }
  }

  /// Whether there are such transactions.
  var hasDoubts: Bool { doubts.withLock { !$0.marks.isEmpty } }

  /// The transactions to look at; nil while another task does so, or did a moment ago in vain. To be followed by
  /// `looked`.
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
