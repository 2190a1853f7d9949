// Remembers how far the due notifications of each provider have been read, so that most reads return only new
// ones.

import Gate
import Notices
import Platform

/// The progress of reading due notifications, for each provider.
///
/// Notifications that cannot be sent stay due: those of a stopped provider, and of installations without a
/// device. Skipping all of them in each read would cost more the longer a provider is down. So a read starts
/// a little before the end of the last one. From time to time, and after a reload, a read covers everything,
/// to find what was saved late and what can be sent again.
struct NoticeReach {
  /// The time between two reads of everything.
  static let interval = Duration.seconds(15)
  /// The time that a read goes back before the end of the last one: longer than a commit takes, and longer
  /// than the difference between the clocks of instances.
  static let overlap = Duration.seconds(10)

  private struct Extent {
    var end: Instant
    var nextWhole: MonotonicTime
  }

  private var extents: [PushPlatform: Extent] = [:]
  private var senders: NoticeSenders?

  /// Sets the senders of the next reads. If they belong to another configuration, everything is read again.
  mutating func use(_ current: NoticeSenders) {
    guard senders !== current else { return }
    senders = current
    extents = [:]
  }

  /// Makes the next read for a provider cover everything, because notifications that came due while the
  /// provider got none can be sent again.
  mutating func forget(_ platform: PushPlatform) { extents[platform] = nil }

  /// The start of a read that ends at `end`; nil to read everything.
  func start(_ platform: PushPlatform, until end: Instant, at now: MonotonicTime) -> Instant? {
    guard let extent = extents[platform], now < extent.nextWhole else { return nil }
    return min(extent.end, end).advanced(by: .zero - Self.overlap)
  }

  /// Records that a read from `start` covered everything up to `end`. A nil `start` stands for a read of
  /// everything.
  mutating func note(_ platform: PushPlatform, from start: Instant?, to end: Instant, at now: MonotonicTime) {
    let nextWhole = start == nil ? nil : extents[platform]?.nextWhole
    extents[platform] = Extent(end: end, nextWhole: nextWhole ?? now + Self.interval)
  }
}
