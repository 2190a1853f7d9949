// Remembers how far the due notices of each provider have been read, so that a look reads only what is new.

import Gate
import Notices
import Platform

/// How far the looks have read.
///
/// Notices that cannot be sent stay due: those of a stopped provider, and of installations without a device. To pass over all of them in
/// each look would cost more the longer a provider is down. So a look begins a little before the end of the last one. From time to time,
/// and after a reload, a look reads everything: it finds what was saved late, and what can be sent again.
struct NoticeReach {
  /// The time between two looks at everything.
  static let interval = Duration.seconds(15)
  /// How far a look goes back behind the last one: longer than a commit takes, and than the clocks of instances differ.
  static let overlap = Duration.seconds(10)

  private struct Extent {
    var end: Instant
    var nextWhole: MonotonicTime
  }

  private var extents: [PushPlatform: Extent] = [:]
  private var senders: NoticeSenders?

  /// The senders of the next looks. With those of another configuration everything is read again.
  mutating func use(_ current: NoticeSenders) {
    guard senders !== current else { return }
    senders = current
    extents = [:]
  }

  /// The next look reads everything: what was due while the provider got no notices can be sent again.
  mutating func forget(_ platform: PushPlatform) { extents[platform] = nil }

  /// Where a look that ends at a time begins; nil for one at everything.
  func start(_ platform: PushPlatform, until end: Instant, at now: MonotonicTime) -> Instant? {
    guard let extent = extents[platform], now < extent.nextWhole else { return nil }
    return min(extent.end, end).advanced(by: .zero - Self.overlap)
  }

  /// Notes how far a look came that began where `start` said.
  mutating func note(_ platform: PushPlatform, from start: Instant?, to end: Instant, at now: MonotonicTime) {
    let nextWhole = start == nil ? nil : extents[platform]?.nextWhole
    extents[platform] = Extent(end: end, nextWhole: nextWhole ?? now + Self.interval)
  }
}
