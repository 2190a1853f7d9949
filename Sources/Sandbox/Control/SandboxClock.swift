// A clock of the sandbox: the machine's time plus an offset that a test can set.

public import Platform
import Synchronization

/// A clock of the sandbox: this machine's time plus an offset that a test sets. The offset moves only the
/// wall clock; ages and deadlines follow this machine's monotonic clock.
public final class SandboxClock: TimeSource {
  /// The largest offset of the emulator's clock alone, in seconds: a day.
  static let furthestAlone: Int64 = 86_400
  /// The largest offset of all clocks together, in seconds: 400 days.
  static let furthestTogether: Int64 = 400 * 86_400

  private let base: any TimeSource
  private let seconds = Atomic<Int64>(0)

  /// Makes a clock without an offset.
  public init(_ base: any TimeSource = SystemClock()) { self.base = base }

  /// The offset from this machine's clock, in seconds; negative if behind.
  var offset: Int64 {
    get { seconds.load(ordering: .relaxed) }
    set { seconds.store(newValue, ordering: .relaxed) }
  }

  public var now: MonotonicTime { base.now }

  public var unixTime: UnixTime {
    base.unixTime.advanced(bySeconds: offset)
  }

  public func sleep(until due: MonotonicTime) async throws { try await base.sleep(until: due) }
}
