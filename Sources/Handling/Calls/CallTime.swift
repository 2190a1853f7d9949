// Checks the time that a client names for a call: now, a time that can be booked, or neither.

import API
import Configuration
import Deciding
import Gate
import Platform
import Serving
import Store

extension Instant {
  /// The number of seconds that a time may be in the past and still mean now, because a client's clock may
  /// be slow.
  private static let nowSpan: Int64 = 60

  /// Whether a call at this time means a call at once.
  func isNow(at now: Instant) -> Bool {
    seconds <= now.seconds && seconds >= now.seconds.subtractingClamped(Self.nowSpan)
  }

  /// This time, rounded up to a whole second.
  fileprivate var roundedUp: Instant { nanoseconds > 0 ? Instant(seconds: seconds.addingClamped(1)) : self }
}

extension Generation {
  /// The mistake in a time for a call; nil for none. The rules check opening hours.
  func fault(inCallTime at: Instant, at now: Instant) -> Problem.FieldProblem? {
    guard appointments != nil else {
      return .init(name: "at", description: "This server does not take appointments. Leave the time out.")
    }
    return at.isNow(at: now) ? nil : fault(inAppointment: at, at: now)
  }

  /// The mistake in a time for an appointment; nil for none.
  func fault(inAppointment at: Instant, at now: Instant) -> Problem.FieldProblem? {
    guard let terms = appointments else {
      return .init(name: "at", description: "This server does not take appointments right now.")
    }
    let earliest = now.advanced(by: terms.earliest)
    guard at >= earliest, at > now else {
      return .init(
        name: "at", limit: "Too soon. The earliest time you can book is", earliest.roundedUp)
    }
    let latest = now.advanced(by: terms.horizon)
    guard at > latest else { return nil }
    return .init(
      name: "at", limit: "Too far ahead. The latest time you can book is",
      Instant(seconds: latest.seconds))
  }

  /// The times that a caller could book; nil without appointments.
  func bookableTimes(callerID: String?, appID: String?, at now: Instant) -> BookableTimes? {
    appointments.map { terms in
      BookableTimes(
        decider.policy, callerID: callerID, appID: appID,
        .init(slot: terms.slot, earliest: terms.earliest, horizon: terms.horizon), at: now)
    }
  }
}

/// The requested time of an appointment, with its slot and its alternatives.
struct AppointmentTime: Sendable {
  /// The maximum number of alternatives in a response.
  private static let mostAlternatives = 10
  /// The maximum number of slots to search for alternatives.
  private static let mostSlots = 10_000

  let at: Instant
  private let times: BookableTimes
  private let terms: Configuration.Appointments
  private let timeout: Duration
  private let now: Instant

  /// Nil without appointments.
  init?(_ at: Instant, _ generation: Generation, _ facts: Facts) {
    guard let terms = generation.appointments,
      let times = generation.bookableTimes(callerID: facts.callerID, appID: facts.appID, at: facts.instant)
    else { return nil }
    self.at = at
    self.times = times
    self.terms = terms
    timeout = generation.configuration.callbacks.timeout
    now = facts.instant
  }

  private var slot: Int64 { times.slot(of: at).start }

  /// Makes the booking of an intent for this time.
  func booking(_ intent: CallbackIntent, content: [UInt8], isTrial: Bool = false) -> Booking {
    var booked = intent
    booked.deadline = at.advanced(by: terms.late + timeout)
    // A trial allows no bookings in the slot, so the store books nothing but reports other conflicts.
    var booking = Booking(
      intent: booked, at: at, slot: slot, content: content,
      limits: .init(perSlot: isTrial ? 0 : terms.perSlot, perNumber: terms.perNumber))
    booking.confirmAt = terms.confirmTime(of: at, now: now)
    return booking
  }

  /// Whether the slot has a free place.
  func hasPlace(_ store: any AppointmentStore) async throws(StoreError) -> Bool {
    try await store.takenPlaces(in: slot...slot)[slot, default: 0] < terms.perSlot
  }

  /// The next times with a free place.
  func alternatives(_ store: any AppointmentStore) async throws(StoreError) -> [Problem.Offer] {
    var found: [Problem.Offer] = []
    var after = at
    var seen = 0
    while found.count < Self.mostAlternatives, seen < Self.mostSlots {
      let slots = times.next(after: after, most: 500)
      guard let first = slots.first, let last = slots.last else { break }
      let taken = try await store.takenPlaces(in: first.start...last.start)
      for slot in slots where taken[slot.start, default: 0] < terms.perSlot {
        found.append(
          Problem.Offer(
            time: Instant(seconds: slot.start).rfc3339, free: terms.perSlot - taken[slot.start, default: 0]))
      }
      seen += slots.count
      after = Instant(seconds: last.start)
    }
    return Array(found.prefix(Self.mostAlternatives))
  }
}

extension Configuration.Appointments {
  /// The time at which the customer is asked to confirm an appointment; nil if it has passed, or if the
  /// configuration has no `confirm`.
  func confirmTime(of at: Instant, now: Instant) -> Instant? {
    guard let confirm else { return nil }
    let time = at.advanced(by: .zero - confirm.before)
    return time > now ? time : nil
  }
}
