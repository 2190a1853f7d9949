// The rules for callback records, without I/O and the same for every store.

package import Gate
import Platform

/// The keys, dedupe entries and records of callbacks that a transaction has read, and all changes to them.
///
/// A store reads the rows of a transaction into a book, runs the jobs on the book, and writes its changes.
package struct CallbackBook: Sendable {
  /// The record of a request's key (`CallbackIntent.Key`).
  package struct Key: Hashable, Sendable {
    package let callback: CallbackID
    package let fingerprint: StoreID
    /// The fields of the callback that Talkdesk refused.
    package var refusedFields: [String] = []
    /// When the key expires, in nanoseconds since the epoch.
    package var expires: Int64

    package init(
      callback: CallbackID, fingerprint: StoreID, refusedFields: [String] = [], expires: Int64
    ) {
      self.callback = callback
      self.fingerprint = fingerprint
      self.refusedFields = refusedFields
      self.expires = expires
    }
  }

  /// A dedupe entry. It names the callback of which an equal request would be a duplicate.
  package struct Place: Hashable, Sendable {
    package let callback: CallbackID
    package let expires: Int64

    package init(callback: CallbackID, expires: Int64) {
      self.callback = callback
      self.expires = expires
    }
  }

  /// A record with the names of its key and dedupe entry. A class, so that the unused slots of a hash table
  /// stay small.
  package final class Row: Sendable {
    package let record: StoredCallback
    package let key: StoreID?
    package let place: StoreID?
    /// The number of the process that settles the record.
    package let instance: Int64
    /// When the record counts as abandoned: `CallbackRecovery.grace` after its deadline.
    package let abandoned: Int64
    package let expires: Int64
    /// The additional columns of an appointment.
    package let appointment: Appointment?
    /// The hand-over to Talkdesk; nil for a ticket, for an appointment before its call, and if an earlier
    /// release did not save the numbers.
    package let handover: Handover?

    package init(
      record: StoredCallback, key: StoreID?, place: StoreID?, instance: Int64, abandoned: Int64,
      expires: Int64, appointment: Appointment?, handover: Handover?
    ) {
      self.record = record
      self.key = key
      self.place = place
      self.instance = instance
      self.abandoned = abandoned
      self.expires = expires
      self.appointment = appointment
      self.handover = handover
    }

    /// The same row after the callback has ended at a time. The retention of its verification code starts
    /// again at that time, with the same length.
    func ended(at time: Instant, _ change: (inout StoredCallback) -> Void) -> Row {
      if let appointment { return ended(appointment, at: time, change) }
      return changed { record in
        if let code = record.verificationCode {
          let end = record.settledAt?.nanosecondsSinceEpoch ?? abandoned
          record.verificationCode?.until = Instant(
            nanosecondsSinceEpoch: time.nanosecondsSinceEpoch.adding(
              .nanoseconds(code.until.nanosecondsSinceEpoch.subtractingClamped(end))))
        }
        record.settledAt = time
        record.notices?.end(at: time)
        change(&record)
      }
    }

    /// The same row with a changed record.
    func changed(_ change: (inout StoredCallback) -> Void) -> Row {
      var record = record
      change(&record)
      return Row(
        record: record, key: key, place: place, instance: instance, abandoned: abandoned, expires: expires,
        appointment: appointment, handover: handover)
    }
  }

  /// The hand-over of a callback to Talkdesk.
  package struct Handover: Hashable, Sendable {
    /// The hash of both numbers.
    package let numbers: StoreID
    package let time: Instant

    package init(numbers: StoreID, time: Instant) {
      self.numbers = numbers
      self.time = time
    }
  }

  /// The names of the rows that differ from those that were read.
  package struct Changes: Sendable {
    package var keys: Set<StoreID> = []
    package var places: Set<StoreID> = []
    package var rows: Set<CallbackID> = []
    /// Notifications that an instance has begun to send. Each is saved only once, and its record is among
    /// `rows`.
    package var notices: [StoredNotice] = []

    package var isEmpty: Bool { keys.isEmpty && places.isEmpty && rows.isEmpty }
  }

  package internal(set) var keys: [StoreID: Key] = [:]
  package internal(set) var places: [StoreID: Place] = [:]
  package internal(set) var rows: [CallbackID: Row] = [:]
  /// The number of taken places in each slot, by the slot's first second. Only the slots of bookings are
  /// read.
  package internal(set) var slots: [Int64: Int] = [:]
  /// The appointments for each number that have not ended. Only the numbers of bookings are read.
  package internal(set) var numbers: [StoreID: Set<CallbackID>] = [:]
  /// Those of the booking installations that are still active.
  package var living: Set<InstallationIdentity> = []
  /// The names of the rows to write or remove.
  package internal(set) var changes = Changes()

  package init() {}

  // MARK: Reading

  package mutating func add(_ row: Row) { rows[row.record.id] = row }

  /// Adds a dedupe entry of an older release and the record that it names, unless the transaction has already
  /// read them.
  package mutating func add(former name: StoreID, _ place: Place, _ row: Row) {
    if places[name] == nil { places[name] = place }
    if rows[place.callback] == nil { rows[place.callback] = row }
  }

  package mutating func add(slot: Int64, taken: Int) { slots[slot] = taken }
  package mutating func add(number: StoreID, _ ids: Set<CallbackID>) { numbers[number] = ids }

  /// Removes a dedupe entry that was read.
  package mutating func forget(place: StoreID) { places[place] = nil }

  package func standing(of names: CallbackNames, at now: Instant) -> CallbackStanding {
    CallbackStanding(
      key: keyStanding(of: names, at: now.nanosecondsSinceEpoch),
      duplicate: duplicate(of: names, at: now.nanosecondsSinceEpoch))
  }

  func keyStanding(of names: CallbackNames, at now: Int64) -> KeyStanding {
    guard let name = names.key, let key = keys[name], let row = rows[key.callback] else { return .free }
    if let span = names.repeats { return row.record.standing(repeatedFor: span, at: now) }
    // Even if the key has expired: while the first request may still run, do not start a second.
    guard now < key.expires || !row.record.status.isFinal else { return .free }
    guard key.fingerprint == names.fingerprint else { return .mismatch }
    // A booking is answered as soon as it is saved.
    guard row.record.status != .pending || row.record.at != nil else { return .inProgress(row.record.id) }
    var record = row.record
    record.refusedFields = key.refusedFields
    return .replay(record)
  }

  func duplicate(of names: CallbackNames, at now: Int64) -> CallbackID? {
    if let name = names.place, let place = places[name], now < place.expires { return place.callback }
    guard let former = names.former, let place = places[former.name], now < place.expires,
      let subject = rows[place.callback]?.record.subject,
      subject.utf8.elementsEqual((former.subject ?? "").utf8)
    else { return nil }
    return place.callback
  }

  // MARK: Work

  /// The reason why a callback cannot begin, except for exhausted allowances; nil if there is none.
  func obstacle(to intent: CallbackIntent, _ names: CallbackNames, at now: Instant) -> CallbackBeginning? {
    let time = now.nanosecondsSinceEpoch
    switch keyStanding(of: names, at: time) {
    case .free: break
    case .inProgress(let id): return .inProgress(id)
    case .mismatch: return .mismatch
    case .replay(let record): return .replay(record)
    }
    if let first = duplicate(of: names, at: time) { return .duplicate(first) }
    // Ids are unique, so a record with this id is the same callback's.
    return rows[intent.id] == nil ? nil : .duplicate(intent.id)
  }

  mutating func begin(
    _ intent: CallbackIntent, _ names: CallbackNames, instance: Int64, at now: Instant
  ) -> CallbackBeginning {
    let time = now.nanosecondsSinceEpoch
    if let obstacle = obstacle(to: intent, names, at: now) { return obstacle }
    let abandoned = intent.deadline.nanosecondsSinceEpoch.adding(CallbackRecovery.grace)
    let keyExpires = max(time.adding(intent.terms.keyRetention), abandoned)
    let placeExpires = time.adding(intent.terms.dedupeWindow)
    let code = intent.sealedCode.map {
      SealedCode(
        $0, until: Instant(nanosecondsSinceEpoch: abandoned.adding(intent.terms.keyRetention)))
    }
    if let name = names.key, let fingerprint = names.fingerprint {
      keys[name] = Key(callback: intent.id, fingerprint: fingerprint, expires: keyExpires)
      changes.keys.insert(name)
    }
    if let name = names.place {
      places[name] = Place(callback: intent.id, expires: placeExpires)
      changes.places.insert(name)
    }
    rows[intent.id] = Row(
      record: StoredCallback(
        id: intent.id, callerID: intent.callerID, subject: intent.subject, appID: intent.appID,
        contact: intent.maskedContact, createdAt: now, at: nil, settledAt: nil, status: .pending, code: nil,
        upstreamStatus: nil, platformTID: nil, verificationCode: code,
        notices: CallbackNotices(intent, confirmAt: nil, end: abandoned),
        ticket: intent.isTicket ? StoredTicket() : nil, origin: CallbackOrigin(intent.installation),
        alias: intent.alias, outcome: nil, consent: intent.consent,
        conversation: intent.conversation?.id),
      key: names.key, place: names.place, instance: instance, abandoned: abandoned,
      // The record lasts at least as long as its key, its dedupe entry (both point to it) and its code.
      expires: max(
        time.adding(intent.terms.retention), abandoned, names.key == nil ? .min : keyExpires, placeExpires,
        code?.until.nanosecondsSinceEpoch ?? .min),
      appointment: nil, handover: names.numbers.map { Handover(numbers: $0, time: now) })
    changes.rows.insert(intent.id)
    return .begun
  }

  /// Whether a settlement changes its record. The same settlement never changes it twice.
  func settles(_ id: CallbackID, _ settlement: CallbackSettlement) -> Bool {
    guard let record = rows[id]?.record else { return false }
    return record.status == .pending || isRecovered(record, before: settlement)
  }

  /// Whether recovery has ended the record before this settlement. If the times are equal, it was not
  /// recovery: the settlement is a retry and finds the commit of its first try.
  private func isRecovered(_ record: StoredCallback, before settlement: CallbackSettlement) -> Bool {
    record.isRecovered && record.settledAt != settlement.time
  }

  mutating func settle(_ id: CallbackID, _ settlement: CallbackSettlement) -> StoredCallback? {
    guard let row = rows[id] else { return nil }
    let wasRecovered = isRecovered(row.record, before: settlement)
    guard settles(id, settlement) else {
      // The first commit was in doubt, and the app has read the outcome since.
      if settlement.isTold, row.record.settledAt == settlement.time { _ = told(id) }
      return rows[id]?.record
    }
    let settled = row.ended(at: settlement.time) { record in
      record.status = StoredCallback.Status(settlement.outcome)
      record.code = settlement.code
      record.upstreamStatus = settlement.upstreamStatus
      record.platformTID = settlement.platformTID
      record.ticket = settlement.ticket ?? record.ticket
      // An outcome that was set while the record was `unknown` after a recovery belongs to another call.
      if settlement.outcome == .failed { record.outcome = nil }
      // The app may have read the status that recovery wrote, so it gets a notification of the correction.
      if wasRecovered { record.notices?.correct() } else if settlement.isTold { record.notices?.tell() }
    }
    rows[id] = settled
    changes.rows.insert(id)
    if let name = row.key, keys[name]?.callback == id {
      // A retry of a booking gets the booking's response, also after the call.
      if settlement.keepsKey || row.appointment != nil {
        keys[name]?.refusedFields = settlement.refusedFields
        if let appointment = row.appointment {
          keys[name]?.expires = settlement.time.nanosecondsSinceEpoch.adding(appointment.keyRetention)
        } else if let retention = settlement.keyRetention {
          keys[name]?.expires = row.record.createdAt.nanosecondsSinceEpoch.adding(retention)
        }
      } else {
        keys[name] = nil
      }
      changes.keys.insert(name)
    }
    if settlement.outcome == .failed { freePlace(of: row) }
    forgetNumber(of: row)
    var record = settled.record
    record.wasRecovered = wasRecovered
    return record
  }

  mutating func withdraw(_ id: CallbackID) -> Bool {
    guard let row = rows[id] else { return false }
    // An appointment is not withdrawn: any instance may have confirmed or moved it.
    guard row.appointment == nil, row.record.status == .pending || row.record.isRecovered else {
      return false
    }
    rows[id] = nil
    changes.rows.insert(id)
    if let name = row.key, keys[name]?.callback == id {
      keys[name] = nil
      changes.keys.insert(name)
    }
    freePlace(of: row)
    return true
  }

  mutating func freePlace(of row: Row) {
    guard let name = row.place, places[name]?.callback == row.record.id else { return }
    places[name] = nil
    changes.places.insert(name)
  }

  /// Makes a pending record `unknown`, and counts it in `recovered`.
  /// - Returns: Whether the record was pending.
  @discardableResult
  package mutating func abandon(
    _ id: CallbackID, at now: Instant, countingIn recovered: inout RecoveredRecords
  ) -> Bool {
    guard let row = rows[id], row.record.status == .pending else { return false }
    recovered.add(row.record)
    rows[id] = row.ended(at: now) { record in
      record.status = .unknown
      record.code = CallbackRecovery.code
    }
    keepKey(of: row, after: now)
    forgetNumber(of: row)
    changes.rows.insert(id)
    return true
  }
}

extension Int64 {
  /// This time in nanoseconds plus a span, or the last possible time.
  func adding(_ span: Duration) -> Int64 {
    addingClamped(span.nanosecondsClamped)
  }
}

extension Instant {
  /// A time in nanoseconds since the epoch.
  package init(nanosecondsSinceEpoch time: Int64) {
    let seconds = time >= 0 ? time / 1_000_000_000 : (time + 1) / 1_000_000_000 - 1
    self.init(seconds: seconds, nanoseconds: Int32(time &- seconds &* 1_000_000_000))
  }
}
