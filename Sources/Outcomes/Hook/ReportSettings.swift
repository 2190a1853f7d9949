// When the report of calls is asked for.

package import Gate

/// A time of each night, and its zone.
package struct ReportSettings: Sendable, Equatable {
  /// The time of day, in seconds.
  package let second: Int64
  package let zone: Zone

  package init(second: Int64, zone: Zone) {
    self.second = second
    self.zone = zone
  }

  package static func == (one: ReportSettings, other: ReportSettings) -> Bool {
    one.second == other.second && one.zone.name == other.zone.name
  }

  /// The first time after an instant; nil beyond the zone's table.
  package func next(after now: Instant) -> Instant? {
    guard let local = zone.localSeconds(at: now.seconds) else { return nil }
    let today = local.quotientOfFloor(86_400)
    for day in today...today + 2 {
      // A time that a change of clocks leaves out is the first one after it.
      if let seconds = zone.firstInstant(showing: day * 86_400 + second), seconds > now.seconds {
        return Instant(seconds: seconds)
      }
    }
    return nil
  }
}

extension Int64 {
  fileprivate func quotientOfFloor(_ divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
