// The sign of life of one open store, for the instances that share its database.

internal import Platform
internal import Synchronization

/// A number of this open store's own, shared by its connections, and when it was last said that it lives. By the
/// server's clock a sign of life is good for ten seconds; whoever begins a callback renews one that is older than three.
final class PostgresInstance: Sendable {
  /// Its number.
  let number = Int64.random(in: 1...Int64.max)
  private let seen = Mutex<MonotonicTime?>(nil)

  /// Whether the server has ever been told of it.
  var isKnown: Bool { seen.withLock { $0 != nil } }

  /// Whether what begins now will be known to be ours.
  func isFresh(at now: MonotonicTime) -> Bool {
    seen.withLock { $0.map { now - $0 < .seconds(3) } ?? false }
  }

  /// The server knows it; the time is that before it was told.
  func seen(at now: MonotonicTime) { seen.withLock { $0 = now } }
}
