// The emulator's clock: the machine's time plus an offset that a test can set.

import Platform
import Synchronization

/// The sandbox's clock: this machine's plus an offset that a test sets.
final class SandboxClock: TimeSource {
  /// How far it may be beside this machine's, in seconds: a day.
  static let furthest: Int64 = 86_400

  private let base: any TimeSource
  private let seconds = Atomic<Int64>(0)

  init(_ base: any TimeSource) { self.base = base }

  /// How far it is ahead of this machine's clock, in seconds; less than zero where it is behind.
  var offset: Int64 {
    get { seconds.load(ordering: .relaxed) }
    set { seconds.store(newValue, ordering: .relaxed) }
  }

  var now: MonotonicTime { base.now }

  var unixTime: UnixTime {
    var time = base.unixTime
    time.seconds += offset
    return time
  }

  func sleep(until due: MonotonicTime) async throws { try await base.sleep(until: due) }
}
