// The rules for push notifications about callbacks, without I/O and the same for every store.

import Gate
import JOSE

extension CallbackBook {
  mutating func takeNotice(
    _ notice: DueNotice, id: SHA256Digest, until lease: Instant, at now: Instant
  ) -> Bool {
    guard var notices = standing(of: notice), notices.next == notice.due,
      rows[notice.record.id]?.record.noticeAction == notice.action
    else { return false }
    notices.next = lease
    set(notices, of: notice.record.id)
    changes.notices.append(
      StoredNotice(
        id: id, callback: notice.record.id, installation: notice.installation, action: notice.action,
        serial: notice.serial, created: now))
    return true
  }

  mutating func settleNotice(_ notice: DueNotice, _ outcome: NoticeOutcome) -> Bool {
    guard var notices = standing(of: notice) else { return false }
    switch outcome {
    case .taken: notices.settle(.taken, isLast: !notice.action.asks)
    case .again(let time, let tries): (notices.next, notices.tries) = (time, tries)
    case .dropped: notices.settle(.dropped, isLast: !notice.action.asks)
    }
    set(notices, of: notice.record.id)
    return true
  }

  mutating func told(_ id: CallbackID) -> Bool {
    guard let record = rows[id]?.record, record.waitsToBeTold, var notices = record.notices else {
      return false
    }
    notices.tell()
    set(notices, of: id)
    return true
  }

  /// The notifications of a record, if the record still waits for this notification. A question may also be
  /// settled while the call is being made.
  private func standing(of notice: DueNotice) -> CallbackNotices? {
    guard let record = rows[notice.record.id]?.record, let notices = record.notices,
      notices.state == .waiting, notices.serial == notice.serial,
      notices.installation.generation == 0 || notices.installation == notice.installation,
      record.status.isFinal ? record.noticeAction == notice.action : notice.action.asks
    else { return nil }
    return notices
  }

  private mutating func set(_ notices: CallbackNotices, of id: CallbackID) {
    rows[id] = rows[id]?.changed { $0.notices = notices }
    changes.rows.insert(id)
  }

  mutating func reschedule(_ change: Rescheduling, at now: Instant) -> ReschedulingResult {
    guard let row = rows[change.id], let appointment = row.appointment else { return .missing }
    var notices = row.record.notices
    // The serial number shows whether the time has changed, but only an appointment with notifications has
    // one.
    guard row.record.status == .scheduled, notices?.serial ?? 0 == change.serial,
      row.record.at == change.from, change.mostSnoozes.map({ row.record.snoozes < $0 }) ?? true
    else { return .tooLate(row.record) }
    // A call that is postponed or made now takes no place in the slot of its new time.
    let isMoved = change.at != row.record.at
    if isMoved {
      freePlace(of: row)
      release(appointment.slot)
    }
    notices?.ask(at: change.confirmAt)
    let moved = moved(
      row, appointment, to: change.at, slot: isMoved ? nil : appointment.slot,
      place: isMoved ? nil : row.place, deadline: change.deadline, notices,
      snoozes: row.record.snoozes + (change.mostSnoozes == nil ? 0 : 1))
    return .rescheduled(moved)
  }
}
