// A booking of a callback for a later time, and the results of booking, moving and ending an appointment.

public import Gate

/// A callback to book for a time: its intent, its slot, and the sealed content of its call.
public struct Booking: Sendable {
  /// The limits, which count the appointments of all instances together.
  public struct Limits: Hashable, Sendable {
    /// The maximum number of appointments in one slot.
    public let perSlot: Int
    /// The maximum number of appointments that an owner may have for one number.
    public let perNumber: Int

    public init(perSlot: Int, perNumber: Int) {
      self.perSlot = perSlot
      self.perNumber = perNumber
    }
  }

  /// The intent of the callback. Its `deadline` is the latest end of the appointment if nothing fails.
  public let intent: CallbackIntent
  /// The booked time of the call, to the second.
  public let at: Instant
  /// The first second of its slot, since the epoch. All appointments in a slot share the slot's places.
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
  /// When the installation is asked to confirm; nil if it is not asked. Each move sets this time again.
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
  /// The record is saved as `scheduled`, and durable.
  case booked
  /// Not saved: the owner already has the maximum number of appointments for the number, or one for the same
  /// time. The id is that of the first one. If this booking was saved before, the id is its own.
  case duplicate(CallbackID)
  /// Not saved: the slot is full.
  case full
  /// Not saved: the first request with this key is still running.
  case inProgress(CallbackID)
  /// Not saved: the installation that requests the booking was revoked or replaced.
  case revoked
  /// Not saved: the key was used for another request.
  case mismatch
  /// Not saved: the first request with this key has a record, which answers retries (`KeyStanding.replay`).
  case replay(StoredCallback)
  /// Not saved: an allowance is exhausted (`RecordCharges.refusal`). There is no other obstacle.
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
  /// Nothing was changed: the appointment's content was replaced after the caller had read it.
  case rewritten
  /// There is no such appointment.
  case missing
}

/// How an appointment ends without a call.
public enum AppointmentEnding: Hashable, Sendable {
  /// The owner canceled the appointment.
  case cancelled
  /// The owner canceled the appointment in answer to the notification with this serial number. This has no
  /// effect if another answer was faster.
  case declined(serial: Int)
  /// The owner did not answer the question in the notification with this serial number. The appointment ends
  /// as `cancelled`.
  case unanswered(serial: Int)
  /// The installation was revoked, or replaced by one of another owner or app. The appointment ends as
  /// `cancelled`.
  case revoked
  /// The appointment's time passed before the call could be tried.
  /// - due: The due time when the appointment was read. If it has another due time by now, it was moved, or
  ///   another instance tried it.
  case expired(due: Instant)
  /// The call is not allowed or could not be made in time, or the appointment's content is damaged. The text
  /// is a problem's code.
  /// - due: As in `expired`.
  case failed(String, due: Instant)

  /// Whether the owner or a revocation ends the appointment, so that no clock matters. For the other endings,
  /// this machine's clock must be right.
  package var isOwners: Bool {
    switch self {
    case .cancelled, .declined, .revoked: true
    case .unanswered, .expired, .failed: false
    }
  }

  /// The due time on which the decision to end was based; nil for other endings.
  var due: Instant? {
    switch self {
    case .expired(let due), .failed(_, let due): due
    case .cancelled, .declined, .unanswered, .revoked: nil
    }
  }

  /// The serial number of the notification that was declined or not answered; nil for other endings.
  var serial: Int? {
    switch self {
    case .declined(let serial), .unanswered(let serial): serial
    case .cancelled, .revoked, .expired, .failed: nil
    }
  }
}

/// The result of `end`.
public enum EndResult: Hashable, Sendable {
  /// The appointment has ended now. `content` is the sealed content that it had, which the store has wiped;
  /// empty if the content was removed before, because no store key could open it.
  case ended(StoredCallback, content: [UInt8])
  /// Nothing was changed: the appointment was not `scheduled`, or has another due time or serial number.
  case unchanged(StoredCallback)
  /// There is no such appointment.
  case missing
}

/// A `scheduled` appointment with everything that a process needs to make its call.
public struct DueAppointment: Hashable, Sendable {
  public let record: StoredCallback
  /// The booked time of the call.
  public let at: Instant
  /// The time of the next try: `at`, or later after a failed try.
  public let due: Instant
  /// The number of failed tries.
  public let tries: Int
  /// Why the last try failed: a problem's code; nil if no try has failed.
  public let lastCode: String?
  /// The sealed content of the call; empty if it was removed because no store key could open it.
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

/// The number of appointments in each state, for a gauge.
public struct AppointmentCounts: Hashable, Sendable {
  /// Appointments that wait for their time.
  public var scheduled: Int
  /// Appointments whose call is being made.
  public var pending: Int
  /// Scheduled appointments whose due time has passed. They are counted in `scheduled`, too.
  public var overdue: Int

  public init(scheduled: Int = 0, pending: Int = 0, overdue: Int = 0) {
    self.scheduled = scheduled
    self.pending = pending
    self.overdue = overdue
  }
}
