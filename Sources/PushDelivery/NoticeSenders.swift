// Sends notifications through the configured providers, and stops a sender whose settings its provider
// refuses.

package import Configuration
import Metrics
package import Notices
package import Platform
package import Records
import Synchronization

/// The senders of one configuration, with their stops and pauses. A reload starts without stops and pauses,
/// so a corrected setting is tried at once.
package final class NoticeSenders: Sendable {
  /// The outcome of sending a notification.
  package enum Outcome: Hashable, Sendable {
    case taken
    /// The provider does not know the device.
    case deviceGone
    /// The notification was not accepted, and is not tried again. A retry makes sense after the given time at
    /// the earliest; nil if no time is known.
    case notTaken(retryAfter: Duration?)
  }

  /// The reason why a notification was not accepted yet.
  enum Setback: Sendable {
    case notTaken
    /// The provider does not know the device, since the given time if it names one.
    case deviceGone(since: UnixTime?)
  }

  /// The time limit for a provider to accept a notification, including repeated attempts of `send`.
  static let patience = Duration.seconds(5)
  /// The maximum number of attempts of `send`. `NoticePosts` limits the POSTs of a notification.
  static let mostTries = 3
  /// The wait after the first attempt, if the provider names none. It doubles after each further attempt.
  static let pause = Duration.milliseconds(300)

  /// One provider, with its sender and state.
  private final class Line: Sendable {
    let sender: any NoticeSender
    let standing = Mutex(SenderStanding())

    init(_ sender: any NoticeSender) { self.sender = sender }
  }

  private let lines: [PushPlatform: Line]
  private let clock: any TimeSource
  private let log: Log
  private let metrics: ServiceMetrics

  init(
    _ senders: [PushPlatform: any NoticeSender], clock: any TimeSource, log: Log, metrics: ServiceMetrics
  ) {
    lines = senders.mapValues { Line($0) }
    self.clock = clock
    self.log = log
    self.metrics = metrics
  }

  /// Creates the senders of a configuration. Senders for FCM and APNs whose settings did not change are
  /// reused.
  package convenience init(
    _ notices: Configuration.Notices, _ kept: KeptSenders, clock: any TimeSource, log: Log,
    metrics: ServiceMetrics
  ) {
    self.init(kept.senders(notices), clock: clock, log: log, metrics: metrics)
  }

  /// The configured providers, in the order of the documentation.
  package var platforms: [PushPlatform] { PushPlatform.allCases.filter { lines[$0] != nil } }

  /// Whether a provider's sender is stopped, because the provider refuses its configuration.
  package func isStopped(_ platform: PushPlatform) -> Bool {
    lines[platform]?.standing.withLock { $0.isStopped } ?? false
  }

  /// The time left of a pause that a provider requested; nil if there is none.
  package func rest(_ platform: PushPlatform) -> Duration? {
    let now = clock.now
    return lines[platform]?.standing.withLock { $0.rest(at: now) }
  }

  /// The time until a provider gets notifications again, after it refused the server's settings or requested
  /// a pause; nil if it gets them now.
  package func pause(_ platform: PushPlatform) -> Duration? {
    let now = clock.now
    return lines[platform]?.standing.withLock { $0.pause(at: now) }
  }

  /// Ends everything that delays notifications. For the sandbox.
  package func endPauses() {
    for line in lines.values { line.standing.withLock { $0 = SenderStanding() } }
  }

  /// Sends a notification. Sends it again after a temporary failure, and to a device that replaced the first
  /// one, if time and POSTs are left.
  ///
  /// - Parameters:
  ///   - isWanted: Whether a further attempt is still wanted.
  ///   - readdress: Returns the device that replaced the previous one, after a setback; nil if there is none.
  func send(
    _ notice: Notice, to device: DeviceAddress, while isWanted: () -> Bool,
    readdress: (Setback) async -> DeviceAddress? = { _ in nil }
  ) async -> Outcome {
    let deadline = clock.now + Self.patience
    var device = device
    var posts = NoticePosts()
    var tries = 1
    while true {
      switch await attempt(notice, to: device, deadline, &posts) {
      case .taken: return .taken
      case .closed(let wait), .deviceRests(let wait): return .notTaken(retryAfter: wait)
      case .refused: return .notTaken(retryAfter: nil)
      case .deviceGone(let since):
        guard let other = await readdress(.deviceGone(since: since)), posts.hasMore, isWanted() else {
          return .deviceGone
        }
        device = other
      case .again(let wait, let reason, _):
        let pause = wait ?? Self.pause * (1 << (tries - 1))
        guard tries < Self.mostTries, posts.hasMore, isWanted(), clock.now + pause < deadline,
          await clock.hasSlept(until: clock.now + pause), isWanted()
        else {
          note(.warning, "push provider did not accept a notification", device.platform, reason, "not_taken")
          return .notTaken(retryAfter: rest(device.platform) ?? wait)
        }
        tries += 1
        if let other = await readdress(.notTaken) { device = other }
      }
    }
  }

  // MARK: One try

  /// The result of one attempt.
  enum Attempt: Hashable, Sendable {
    case taken
    /// The provider does not know the device, since the given time if it names one.
    case deviceGone(since: UnixTime?)
    /// The provider gets nothing for the given time, because it refuses the server's settings or requested a
    /// pause.
    case closed(for: Duration)
    /// Nothing was sent, because the provider requested a pause for this device.
    case deviceRests(for: Duration)
    /// The notification is dropped: the provider rejected it or is not configured, or it is too large to be
    /// sent.
    case refused
    /// The notification may be tried again, after the given time if the provider names one. If `rests` is
    /// true, the provider wants no other notification in that time either.
    case again(after: Duration?, reason: String, rests: Bool)
  }

  /// Tries to send a notification, if its provider is configured and gets notifications.
  ///
  /// - Parameter posts: The POSTs of earlier attempts.
  func attempt(_ notice: Notice, to device: DeviceAddress, _ posts: inout NoticePosts) async -> Attempt {
    let attempt = await attempt(notice, to: device, clock.now + Self.patience, &posts)
    if case .again(_, let reason, _) = attempt {
      note(.warning, "push provider did not accept a notification", device.platform, reason, "not_taken")
    }
    return attempt
  }

  private func attempt(
    _ notice: Notice, to device: DeviceAddress, _ deadline: MonotonicTime, _ posts: inout NoticePosts
  ) async -> Attempt {
    let platform = device.platform
    // Devices of a provider that was removed from the configuration stay registered.
    guard let line = lines[platform] else { return .refused }
    let start = clock.now
    switch line.standing.withLock({ $0.begin(to: device, at: start) }) {
    case .stop(let wait)?:
      metrics.notices.count(platform.rawValue, "stopped")
      metrics.troubles.hit(.push, platform.rawValue, at: clock.unixTime)
      return .closed(for: wait)
    case .rest(let wait)?:
      metrics.notices.count(platform.rawValue, "resting")
      metrics.troubles.hit(.push, platform.rawValue, at: clock.unixTime)
      return .closed(for: wait)
    case .deviceRest(let wait)?:
      metrics.notices.count(platform.rawValue, "resting")
      return .deviceRests(for: wait)
    case nil: break
    }
    switch await line.sender.send(notice, to: device, deadline: deadline, posts: &posts) {
    case .taken:
      resume(line, platform, startedAt: start)
      metrics.notices.count(platform.rawValue, "taken")
      return .taken
    case .deviceGone(let since, let reason):
      resume(line, platform, startedAt: start)
      note(.info, "push provider no longer knows a device", platform, reason, "device_gone")
      return .deviceGone(since: since)
    case .stopSender(let reason):
      stop(line, platform, reason)
      return .closed(for: SenderStanding.interval)
    case .giveUp(let reason):
      note(.error, "push provider rejected a notification", platform, reason, "refused")
      return .refused
    case .retry(let wait, let reason):
      begin(platform, cause: reason)
      return .again(after: wait, reason: reason, rests: false)
    case .restProvider(let wait, let reason):
      rest(line, platform, wait, reason)
      return .again(after: wait, reason: reason, rests: true)
    case .restDevice(let wait, let reason):
      let now = clock.now
      line.standing.withLock { $0.rest(device, for: wait, at: now) }
      return .again(after: wait, reason: reason, rests: false)
    }
  }

  /// The number of notifications that may be started for a provider: none while it is stopped or paused, one
  /// if it is stopped and the next attempt is due, otherwise `most`.
  func room(_ platform: PushPlatform, most: Int) -> Int {
    let now = clock.now
    return lines[platform]?.standing.withLock { $0.room(most: most, at: now) } ?? 0
  }

  // MARK: Stops and rests

  private func stop(_ line: Line, _ platform: PushPlatform, _ reason: String) {
    let now = clock.now
    let isFirst = line.standing.withLock { $0.refuse(at: now) }
    metrics.notices.count(platform.rawValue, "stopped")
    begin(platform)
    log.write(
      isFirst ? .error : .warning,
      "push provider rejected this server's credentials: fix them and reload; the server retries every 10 minutes",
      ["provider": platform.rawValue, "reason": reason])
  }

  private func rest(_ line: Line, _ platform: PushPlatform, _ wait: Duration, _ reason: String) {
    let now = clock.now
    begin(platform)
    guard line.standing.withLock({ $0.rest(for: wait, at: now) }) else { return }
    log.write(
      .warning, "push provider asked for a pause (Retry-After); notifications are queued",
      ["provider": platform.rawValue, "reason": reason, "seconds": wait.wholeSecondsRoundedUp])
  }

  /// Records for operators that a provider does not accept notifications.
  /// - Parameter cause: The reason, if the provider fails without a stop or a rest; otherwise empty.
  private func begin(_ platform: PushPlatform, cause: String = "") {
    metrics.troubles.began(.push, platform.rawValue, cause: cause, at: clock.unixTime)
    metrics.troubles.hit(.push, platform.rawValue, at: clock.unixTime)
  }

  private func resume(_ line: Line, _ platform: PushPlatform, startedAt start: MonotonicTime) {
    metrics.troubles.ended(.push, platform.rawValue)
    if line.standing.withLock({ $0.succeed(startedAt: start) }) {
      log.write(.info, "push provider accepts notifications again", ["provider": platform.rawValue])
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
