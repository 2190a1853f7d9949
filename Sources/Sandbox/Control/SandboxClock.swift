// A clock of the sandbox: the machine's time plus an offset that a test can set.

public import Platform
import Synchronization

/// A clock of the sandbox: this machine's plus an offset that a test sets. Ages and deadlines keep this machine's pace.
public final class SandboxClock: TimeSource {
  /// How far the emulator's alone may be beside this machine's, in seconds: a day.
  static let furthestAlone: Int64 = 86_400
  /// How far all clocks may be together, in seconds: 400 days.
  static let furthestTogether: Int64 = 400 * 86_400

  private let base: any TimeSource
  private let seconds = Atomic<Int64>(0)

  /// Makes a clock without an offset.
  public init(_ base: any TimeSource = SystemClock()) { self.base = base }

  /// How far it is ahead of this machine's clock, in seconds; less than zero where it is behind.
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
