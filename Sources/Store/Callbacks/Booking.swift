// A callback for a later time that a caller wants to book, and the results of booking, moving and ending it.

public import Gate

/// A callback at a time: its intent, its slot, and the sealed content of its call.
public struct Booking: Sendable {
  /// The bounds that hold for all instances.
  public struct Limits: Hashable, Sendable {
    /// How many appointments may begin in one slot.
    public let perSlot: Int
    /// How many an owner may have for one number.
    public let perNumber: Int

    /// Limits.
    public init(perSlot: Int, perNumber: Int) {
      self.perSlot = perSlot
      self.perNumber = perNumber
    }
  }

  /// The record to be. Its `deadline` is when the appointment is over at the latest, as long as all is well.
  public let intent: CallbackIntent
  /// When the phone is to ring, to the second.
  public let at: Instant
  /// The first second of its slot, since the epoch. All appointments with the same one share its places.
  public let slot: Int64
  /// Everything that the call needs, sealed with a store key, with the bytes of the id associated. A move leaves it as it is
  /// unless it says otherwise.
  public var content: [UInt8]
  /// Makes the content with what was taken from allowances, in the transaction that takes it; nil where the content is made already. It
  /// returns nil where it cannot seal the content.
  public var seal: (@Sendable ([AllowanceReceipt]) -> [UInt8]?)?
  /// The bounds.
  public let limits: Limits
  /// The content that a move replaces; nil where it leaves the content.
  public var replacedContent: [UInt8]?
  /// When the installation is asked to confirm; nil where it is not asked. A move sets it again.
  public var confirmAt: Instant?

  /// A booking.
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
  /// Nothing was kept: the owner has as many appointments for the number as it may have, or one for the same time. The first of
  /// them.
  case duplicate(CallbackID)
  /// Nothing was kept: the slot is full.
  case full
  /// Nothing was kept: the first request with this key is still running.
  case inProgress(CallbackID)
  /// Nothing was kept: the installation that books was revoked or replaced.
  case revoked
  /// Nothing was kept: the key was used for something else.
  case mismatch
  /// Nothing was kept: the first request with this key has been answered.
  case replay(StoredCallback)
  /// Nothing was kept: of an allowance nothing is left (`RecordCharges.refusal`). Everything else would allow it.
  case exhausted
  /// Nothing was kept: the content could not be sealed.
  case unsealed
}

/// The result of `move`.
public enum MoveResult: Hashable, Sendable {
  /// It has the new time.
  case moved(StoredCallback)
  /// Nothing was changed: another appointment of the owner forbids it.
  case duplicate(CallbackID)
  /// Nothing was changed: the slot is full.
  case full
  /// Nothing was changed: it is not `scheduled` any more.
  case tooLate(StoredCallback)
  /// Nothing was changed: another change has replaced the content since it was read.
  case rewritten
  /// There is no such appointment.
  case missing
}

/// How an appointment ends without a call.
public enum AppointmentEnding: Hashable, Sendable {
  /// Its owner does not want it any more.
  case cancelled
  /// The same, as the answer to the notice with this serial number. Another answer may have been faster.
  case declined(serial: Int)
  /// Its owner was asked by the notice with this serial number and has not answered. It ends as `cancelled`.
  case unanswered(serial: Int)
  /// Its installation was revoked, or replaced by another owner's. It ends as `cancelled`.
  case revoked
  /// Its time passed before it could be tried.
  /// - due: The due time when it was read. If it has another one by now, it was moved, or another instance tried it.
  case expired(due: Instant)
  /// It may not be made, or could not be in time: a problem's code.
  /// - due: As for `expired`.
  case failed(String, due: Instant)

  /// Whether it ends at any time, also before its own. Anything else is judged by a clock.
  package var isOwners: Bool {
    switch self {
    case .cancelled, .declined, .revoked: true
    case .unanswered, .expired, .failed: false
    }
  }

  /// The due time that it was judged for, if it was judged for one.
  var due: Instant? {
    switch self {
    case .expired(let due), .failed(_, let due): due
    case .cancelled, .declined, .unanswered, .revoked: nil
    }
  }

  /// The serial number of the notice that it is about, if it is about one.
  var serial: Int? {
    switch self {
    case .declined(let serial), .unanswered(let serial): serial
    case .cancelled, .revoked, .expired, .failed: nil
    }
  }
}

/// The result of `end`.
public enum EndResult: Hashable, Sendable {
  /// It has ended now, and this was its sealed content, which the store has wiped.
  case ended(StoredCallback, content: [UInt8])
  /// Nothing was changed: it was not `scheduled`, or it is no longer what the end was judged for.
  case unchanged(StoredCallback)
  /// There is no such appointment.
  case missing
}

/// An appointment whose time has come.
public struct DueAppointment: Hashable, Sendable {
  /// Its record, which is `scheduled`.
  public let record: StoredCallback
  /// When the phone is to ring.
  public let at: Instant
  /// The time of its next try: `at`, or later after a failed try.
  public let due: Instant
  /// The number of failed tries.
  public let tries: Int
  /// Why the last one was: a problem's code.
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
  /// Those that wait for their time.
  public var scheduled: Int
  /// Those that are being carried out.
  public var pending: Int
  /// Those of the scheduled ones that no instance has taken although they were due.
  public var overdue: Int

  /// Counts.
  public init(scheduled: Int = 0, pending: Int = 0, overdue: Int = 0) {
    self.scheduled = scheduled
    self.pending = pending
    self.overdue = overdue
  }
}
