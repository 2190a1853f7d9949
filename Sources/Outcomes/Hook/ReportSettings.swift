// The time of day at which the server requests Talkdesk's report of calls.

package import Gate

/// The time of the nightly report, and its time zone.
package struct ReportSettings: Sendable, Equatable {
  /// The time of day, in seconds since midnight.
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
  package func next(after now: Instant) -> Instant? { times(around: now).first { $0 > now } }

  /// The last time at or before an instant; nil beyond the zone's table.
  package func last(by now: Instant) -> Instant? { times(around: now).last { $0 <= now } }

  /// The times of the five nights around an instant, in order.
  private func times(around now: Instant) -> [Instant] {
    guard let local = zone.localSeconds(at: now.seconds) else { return [] }
    let today = local.quotientOfFloor(86_400)
    return (-2...2).compactMap { day in
      // If a clock change skips this time, use the first time after the change.
      zone.firstInstant(showing: (today + day) * 86_400 + second).map { Instant(seconds: $0) }
    }
  }
}

extension Int64 {
  fileprivate func quotientOfFloor(_ divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
