// The id of a callback, with which its caller looks up the outcome.

public import Gate
import Platform

/// A UUID of version 7 (RFC 9562 §5.7): the time in milliseconds, then 74 random bits from the system. The id
/// cannot be guessed, and ids of about the same time are neighbors in a store.
public struct CallbackID: Hashable, Comparable, Sendable, LosslessStringConvertible {
  package let id: StoreID

  package init(_ id: StoreID) { self.id = id }

  /// The 16 bytes. As associated data, they tie a sealed value to its callback.
  package var bytes: [UInt8] { id.bytes }

  /// The time in the id, to the millisecond.
  package var time: Instant {
    Instant(nanosecondsSinceEpoch: Int64(id.high >> 16).multipliedClamped(by: 1_000_000))
  }

  /// A new id for a callback of this time.
  public init(at now: Instant) {
    var generator = SystemRandomNumberGenerator()
    let milliseconds = UInt64(clamping: now.nanosecondsSinceEpoch / 1_000_000)
    let high = milliseconds << 16 | 0x7000 | generator.next() & 0x0FFF
    let low = UInt64(2) << 62 | generator.next() >> 2
    id = StoreID(high: high, low: low)
  }

  /// Reads the 36 characters of `description`, in either case (RFC 9562 §4); nil for any other text.
  public init?(_ description: String) {
    guard let id = StoreID(uuid: Array(description.utf8).span) else { return nil }
    self.id = id
  }

  /// `0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87`: lower-case hex digits with hyphens.
  public var description: String { id.uuid }

  public static func < (a: Self, b: Self) -> Bool { a.id < b.id }
}
