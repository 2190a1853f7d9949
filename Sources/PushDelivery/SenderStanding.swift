// Decides whether a provider gets a notice now.

import Notices
import Platform

/// Whether a provider gets a notice now. It may have refused the server's settings (a stop), or have named a time in which it wants no
/// notice (a rest), or none for one device.
///
/// - A stop ends with a success of a request that was begun after it. Until then, one notice is tried every ten minutes.
/// - A rest ends with its time. Of several times the latest holds: an answer with a shorter one belongs to a request begun before.
struct SenderStanding {
  /// What holds up a notice, and for how long.
  enum Barrier: Hashable {
    case stop(Duration)
    case rest(Duration)
    case deviceRest(Duration)
  }

  /// A stopped sender tries one notice after each such time.
  static let interval = Duration.seconds(600)
  /// Of how many devices rests are remembered. One more takes the place of the rest that ends first.
  static let mostDevices = 10_000

  private var stop = RestPeriod()
  private var rest = RestPeriod()
  private var devices: [DeviceAddress: Expiry] = [:]

  /// Whether the provider refuses the server's settings.
  var isStopped: Bool { stop.until != nil }

  /// What is left of the provider's rest.
  func rest(at now: MonotonicTime) -> Duration? { rest.remaining(at: now) }

  /// How long the provider gets nothing yet, after a stop or for a rest.
  func pause(at now: MonotonicTime) -> Duration? {
    [stop.remaining(at: now), rest.remaining(at: now)].compactMap { $0 }.max()
  }

  /// How many notices may be begun: one where the sender is stopped and the next try is due.
  func room(most: Int, at now: MonotonicTime) -> Int {
    guard rest.remaining(at: now) == nil, stop.remaining(at: now) == nil else { return 0 }
    return isStopped ? 1 : most
  }

  /// What holds up a notice to a device; nil if it is sent now. With a stopped sender that is the one try.
  mutating func begin(to device: DeviceAddress, at now: MonotonicTime) -> Barrier? {
    let rest = rest.remaining(at: now)
    if let left = stop.remaining(at: now) { return .stop(max(left, rest ?? .zero)) }
    if let rest { return .rest(rest) }
    if let end = devices[device], now < end { return .deviceRest(end - now) }
    if isStopped { stop.extend(until: now + Self.interval) }
    return nil
  }

  /// The provider refuses the server's settings.
  /// - Returns: whether it did not before.
  mutating func refuse(at now: MonotonicTime) -> Bool {
    defer { stop.begin(at: now, until: now + Self.interval) }
    return !isStopped
  }

  /// The provider acted on a request.
  /// - Returns: whether that ended a stop.
  mutating func succeed(startedAt start: MonotonicTime) -> Bool {
    isStopped && stop.end(startedAt: start)
  }

  /// The provider wants no notice for a time.
  /// - Returns: whether no such time ran before.
  mutating func rest(for wait: Duration, at now: MonotonicTime) -> Bool {
    defer { rest.extend(until: now + wait) }
    return rest.remaining(at: now) == nil
  }

  /// The provider wants no notice to a device for a time.
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
