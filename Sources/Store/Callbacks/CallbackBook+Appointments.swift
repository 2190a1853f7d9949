// The rules for appointments, without I/O and the same for every store.

package import Gate
import Platform

extension CallbackBook {
  /// The columns of an appointment in addition to those of a callback. Times are nanoseconds since the epoch.
  package struct Appointment: Hashable, Sendable {
    /// The first second of its slot, since the epoch; nil after it has given its place back.
    package var slot: Int64?
    /// The hash of owner and number.
    package let number: StoreID
    /// The time of the next try; nil unless the appointment is `scheduled`.
    package var due: Int64?
    /// The number of failed tries.
    package var tries: Int
    /// Why the last try failed: a problem's code. Nil if no try has failed.
    package var lastCode: String?
    /// The sealed content of the call; nil after the appointment has ended, and if the content was removed
    /// because no store key could open it.
    package var content: SealedCode?
    /// How long the key and the verification code are kept after the appointment has ended.
    package let keyRetention: Duration
    /// How long the record is kept after the appointment has ended.
    package let retention: Duration

    package init(
      slot: Int64?, number: StoreID, due: Int64?, tries: Int, lastCode: String?, content: SealedCode?,
      keyRetention: Duration, retention: Duration
    ) {
      self.slot = slot
      self.number = number
      self.due = due
      self.tries = tries
      self.lastCode = lastCode
      self.content = content
      self.keyRetention = keyRetention
      self.retention = retention
    }

    /// When the record expires if the appointment ends at a time. The record stays at least as long as its
    /// key, which points to it.
    func expires(after end: Int64) -> Int64 { end.adding(max(retention, keyRetention)) }
  }

  // MARK: Booking

  /// The reason to refuse a booking, except for exhausted allowances; nil if there is none.
  func obstacle(to booking: Booking, _ names: BookingNames, at now: Instant) -> BookingResult? {
    let intent = booking.intent
    let time = now.nanosecondsSinceEpoch
    if let installation = intent.installation, !living.contains(installation) { return .revoked }
    switch keyStanding(of: names.callback, at: time) {
    case .free: break
    case .inProgress(let id): return .inProgress(id)
    case .mismatch: return .mismatch
    case .replay(let record): return .replay(record)
    }
    if let first = duplicate(of: names.callback, at: time) { return .duplicate(first) }
    guard rows[intent.id] == nil else { return .duplicate(intent.id) }
    if let first = objection(to: booking, names) { return .duplicate(first) }
    return slots[booking.slot, default: 0] < booking.limits.perSlot ? nil : .full
  }

  mutating func book(
    _ booking: Booking, _ names: BookingNames, instance: Int64, at now: Instant
  ) -> BookingResult {
    let intent = booking.intent
    let time = now.nanosecondsSinceEpoch
    if let obstacle = obstacle(to: booking, names, at: now) { return obstacle }
    let end = intent.deadline.nanosecondsSinceEpoch.adding(CallbackRecovery.grace)
    let keyExpires = end.adding(intent.terms.keyRetention)
    if let name = names.callback.key, let fingerprint = names.callback.fingerprint {
      keys[name] = Key(callback: intent.id, fingerprint: fingerprint, expires: keyExpires)
      changes.keys.insert(name)
    }
    takePlace(names.callback.place, intent, at: time)
    slots[booking.slot, default: 0] += 1
    numbers[names.number, default: []].insert(intent.id)
    let appointment = Appointment(
      slot: booking.slot, number: names.number, due: booking.at.nanosecondsSinceEpoch, tries: 0,
      lastCode: nil,
      content: SealedCode(booking.content, until: Instant(nanosecondsSinceEpoch: end)),
      keyRetention: intent.terms.keyRetention, retention: intent.terms.retention)
    rows[intent.id] = Row(
      record: StoredCallback(
        id: intent.id, callerID: intent.callerID, subject: intent.subject, appID: intent.appID,
        contact: intent.contact.masked, createdAt: now, at: booking.at, settledAt: nil, status: .scheduled,
        code: nil, upstreamStatus: nil, platformTID: nil,
        verificationCode: intent.sealedCode.map {
          SealedCode($0, until: Instant(nanosecondsSinceEpoch: keyExpires))
        },
        notices: CallbackNotices(intent, confirmAt: booking.confirmAt, end: end), ticket: nil,
        origin: CallbackOrigin(intent.installation), alias: intent.alias, outcome: nil,
        consent: intent.consent,
        conversation: intent.conversation?.id),
      key: names.callback.key, place: names.callback.place, instance: instance, abandoned: end,
      expires: appointment.expires(after: end), appointment: appointment, handover: nil)
    changes.rows.insert(intent.id)
    return .booked
  }

  /// The owner's first appointment for the number, if the owner may have no more of them.
  private func objection(to booking: Booking, _ names: BookingNames) -> CallbackID? {
    let others = numbers[names.number, default: []].subtracting([booking.intent.id])
    // Ids begin with their time, so the smallest one is that of the first booking.
    return others.count >= booking.limits.perNumber ? others.min() : nil
  }

  private mutating func takePlace(_ name: StoreID?, _ intent: CallbackIntent, at time: Int64) {
    guard let name else { return }
    places[name] = Place(callback: intent.id, expires: time.adding(intent.terms.dedupeWindow))
    changes.places.insert(name)
  }

  // MARK: Moving

  mutating func move(_ booking: Booking, _ names: BookingNames, at now: Instant) -> MoveResult {
    let id = booking.intent.id
    guard let row = rows[id], var appointment = row.appointment else { return .missing }
    guard row.record.status == .scheduled else { return .tooLate(row.record) }
    let time = now.nanosecondsSinceEpoch
    if let first = duplicate(of: names.callback, at: time), first != id { return .duplicate(first) }
    if let first = objection(to: booking, names) { return .duplicate(first) }
    let taken = slots[booking.slot, default: 0] - (appointment.slot == booking.slot ? 1 : 0)
    guard taken < booking.limits.perSlot else { return .full }
    if let old = booking.replacedContent {
      guard let content = appointment.content, content.sealed == old else { return .rewritten }
      appointment.content = SealedCode(booking.content, until: content.until)
    }

    freePlace(of: row)
    takePlace(names.callback.place, booking.intent, at: time)
    release(appointment.slot)
    slots[booking.slot, default: 0] += 1
    // An appointment that was booked while the server sent no notifications gets notifications now.
    var notices =
      row.record.notices
      ?? booking.intent.notifies.map { CallbackNotices(installation: $0, confirmAt: nil, next: nil) }
    notices?.ask(at: booking.confirmAt)
    return .moved(
      moved(
        row, appointment, to: booking.at, slot: booking.slot, place: names.callback.place,
        deadline: booking.intent.deadline, notices, snoozes: row.record.snoozes))
  }

  /// Replaces the content of an appointment, if it is `scheduled` and still has the one that was read.
  mutating func rewrite(_ id: CallbackID, _ old: [UInt8], _ new: [UInt8]) -> Bool {
    guard let row = rows[id], row.record.status == .scheduled, var appointment = row.appointment,
      let content = appointment.content, content.sealed == old
    else { return false }
    appointment.content = SealedCode(new, until: content.until)
    rows[id] = Row(
      record: row.record, key: row.key, place: row.place, instance: row.instance, abandoned: row.abandoned,
      expires: row.expires, appointment: appointment, handover: nil)
    changes.rows.insert(id)
    return true
  }

  /// Gives an appointment another time, and returns its record.
  mutating func moved(
    _ row: Row, _ appointment: Appointment, to at: Instant, slot: Int64?, place: StoreID?,
    deadline: Instant, _ notices: CallbackNotices?, snoozes: Int
  ) -> StoredCallback {
    let id = row.record.id
    let end = deadline.nanosecondsSinceEpoch.adding(CallbackRecovery.grace)
    let codeUntil = Instant(nanosecondsSinceEpoch: end.adding(appointment.keyRetention))
    var moved = appointment
    moved.slot = slot
    moved.due = at.nanosecondsSinceEpoch
    moved.tries = 0
    moved.lastCode = nil
    moved.content?.until = Instant(nanosecondsSinceEpoch: end)
    var record = row.record
    record.at = at
    record.notices = notices
    record.notices?.last(until: end)
    record.snoozes = snoozes
    record.verificationCode?.until = codeUntil
    if let name = row.key, keys[name]?.callback == id {
      keys[name]?.expires = codeUntil.nanosecondsSinceEpoch
      changes.keys.insert(name)
    }
    rows[id] = Row(
      record: record, key: row.key, place: place, instance: row.instance, abandoned: end,
      expires: moved.expires(after: end), appointment: moved, handover: nil)
    changes.rows.insert(id)
    return record
  }

  /// Gives a place in a slot back.
  mutating func release(_ slot: Int64?) {
    guard let slot, let taken = slots[slot] else { return }
    slots[slot] = taken > 1 ? taken - 1 : nil
  }

  /// Stops counting an appointment for its number.
  mutating func forgetNumber(of row: Row) {
    guard let number = row.appointment?.number else { return }
    numbers[number]?.remove(row.record.id)
    if numbers[number]?.isEmpty == true { numbers[number] = nil }
  }

  // MARK: Making the call

  mutating func mark(
    _ id: CallbackID, for due: Instant, deadline: Instant, _ handover: Handover?, instance: Int64
  ) -> Bool {
    guard let row = rows[id], var appointment = row.appointment, row.record.status == .scheduled,
      appointment.due == due.nanosecondsSinceEpoch
    else { return false }
    appointment.due = nil
    var record = row.record
    record.status = .pending
    rows[id] = Row(
      record: record, key: row.key, place: row.place, instance: instance,
      abandoned: deadline.nanosecondsSinceEpoch.adding(CallbackRecovery.grace), expires: row.expires,
      appointment: appointment, handover: handover)
    changes.rows.insert(id)
    return true
  }

  mutating func postpone(_ id: CallbackID, until due: Instant, code: String?, instance: Int64) -> Bool {
    guard let row = rows[id], var appointment = row.appointment else { return false }
    // There is no mark to remove. The time was set by an earlier commit of this call, by a move, or by
    // another instance's try.
    guard row.record.status != .scheduled else { return true }
    guard row.record.status == .pending, row.instance == instance else { return false }
    appointment.due = due.nanosecondsSinceEpoch
    if let code {
      appointment.tries += 1
      appointment.lastCode = code
    }
    var record = row.record
    record.status = .scheduled
    rows[id] = Row(
      record: record, key: row.key, place: row.place, instance: row.instance, abandoned: row.abandoned,
      expires: row.expires, appointment: appointment, handover: nil)
    changes.rows.insert(id)
    return true
  }

  // MARK: Ending

  mutating func end(_ id: CallbackID, _ ending: AppointmentEnding, at now: Instant) -> EndResult {
    guard let row = rows[id], let appointment = row.appointment else { return .missing }
    guard row.record.status == .scheduled else { return .unchanged(row.record) }
    // The appointment was moved, or another instance tried it.
    if let due = ending.due, appointment.due != due.nanosecondsSinceEpoch { return .unchanged(row.record) }
    // The serial number is greater if a notification was answered or the appointment was moved meanwhile.
    if let serial = ending.serial, row.record.notices?.serial != serial { return .unchanged(row.record) }
    var kept = appointment
    if ending.isOwners {
      release(appointment.slot)
      kept.slot = nil
    }
    freePlace(of: row)
    let ended = row.ended(kept, at: now) { record in
      switch ending {
      case .cancelled, .declined, .unanswered: record.status = .cancelled
      case .revoked:
        record.status = .cancelled
        record.code = Self.revoked
        record.notices?.drop()
      case .expired: record.status = .expired
      case .failed(let code, _):
        record.status = .failed
        record.code = code
      }
    }
    rows[id] = ended
    forgetNumber(of: row)
    changes.rows.insert(id)
    keepKey(of: row, after: now)
    return .ended(ended.record, content: appointment.content?.sealed ?? [])
  }

  /// The code of an appointment that ended because its installation was revoked or replaced.
  private static let revoked = "revoked"

  /// Handles the `scheduled` appointments of an owner whose installation was revoked or replaced: ends those
  /// that the installation made, or moves them, and the notifications that it gets, to the new installation.
  ///
  /// - Parameter ids: The appointments that the installation made or gets notifications of.
  /// - Returns: The appointments that ended.
  package mutating func succeed(
    _ succession: Succession, _ ids: some Sequence<CallbackID>, at now: Instant
  ) -> [StoredCallback] {
    var all: [StoredCallback] = []
    for id in ids.sorted() {
      guard let record = rows[id]?.record, record.status == .scheduled else { continue }
      let isMaker = record.origin == .installation(succession.installation)
      switch succession {
      case .ends:
        guard isMaker, case .ended(let record, _) = end(id, .revoked, at: now) else { continue }
        all.append(record)
      case .passes(let before, let next, _):
        rows[id] = rows[id]?.changed { record in
          if isMaker { record.origin = .installation(next) }
          if record.notices?.installation == before { record.notices?.pass(to: next) }
        }
        changes.rows.insert(id)
      }
    }
    return all
  }

  /// Saves the origin of an appointment. A release without this column saved the origin only in the sealed
  /// content.
  mutating func note(_ origin: CallbackOrigin, of id: CallbackID) -> Bool {
    guard let record = rows[id]?.record, record.origin == .unsaved else { return false }
    rows[id] = rows[id]?.changed { record in
      record.origin = origin
      if let installation = origin.installation, record.notices?.installation.id == installation.id {
        record.notices?.installation = installation
      }
    }
    changes.rows.insert(id)
    return true
  }

  /// Keeps the key of an appointment that has ended for the appointment's `keyRetention`.
  mutating func keepKey(of row: Row, after end: Instant) {
    guard let appointment = row.appointment, let name = row.key, keys[name]?.callback == row.record.id else {
      return
    }
    keys[name]?.expires = end.nanosecondsSinceEpoch.adding(appointment.keyRetention)
    changes.keys.insert(name)
  }
}

extension CallbackBook.Row {
  /// The same row after the appointment has ended at a time. Its content is wiped. The record, the key and
  /// the verification code are kept for the times in the appointment's terms.
  func ended(
    _ appointment: CallbackBook.Appointment, at time: Instant, _ change: (inout StoredCallback) -> Void
  ) -> CallbackBook.Row {
    let end = time.nanosecondsSinceEpoch
    var kept = appointment
    kept.content = nil
    kept.due = nil
    var record = record
    record.settledAt = time
    record.verificationCode?.until = Instant(
      nanosecondsSinceEpoch: end.adding(appointment.keyRetention))
    record.notices?.end(at: time)
    change(&record)
    return CallbackBook.Row(
      record: record, key: key, place: place, instance: instance, abandoned: abandoned,
      expires: kept.expires(after: end), appointment: kept, handover: handover)
  }

  /// The appointment with the data for its call; nil if it is not `scheduled`.
  package var dueAppointment: DueAppointment? {
    guard record.status == .scheduled, let appointment, let at = record.at, let due = appointment.due else {
      return nil
    }
    return DueAppointment(
      record: record, at: at, due: Instant(nanosecondsSinceEpoch: due), tries: appointment.tries,
      lastCode: appointment.lastCode, content: appointment.content?.sealed ?? [])
  }
}
