// A callback for a later time that a caller wants to book, and the results of booking, moving and ending it.

public import Gate

/// A callback at a time: its intent, its slot, and the sealed content of its call.
public struct Booking: Sendable {
  /// The limits of all instances together.
  public struct Limits: Hashable, Sendable {
    /// How many appointments may begin in one slot.
    public let perSlot: Int
    /// How many appointments an owner may have for one number.
    public let perNumber: Int

    public init(perSlot: Int, perNumber: Int) {
      self.perSlot = perSlot
      self.perNumber = perNumber
    }
  }

  /// The intent of the callback. Its `deadline` is the latest end of the appointment if nothing fails.
  public let intent: CallbackIntent
  /// When the phone is to ring, to the second.
  public let at: Instant
  /// The first second of its slot, since the epoch. All appointments with the same slot share its places.
  public let slot: Int64
  /// Everything that the call needs, sealed with a store key and with the bytes of the id as associated data.
  /// A move keeps the old content unless it sets `replacedContent`.
  public var content: [UInt8]
  /// Makes the content from the receipts of the allowances, in the transaction that takes them. Nil if the
  /// content is already made. The function returns nil if it cannot seal the content.
  public var seal: (@Sendable ([AllowanceReceipt]) -> [UInt8]?)?
  public let limits: Limits
  /// The content that a move replaces; nil if it keeps the content.
  public var replacedContent: [UInt8]?
  /// When the installation is asked to confirm; nil if it is not asked. A move sets it again.
  public var confirmAt: Instant?

  public init(intent: CallbackIntent, at: Instant, slot: Int64, content: [UInt8], limits: Limits) {
    self.intent = intent
    self.at = at
    self.slot = slot
    self.content = content
    self.limits = limits
  }
}

/// The result of `book`.
public enum BookingResult: Hashable, Sendable {
  /// The record is there, `scheduled`, and durable.
  case booked
  /// Not saved: the owner already has as many appointments for the number as allowed, or one for the same
  /// time. The id is that of the first one.
  case duplicate(CallbackID)
  /// Not saved: the slot is full.
  case full
  /// Not saved: the first request with this key is still running.
  case inProgress(CallbackID)
  /// Not saved: the installation that books was revoked or replaced.
  case revoked
  /// Not saved: the key was used for something else.
  case mismatch
  /// Not saved: the first request with this key has been answered.
  case replay(StoredCallback)
  /// Not saved: an allowance is exhausted (`RecordCharges.refusal`). Everything else would allow the booking.
  case exhausted
  /// Not saved: the content could not be sealed.
  case unsealed
}

/// The result of `move`.
public enum MoveResult: Hashable, Sendable {
  /// The appointment has the new time.
  case moved(StoredCallback)
  /// Nothing was changed: another appointment of the owner forbids it.
  case duplicate(CallbackID)
  /// Nothing was changed: the slot is full.
  case full
  /// Nothing was changed: the appointment is no longer `scheduled`.
  case tooLate(StoredCallback)
  /// Nothing was changed: another change has replaced the content since it was read.
  case rewritten
  /// There is no such appointment.
  case missing
}

/// How an appointment ends without a call.
public enum AppointmentEnding: Hashable, Sendable {
  /// The owner cancelled the appointment.
  case cancelled
  /// The owner cancelled it in answer to the notice with this serial number. Another answer may have been
  /// faster.
  case declined(serial: Int)
  /// The owner did not answer the question in the notice with this serial number. The appointment ends as
  /// `cancelled`.
  case unanswered(serial: Int)
  /// The installation was revoked, or replaced by another owner's. The appointment ends as `cancelled`.
  case revoked
  /// The time passed before the call could be tried.
  /// - due: The due time when the appointment was read. If it has another due time by now, it was moved, or
  ///   another instance tried it.
  case expired(due: Instant)
  /// The call is not allowed, or could not be made in time. The text is a problem's code.
  /// - due: As for `expired`.
  case failed(String, due: Instant)

  /// Whether this may end an appointment at any time, even before its own. Other endings depend on a clock.
  package var isOwners: Bool {
    switch self {
    case .cancelled, .declined, .revoked: true
    case .unanswered, .expired, .failed: false
    }
  }

  /// The due time on which the decision to end was based, if there was one.
  var due: Instant? {
    switch self {
    case .expired(let due), .failed(_, let due): due
    case .cancelled, .declined, .unanswered, .revoked: nil
    }
  }

  /// The serial number of the notice that was declined or not answered; nil for other endings.
  var serial: Int? {
    switch self {
    case .declined(let serial), .unanswered(let serial): serial
    case .cancelled, .revoked, .expired, .failed: nil
    }
  }
}

/// The result of `end`.
public enum EndResult: Hashable, Sendable {
  /// The appointment has ended now. `content` was its sealed content, which the store has wiped.
  case ended(StoredCallback, content: [UInt8])
  /// Nothing was changed: the appointment was not `scheduled`, or has changed since the end was decided.
  case unchanged(StoredCallback)
  /// There is no such appointment.
  case missing
}

/// A `scheduled` appointment with everything that a process needs to make its call.
public struct DueAppointment: Hashable, Sendable {
  /// Its record, which is `scheduled`.
  public let record: StoredCallback
  /// When the phone is to ring.
  public let at: Instant
  /// The time of the next try: `at`, or later after a failed try.
  public let due: Instant
  /// The number of failed tries.
  public let tries: Int
  /// Why the last try failed: a problem's code.
  public let lastCode: String?
  /// The sealed content of the call; empty if its store key is gone.
  public let content: [UInt8]

  package init(
    record: StoredCallback, at: Instant, due: Instant, tries: Int, lastCode: String?, content: [UInt8]
  ) {
    self.record = record
    self.at = at
    self.due = due
    self.tries = tries
    self.lastCode = lastCode
    self.content = content
  }
}

/// How many appointments there are, for a gauge.
public struct AppointmentCounts: Hashable, Sendable {
  /// Appointments that wait for their time.
  public var scheduled: Int
  /// Appointments whose call is being made.
  public var pending: Int
  /// Scheduled appointments that no instance has taken although they were due.
  public var overdue: Int

  public init(scheduled: Int = 0, pending: Int = 0, overdue: Int = 0) {
    self.scheduled = scheduled
    self.pending = pending
    self.overdue = overdue
  }
}
