// The emulated Talkdesk's clock, for tests that decide when a delayed response arrives.

import Platform
import Synchronization
import TestSupport

/// The machine's clock. A delayed response arrives at its time, or as soon as the test releases it.
///
/// So a delay only has to outlast whatever the test does meanwhile on a busy machine.
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

  /// Whether a response is being delayed.
  var isDelaying: Bool { delays.withLock { !$0.isEmpty } }

  /// Waits until a response is delayed, then ends all delays.
  func release() async throws {
    try await eventually { isDelaying }
    let ended = delays.withLock { delays in
      defer { delays = [] }
      return delays
    }
    for delay in ended { delay.cancel() }
  }
}
