// Decides whether a push provider gets a notification now.

import Notices
import Platform

/// The state of a push provider, which decides whether it gets a notification now. The provider may have
/// refused the server's settings (a stop), or may have requested a pause for all notifications (a rest) or
/// for one device.
///
/// - A stop ends when a request succeeds that was started after it. Until then, one notification is tried
///   every ten minutes.
/// - A rest ends after its time. Of several times the latest counts: a response with a shorter time belongs
///   to an earlier request.
struct SenderStanding {
  /// The reason why a notification is delayed, and the time left.
  enum Barrier: Hashable {
    case stop(Duration)
    case rest(Duration)
    case deviceRest(Duration)
  }

  /// The time between two attempts of a stopped sender.
  static let interval = Duration.seconds(600)
  /// The maximum number of devices with a remembered rest. One more replaces the rest that ends first.
  static let mostDevices = 10_000

  private var stop = RestPeriod()
  private var rest = RestPeriod()
  private var devices: [DeviceAddress: Expiry] = [:]

  /// Whether the provider refuses the server's settings.
  var isStopped: Bool { stop.until != nil }

  /// The time left of the provider's rest; nil if there is none.
  func rest(at now: MonotonicTime) -> Duration? { rest.remaining(at: now) }

  /// The time until the provider may get a notification, because of a stop or a rest; nil if it may get one
  /// now.
  func pause(at now: MonotonicTime) -> Duration? {
    [stop.remaining(at: now), rest.remaining(at: now)].compactMap { $0 }.max()
  }

  /// The number of notifications that may be started: none during a rest or before a stopped sender's next
  /// attempt, one if that attempt is due, otherwise `most`.
  func room(most: Int, at now: MonotonicTime) -> Int {
    guard rest.remaining(at: now) == nil, stop.remaining(at: now) == nil else { return 0 }
    return isStopped ? 1 : most
  }

  /// The reason why a notification to a device is delayed; nil to send it now. If the sender is stopped, nil
  /// allows its one attempt.
  mutating func begin(to device: DeviceAddress, at now: MonotonicTime) -> Barrier? {
    let rest = rest.remaining(at: now)
    if let left = stop.remaining(at: now) { return .stop(max(left, rest ?? .zero)) }
    if let rest { return .rest(rest) }
    if let end = devices[device], now < end { return .deviceRest(end - now) }
    if isStopped { stop.extend(until: now + Self.interval) }
    return nil
  }

  /// Records that the provider refuses the server's settings.
  /// - Returns: Whether this begins a stop. False if the sender was stopped already.
  mutating func refuse(at now: MonotonicTime) -> Bool {
    defer { stop.begin(at: now, until: now + Self.interval) }
    return !isStopped
  }

  /// Records that the provider processed a request.
  /// - Returns: Whether that ended a stop.
  mutating func succeed(startedAt start: MonotonicTime) -> Bool {
    isStopped && stop.end(startedAt: start)
  }

  /// Records that the provider requested a pause.
  /// - Returns: Whether this begins a pause. False if one was running already.
  mutating func rest(for wait: Duration, at now: MonotonicTime) -> Bool {
    defer { rest.extend(until: now + wait) }
    return rest.remaining(at: now) == nil
  }

  /// Records that the provider requested a pause for a device.
  mutating func rest(_ device: DeviceAddress, for wait: Duration, at now: MonotonicTime) {
    let end = Expiry(now + wait)
    if devices[device] == nil, devices.count >= Self.mostDevices {
      devices = devices.filter { now < $0.value }
      if devices.count >= Self.mostDevices, let first = devices.min(by: { $0.value - now < $1.value - now }) {
        devices[first.key] = nil
      }
    }
    devices[device] = devices[device]?.extended(to: end, at: now) ?? end
  }
}
