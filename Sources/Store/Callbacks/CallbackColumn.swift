// The table of callback records.

import Gate
import JOSE
import Platform

/// The columns of a callback record. In a record without an appointment, notifications, a ticket or another
/// API's names, the columns for these are NULL.
package enum CallbackColumn: Int, TableColumn {
  case id, caller, subject, app, contact, created, settled, status, code, upstreamStatus, platformTid
  case key, place, instance, abandoned, expires
  case verificationCode, verificationKey, verificationUntil
  case at, slot, number, due, tries, lastCode, content, contentKey, contentUntil, keyRetention, retention
  case notifies, confirmAt, noticeSerial, noticeState, noticeNext, noticeTries, snoozes, notifiesGeneration
  case ticket
  case installation, generation
  case alias, aliasNumber, aliasService
  case numbers, handedOver, outcome
  case device, deviceKey, deviceUntil, devicePlatform
  case consent, conversation

  package static let table = Table<CallbackColumn>("callgate_callback")

  package var column: ColumnDescription<CallbackBook.Row> {
    switch self {
    case .id: .id(.never) { $0.record.id.id }
    case .caller: .text(.never) { $0.record.callerID }
    case .subject: .text(.never) { $0.record.subject }
    case .app: .text(.never) { $0.record.appID }
    case .contact: .text(.never) { $0.record.contact }
    case .created: .time(.never) { $0.record.createdAt }
    case .settled: .time(.changes) { $0.record.settledAt }
    case .status: .text(.changes) { $0.record.status.rawValue }
    case .code: .text(.changes) { $0.record.code }
    case .upstreamStatus: .small(.changes) { $0.record.upstreamStatus }
    case .platformTid: .words(.changes) { $0.record.platformTID }
    case .key: .id(.never) { $0.key }
    case .place: .id(.changes) { $0.place }
    case .instance: .integer(.changes) { $0.instance }
    case .abandoned: .integer(.changes) { $0.abandoned }
    case .expires: .integer(.changes) { $0.expires }
    case .verificationCode: .bytes(.never) { $0.record.verificationCode?.sealed }
    case .verificationKey: .bytes(.never) { $0.record.verificationCode?.key }
    case .verificationUntil: .time(.changes) { $0.record.verificationCode?.until }
    case .at: .time(.changes) { $0.record.at }
    case .slot: .integer(.changes) { $0.appointment?.slot }
    case .number: .id(.never) { $0.appointment?.number }
    case .due: .integer(.changes) { $0.appointment?.due }
    case .tries: .small(.changes) { $0.appointment?.tries }
    case .lastCode: .text(.changes) { $0.appointment?.lastCode }
    case .content: .bytes(.changes) { $0.appointment?.content?.sealed }
    case .contentKey: .bytes(.changes) { $0.appointment?.content?.key }
    case .contentUntil: .time(.changes) { $0.appointment?.content?.until }
    case .keyRetention: .integer(.never) { $0.appointment?.keyRetention.nanosecondsClamped }
    case .retention: .integer(.never) { $0.appointment?.retention.nanosecondsClamped }
    case .notifies: .id(.changes) { $0.record.notices?.installation.id.id }
    case .confirmAt: .time(.changes) { $0.record.notices?.confirmAt }
    case .noticeSerial: .integer(.changes) { $0.record.notices.map { Int64($0.serial) } }
    case .noticeState: .text(.changes) { $0.record.notices?.state.rawValue }
    case .noticeNext: .time(.changes) { $0.record.notices?.next }
    case .noticeTries: .integer(.changes) { $0.record.notices.map { Int64($0.tries) } }
    case .snoozes: .integer(.changes) { $0.record.snoozes > 0 ? Int64($0.record.snoozes) : nil }
    case .notifiesGeneration: .integer(.changes) { $0.record.notices?.installation.column }
    case .ticket: .text(.changes) { $0.record.ticket?.stored }
    case .installation: .id(.changes) { $0.record.origin.installation?.id.id }
    case .generation: .integer(.changes) { $0.record.origin.column }
    case .alias: .bytes(.never) { $0.record.alias?.name.bytes }
    case .aliasNumber: .bytes(.never) { $0.record.alias?.number.bytes }
    case .aliasService: .text(.never) { $0.record.alias?.service }
    case .numbers: .id(.changes) { $0.handover?.numbers }
    case .handedOver: .time(.changes) { $0.handover?.time }
    case .outcome: .text(.changes) { $0.record.outcome?.stored }
    case .device: .bytes(.changes) { $0.record.notices?.device?.token.sealed }
    case .deviceKey: .bytes(.changes) { $0.record.notices?.device?.token.key }
    case .deviceUntil: .time(.changes) { $0.record.notices?.device?.token.until }
    case .devicePlatform: .text(.changes) { $0.record.notices?.device?.platform }
    case .consent: .text(.never) { $0.record.consent?.stored }
    case .conversation: .id(.never) { $0.record.conversation }
    }
  }
}

extension CallbackBook.Row: TableEntry {
  package convenience init(_ row: TableRow<CallbackColumn>) throws(UnreadableValue) {
    self.init(
      record: StoredCallback(
        id: CallbackID(try row.id(.id)), callerID: try row.text(.caller),
        subject: try row.optionalText(.subject), appID: try row.optionalText(.app),
        contact: try row.text(.contact), createdAt: try row.time(.created), at: try row.optionalTime(.at),
        settledAt: try row.optionalTime(.settled), status: try row.word(.status),
        code: try row.optionalText(.code),
        upstreamStatus: try row.optionalInteger(.upstreamStatus).map { Int($0) },
        platformTID: try row.optionalText(.platformTid),
        verificationCode: try row.sealed(.verificationCode, until: .verificationUntil),
        notices: try CallbackNotices(row), snoozes: Int(try row.count(.snoozes)),
        ticket: try row.optionalText(.ticket).map(StoredTicket.init(stored:)),
        origin: CallbackOrigin(
          try row.optionalID(.installation), column: try row.optionalInteger(.generation)),
        alias: CallbackAlias(
          try row.optionalDigest(.alias), try row.optionalDigest(.aliasNumber),
          try row.optionalText(.aliasService)),
        outcome: try row.outcome(), consent: try row.consent(),
        conversation: try row.optionalID(.conversation)),
      key: try row.optionalID(.key), place: try row.optionalID(.place), instance: try row.integer(.instance),
      abandoned: try row.integer(.abandoned), expires: try row.integer(.expires),
      appointment: try CallbackBook.Appointment(row), handover: try row.handover())
  }
}

extension TableRow<CallbackColumn> {
  fileprivate func handover() throws(UnreadableValue) -> CallbackBook.Handover? {
    guard let numbers = try optionalID(.numbers) else { return nil }
    return CallbackBook.Handover(numbers: numbers, time: try time(.handedOver))
  }

  fileprivate func consent() throws(UnreadableValue) -> StoredConsent? {
    guard let text = try optionalText(.consent) else { return nil }
    guard let consent = StoredConsent(stored: text) else {
      throw UnreadableValue(column: CallbackColumn.consent.rawValue)
    }
    return consent
  }

  fileprivate func outcome() throws(UnreadableValue) -> CallOutcome? {
    guard let text = try optionalText(.outcome) else { return nil }
    guard let outcome = CallOutcome(stored: text) else {
      throw UnreadableValue(column: CallbackColumn.outcome.rawValue)
    }
    return outcome
  }

  /// A sealed value. The value itself names the key that sealed it. The column with that key is for queries.
  fileprivate func sealed(
    _ value: CallbackColumn, until end: CallbackColumn
  ) throws(UnreadableValue) -> SealedCode? {
    guard let sealed = try optionalBytes(value) else { return nil }
    return SealedCode(sealed, until: try time(end))
  }
}

extension CallbackBook.Appointment {
  /// Nil for an immediate callback.
  fileprivate init?(_ row: TableRow<CallbackColumn>) throws(UnreadableValue) {
    guard let number = try row.optionalID(.number) else { return nil }
    self.init(
      slot: try row.optionalInteger(.slot), number: number, due: try row.optionalInteger(.due),
      tries: Int(try row.count(.tries)), lastCode: try row.optionalText(.lastCode),
      content: try row.sealed(.content, until: .contentUntil),
      keyRetention: .nanoseconds(try row.integer(.keyRetention)),
      retention: .nanoseconds(try row.integer(.retention)))
  }
}

extension CallbackNotices {
  /// Nil for a callback without notifications.
  fileprivate init?(_ row: TableRow<CallbackColumn>) throws(UnreadableValue) {
    // Read the state even without an installation: an unreadable state must be an error, because a later
    // write would otherwise replace it with NULL.
    let state: State? = try row.optionalWord(.noticeState)
    guard let installation = try row.optionalID(.notifies), let state else { return nil }
    self.init(
      installation: InstallationIdentity(
        installation, column: try row.optionalInteger(.notifiesGeneration)),
      device: try GivenDevice(row), confirmAt: try row.optionalTime(.confirmAt),
      serial: Int(try row.count(.noticeSerial, absent: 1)), state: state,
      next: try row.optionalTime(.noticeNext), tries: Int(try row.count(.noticeTries)))
  }
}

extension GivenDevice {
  /// Nil if the callback's request named no device, or if the device has been deleted since.
  fileprivate init?(_ row: TableRow<CallbackColumn>) throws(UnreadableValue) {
    let platform = try row.optionalText(.devicePlatform)
    guard let token = try row.sealed(.device, until: .deviceUntil), let platform else { return nil }
    self.init(platform: platform, token: token)
  }
}
