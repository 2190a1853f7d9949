// Remembers roughly which allowances were used recently, in little memory.

import Gate

/// A small table of the last use of allowances; two that share a place forget each other, which only costs a trip to
/// the store.
struct HeatSketch: Sendable {
  /// The upper half names the allowance, the lower is the time in milliseconds, wrapping after 49 days.
  private var places = [UInt64](repeating: 0, count: 1024)

  /// Notes a use; whether the last one was within a span.
  mutating func touch(_ id: LocalID, at now: Instant, within span: Duration) -> Bool {
    let place = Int(truncatingIfNeeded: id.low >> 1) & (places.count - 1)
    let name = id.high & 0xFFFF_FFFF
    let time = UInt32(truncatingIfNeeded: now.nanosecondsSinceEpoch / 1_000_000)
    let last = places[place]
    places[place] = name << 32 | UInt64(time)
    guard last >> 32 == name else { return false }
    // A clock put back makes this large, and the allowance cold.
    let elapsed = time &- UInt32(truncatingIfNeeded: last)
    let limit = span.components.seconds * 1000 + span.components.attoseconds / 1_000_000_000_000_000
    return Int64(elapsed) <= limit
  }
}
