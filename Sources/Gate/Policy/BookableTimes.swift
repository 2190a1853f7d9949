// Finds the times for which a caller could book an appointment.

import Platform

extension Policy {
  /// The time zone whose midnights begin the slots of a caller's appointments: the zone of the first opening
  /// hours that apply, or UTC if none apply.
  public func slotZone(callerID: String?, appID: String?) -> Zone {
    callbackHours(callerID, appID).first.map { schedule($0).zone } ?? .utc
  }

  fileprivate func callbackHours(_ callerID: String?, _ appID: String?) -> [Int] {
    hours(scope(of: .callback, app: appID, caller: callerID ?? Facts.anonymous))
  }
}

/// The slots that a caller could book for an app, by opening hours and by the bounds of bookings. How many
/// appointments a slot already has is checked elsewhere. A slot is booked by its start, so opening hours must
/// be open then.
public struct BookableTimes: Sendable {
  /// The bounds of bookings.
  public struct Terms: Hashable, Sendable {
    /// The length of a slot, in whole seconds: at most a day.
    public let slot: Duration
    /// The shortest time from now to a booking.
    public let earliest: Duration
    /// The longest time from now to a booking.
    public let horizon: Duration

    public init(slot: Duration, earliest: Duration, horizon: Duration) {
      self.slot = slot
      self.earliest = earliest
      self.horizon = horizon
    }
  }

  /// The number of searches for an opening after which `next` looks for no further slot. A schedule may have
  /// many windows in which no slot begins.
  private static let mostAttempts = 4000

  /// The first and the last time that can be booked.
  public let earliest, latest: Instant
  private let policy: Policy
  /// The indices of the opening hours.
  private let hours: [Int]
  private let grid: SlotGrid
  private let length: Int64

  /// Creates the times for a caller and an app. A `callerID` of nil means an anonymous caller.
  public init(_ policy: Policy, callerID: String?, appID: String?, _ terms: Terms, at now: Instant) {
    self.policy = policy
    hours = policy.callbackHours(callerID, appID)
    length = terms.slot.components.seconds
    grid = SlotGrid(zone: policy.slotZone(callerID: callerID, appID: appID), length: length)
    earliest = now.advanced(by: terms.earliest)
    latest = now.advanced(by: terms.horizon)
  }

  /// The slot in which an appointment at a time is counted.
  public func slot(of at: Instant) -> Slot {
    // Outside a zone's table no midnights are known, so each time there has its own slot.
    grid.slot(at: at.seconds) ?? Slot(start: at.seconds, end: at.seconds.addingClamped(length))
  }

  /// The bookable slots that begin at or after `from` and before `to`; nil if there are more than `most`.
  public func slots(from: Instant, to: Instant, most: Int) -> [Slot]? {
    var search = Search(self, from: from)
    var slots: [Slot] = []
    while let slot = search.next(), Instant(seconds: slot.start) < to {
      guard slots.count < most else { return nil }
      slots.append(slot)
    }
    return slots
  }

  /// The first bookable slots that begin after a time: at most `most`, or fewer if there are no more or after
  /// 4,000 searches for an opening.
  public func next(after at: Instant, most: Int) -> [Slot] {
    var search = Search(self, from: Instant(seconds: at.seconds.addingClamped(1)))
    var slots: [Slot] = []
    while slots.count < most, search.attempts < Self.mostAttempts, let slot = search.next() {
      slots.append(slot)
    }
    return slots
  }

  /// A walk along the bookable slots.
  private struct Search {
    let times: BookableTimes
    /// The next slot to check; nil at the end of the zone's table, or if opening hours never open again.
    var candidate: Slot?
    /// The number of openings searched for so far.
    var attempts = 0

    init(_ times: BookableTimes, from: Instant) {
      self.times = times
      let first = max(from, times.earliest)
      candidate = Self.slot(from: first.seconds.addingClamped(first.nanoseconds > 0 ? 1 : 0), times.grid)
    }

    /// The first slot that begins at or after a second.
    private static func slot(from seconds: Int64, _ grid: SlotGrid) -> Slot? {
      guard let slot = grid.slot(at: seconds), slot.start < seconds else { return grid.slot(at: seconds) }
      return grid.next(after: slot)
    }

    mutating func next() -> Slot? {
      while let slot = candidate, Instant(seconds: slot.start) <= times.latest {
        if times.policy.isOpen(times.hours, at: slot.start) {
          candidate = times.grid.next(after: slot)
          return slot
        }
        attempts += 1
        candidate = times.policy.nextOpen(from: slot.start, times.hours).flatMap {
          Self.slot(from: $0, times.grid)
        }
      }
      return nil
    }
  }
}
