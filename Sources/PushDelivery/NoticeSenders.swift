// Sends notices by the configured providers, and stops a sender whose configuration its provider refuses.

package import Configuration
import Metrics
package import Notices
package import Platform
package import Records
import Synchronization

/// The senders of one configuration. A reload makes new ones, so a corrected setting is tried at once.
package final class NoticeSenders: Sendable {
  /// What became of a notice.
  package enum Outcome: Hashable, Sendable {
    case taken
    /// The provider does not know the device, or not since the given time.
    case deviceGone(since: UnixTime?)
    /// Nothing more is tried. A repetition makes sense after the given time at the earliest.
    case notTaken(retryAfter: Duration?)
  }

  /// How long a provider has to take a notice.
  static let patience = Duration.seconds(5)
  /// How often a notice is sent at most.
  static let mostTries = 3
  /// The wait after a try where the provider names none, and the double after the next.
  static let pause = Duration.milliseconds(300)
  /// A stopped sender tries one notice after each such time.
  static let rest = Duration.seconds(600)

  /// One provider.
  private final class Line: Sendable {
    let sender: any NoticeSender
    /// When a stopped sender tries the next notice; nil while it is not stopped.
    let nextTry = Mutex<MonotonicTime?>(nil)

    init(_ sender: any NoticeSender) { self.sender = sender }
  }

  private let lines: [PushPlatform: Line]
  private let clock: any TimeSource
  private let log: Log
  private let metrics: ServiceMetrics

  /// Takes senders of any kind.
  init(
    _ senders: [PushPlatform: any NoticeSender], clock: any TimeSource, log: Log, metrics: ServiceMetrics
  ) {
    lines = senders.mapValues { Line($0) }
    self.clock = clock
    self.log = log
    self.metrics = metrics
  }

  /// The senders that are configured.
  package convenience init(
    _ notices: Configuration.Notices, _ kept: KeptSenders, clock: any TimeSource, log: Log,
    metrics: ServiceMetrics
  ) {
    self.init(kept.senders(notices), clock: clock, log: log, metrics: metrics)
  }

  /// The providers, in the order of documents.
  package var platforms: [PushPlatform] { PushPlatform.allCases.filter { lines[$0] != nil } }

  /// Whether a provider's sender is stopped, because the provider refuses its configuration.
  package func isStopped(_ platform: PushPlatform) -> Bool {
    lines[platform]?.nextTry.withLock { $0 != nil } ?? false
  }

  /// Sends a notice, and sends it again where its provider asks for that and time is left.
  ///
  /// - Parameter isWanted: Whether it is sent again at all.
  func send(_ notice: Notice, to device: PushToken, while isWanted: () -> Bool) async -> Outcome {
    let platform = device.platform
    // Devices of a provider that was removed from the configuration stay registered.
    guard let line = lines[platform] else { return .notTaken(retryAfter: nil) }
    let deadline = clock.now + Self.patience
    var tries = 1
    while true {
      switch await attempt(notice, to: device, line, deadline) {
      case .taken: return .taken
      case .deviceGone(let since): return .deviceGone(since: since)
      case .stopped(let wait): return .notTaken(retryAfter: wait)
      case .refused: return .notTaken(retryAfter: nil)
      case .again(let wait, let reason):
        let pause = wait ?? Self.pause * (1 << (tries - 1))
        guard tries < Self.mostTries, isWanted(), clock.now + pause < deadline,
          await clock.hasSlept(until: clock.now + pause), isWanted()
        else {
          note(.warning, "a provider did not take a notice", platform, reason, "not_taken")
          return .notTaken(retryAfter: wait)
        }
        tries += 1
      }
    }
  }

  // MARK: One try

  /// What became of one try.
  enum Attempt: Hashable, Sendable {
    case taken
    /// The provider does not know the device, or not since the given time.
    case deviceGone(since: UnixTime?)
    /// The provider refuses the server's settings, and the next try is after a time.
    case stopped(for: Duration)
    /// The notice can never be sent.
    case refused
    /// It may be tried again, after the given time if the provider names one.
    case again(after: Duration?, reason: String)
  }

  /// Sends a notice once, where its provider is configured and not stopped.
  func attempt(_ notice: Notice, to device: PushToken) async -> Attempt {
    guard let line = lines[device.platform] else { return .refused }
    let attempt = await attempt(notice, to: device, line, clock.now + Self.patience)
    if case .again(_, let reason) = attempt {
      note(.warning, "a provider did not take a notice", device.platform, reason, "not_taken")
    }
    return attempt
  }

  private func attempt(
    _ notice: Notice, to device: PushToken, _ line: Line, _ deadline: MonotonicTime
  ) async -> Attempt {
    let platform = device.platform
    if let wait = begin(line) {
      metrics.notices.count(platform.rawValue, "stopped")
      return .stopped(for: wait)
    }
    switch await line.sender.send(notice, to: device, deadline: deadline) {
    case .taken:
      resume(line, platform)
      metrics.notices.count(platform.rawValue, "taken")
      return .taken
    case .deviceGone(let since, let reason):
      resume(line, platform)
      note(.info, "the provider does not know a device any more", platform, reason, "device_gone")
      return .deviceGone(since: since)
    case .stopSender(let reason):
      stop(line, platform, reason)
      return .stopped(for: Self.rest)
    case .giveUp(let reason):
      note(.error, "a provider refused a notice", platform, reason, "refused")
      return .refused
    case .retry(let wait, let reason): return .again(after: wait, reason: reason)
    }
  }

  /// How many notices may be begun by a provider: one where it is stopped and the next try is due.
  func room(_ platform: PushPlatform, most: Int) -> Int {
    guard let line = lines[platform] else { return 0 }
    let nextTry = line.nextTry.withLock { $0 }
    guard let nextTry else { return most }
    return clock.now < nextTry ? 0 : 1
  }

  // MARK: Stopping

  /// The wait until a stopped sender tries again; nil for a try now.
  private func begin(_ line: Line) -> Duration? {
    let now = clock.now
    return line.nextTry.withLock { nextTry in
      guard let next = nextTry else { return nil }
      guard now >= next else { return next - now }
      nextTry = now + Self.rest
      return nil
    }
  }

  private func stop(_ line: Line, _ platform: PushPlatform, _ reason: String) {
    let now = clock.now
    let isFirst = line.nextTry.withLock { nextTry in
      defer { nextTry = now + Self.rest }
      return nextTry == nil
    }
    metrics.notices.count(platform.rawValue, "stopped")
    log.write(
      isFirst ? .error : .warning,
      "a provider refuses this server's settings, so notices by it stop: correct them and reload; one is tried every 10 minutes",
      ["provider": platform.rawValue, "reason": reason])
  }

  private func resume(_ line: Line, _ platform: PushPlatform) {
    let wasStopped = line.nextTry.withLock { nextTry in
      defer { nextTry = nil }
      return nextTry != nil
    }
    if wasStopped {
      log.write(.info, "notices by a provider go on", ["provider": platform.rawValue])
    }
  }

  private func note(
    _ level: LogSettings.Level, _ message: String, _ platform: PushPlatform, _ reason: String,
    _ outcome: String
  ) {
    metrics.notices.count(platform.rawValue, outcome)
    log.write(level, message, ["provider": platform.rawValue, "reason": reason])
  }
}
