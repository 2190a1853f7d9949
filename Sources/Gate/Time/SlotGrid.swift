// Divides the days of a time zone into slots, which count appointments.

/// A span of time whose appointments are counted together.
public struct Slot: Hashable, Sendable {
  /// Its first second, and the first second after it, since the epoch.
  public let start, end: Int64

  /// A slot.
  public init(start: Int64, end: Int64) {
    self.start = start
    self.end = end
  }
}

/// The slots of a time zone's days: the first of a day begins at midnight, each next one where the one before ends, and the last
/// ends at the next midnight.
///
/// Slots run in real time, so a change of the clocks makes more or fewer of them. A day begins with the first second that shows its
/// date or a later one:
///
/// 1. Its midnight is skipped: it begins where the gap ends.
/// 2. Its midnight is shown twice: it begins at the first one, also where the evening before is shown once more in between.
/// 3. The whole date is skipped: it has no slots.
public struct SlotGrid: Sendable {
  private let zone: Zone
  private let length: Int64

  /// A grid.
  /// - Parameter length: Seconds from 1 to 86,400.
  public init(zone: Zone, length: Int64) {
    precondition((1...86_400).contains(length), "a slot is no longer than a day")
    self.zone = zone
    self.length = length
  }

  /// The slot that holds a time, in seconds since the epoch; nil where the zone's table ends.
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

  /// The slot after another; nil where the zone's table ends.
  public func next(after slot: Slot) -> Slot? { self.slot(at: slot.end) }
}
