// Divides the days of a time zone into slots. The number of appointments is limited per slot.

/// A span of time whose appointments are counted together.
public struct Slot: Hashable, Sendable {
  /// The slot's first second, and the first second after it, in seconds since the epoch.
  public let start, end: Int64

  public init(start: Int64, end: Int64) {
    self.start = start
    self.end = end
  }
}

/// The slots of each day in a time zone. The first slot of a day begins at midnight, each further slot begins
/// where the previous one ends, and the last slot ends at the next midnight.
///
/// Slots are measured in elapsed time, so a day on which the clocks change has more or fewer of them. A day
/// begins at the first second whose local date is that day or later:
///
/// 1. If its midnight is skipped, the day begins where the gap ends.
/// 2. If its midnight occurs twice, the day begins at the first one, even if the evening before repeats in
///    between.
/// 3. If the whole date is skipped, the day has no slots.
public struct SlotGrid: Sendable {
  private let zone: Zone
  private let length: Int64

  /// Creates the grid of a time zone.
  /// - Parameter length: The length of a slot, 1 to 86,400 seconds.
  public init(zone: Zone, length: Int64) {
    precondition((1...86_400).contains(length), "a slot is no longer than a day")
    self.zone = zone
    self.length = length
  }

  /// The slot that contains a time, in seconds since the epoch; nil outside the zone's table.
  public func slot(at seconds: Int64) -> Slot? {
    guard let local = zone.localSeconds(at: seconds) else { return nil }
    var day = local.flooredDivision(by: 86_400).quotient
    guard var midnight = zone.firstInstant(showing: day * 86_400) else { return nil }
    while true {
      guard let next = zone.firstInstant(showing: (day + 1) * 86_400) else { return nil }
      guard next <= seconds else {
        // Any number: both are of the zone's table.
        let start = seconds - (seconds - midnight) % length
        return Slot(start: start, end: min(start + length, next))
      }
      // The clock was put back over midnight, or has skipped the date.
      day += 1
      midnight = next
    }
  }

  /// The slot after another; nil at the end of the zone's table.
  public func next(after slot: Slot) -> Slot? { self.slot(at: slot.end) }
}
