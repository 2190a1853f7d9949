// A clock of the emulated Talkdesk for tests that decide when a delayed response comes.

import Platform
import Synchronization
import TestSupport

/// The machine's clock. A response that is delayed comes at its time, or as soon as the test releases it.
///
/// So a delay only has to be longer than a busy machine takes for what the test does meanwhile.
final class ReleasableTime: TimeSource {
  private let system = SystemClock()
  private let delays = Mutex<[Task<Void, any Error>]>([])

  var now: MonotonicTime { system.now }
  var unixTime: UnixTime { system.unixTime }

  func sleep(until due: MonotonicTime) async throws {
    let delay = Task { [system] in try await system.sleep(until: due) }
    delays.withLock { $0.append(delay) }
    try await delay.value
  }

  /// Whether something is delayed now.
  var isDelaying: Bool { delays.withLock { !$0.isEmpty } }

  /// Ends all delays, once there is one.
  func release() async throws {
    try await eventually { isDelaying }
    let ended = delays.withLock { delays in
      defer { delays = [] }
      return delays
    }
    for delay in ended { delay.cancel() }
  }
}
