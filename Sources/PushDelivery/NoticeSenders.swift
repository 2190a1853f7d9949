// Sends notices by the configured providers, and stops a sender whose configuration its provider refuses.

package import Configuration
package import HTTP
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
  ///
  /// - Parameters:
  ///   - transport: carries notices to FCM and to web hooks.
  ///   - connect: makes a transport for APNs alone, over one HTTP/2 connection; nil if that fails.
  package convenience init(
    _ notices: Configuration.Notices, transport: any HTTPTransport,
    connect: @escaping @Sendable () -> (any HTTPTransport)?, clock: any TimeSource, log: Log,
    metrics: ServiceMetrics
  ) {
    var senders: [PushPlatform: any NoticeSender] = [:]
    if let fcm = notices.fcm { senders[.fcm] = FCMSender(fcm, transport: transport, time: clock) }
    if let apns = notices.apns {
      // Without one of its own it fails over the other until it has one: it asks again after each failure.
      senders[.apns] = APNsSender(apns, transport: connect() ?? transport, connect: connect, time: clock)
    }
    if let http = notices.http {
      senders[.http] = HookSender(url: http.url, secrets: http.secrets, transport: transport, time: clock)
    }
    self.init(senders, clock: clock, log: log, metrics: metrics)
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
    if let wait = begin(line) {
      metrics.notices.count(platform.rawValue, "stopped")
      return .notTaken(retryAfter: wait)
    }
    let deadline = clock.now + Self.patience
    var tries = 1
    while true {
      let verdict = await line.sender.send(notice, to: device, deadline: deadline)
      switch verdict {
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
        return .notTaken(retryAfter: Self.rest)
      case .giveUp(let reason):
        note(.error, "a provider refused a notice", platform, reason, "refused")
        return .notTaken(retryAfter: nil)
      case .retry(let wait, let reason):
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
