// Tests that each column of a declared table is written and read.

import Gate
import JOSE
import StoreSupport
import TestSupport
import Testing

@testable import Store

@Suite struct TableTests {
  private static let now = Instant.noon()
  private static let id = StoreID(high: 1, low: 2)
  private static let digest = SHA256Digest(of: [1])
  private static let `operator` = Operator.Identity("kim", by: .token)
  private static let user = InstallationUser(callerID: "app-users", subject: "ann")

  private static func identity(_ number: UInt64) -> InstallationIdentity {
    InstallationIdentity(InstallationID(StoreID(high: 7, low: number)), generation: Int64(number))
  }

  private static func time(_ seconds: Int64) -> Instant { now.advanced(by: .seconds(seconds)) }

  /// Checks that a row is unchanged after it is written and read. A column without a value would not prove
  /// anything.
  private func check<Entry: TableEntry>(_ entry: Entry, unused: [Entry.Column] = []) throws {
    let values = Entry.Column.table.values(of: entry)
    for (column, value) in zip(Entry.Column.allCases, values) {
      #expect((value == .null) == unused.contains { $0.rawValue == column.rawValue }, "\(column)")
    }
    let read = try Entry(TableRow<Entry.Column>(ResultRow(values)))
    for (column, (after, before)) in zip(
      Entry.Column.allCases, zip(Entry.Column.table.values(of: read), values))
    {
      #expect(after == before, "\(column)")
    }
  }

  @Test func `every column of a callback's record is written and read`() throws {
    let notices = CallbackNotices(
      installation: Self.identity(3),
      device: GivenDevice(platform: "fcm", token: SealedCode([1, 2], until: Self.time(1))),
      confirmAt: Self.time(2), serial: 4, state: .taken, next: Self.time(3), tries: 6)
    let record = StoredCallback(
      id: CallbackID(Self.id), callerID: "ios-app", subject: "ann", appID: "shop", contact: "+*******00",
      createdAt: Self.now, at: Self.time(4), settledAt: Self.time(5), status: .failed, code: "closed",
      upstreamStatus: 201, platformTID: "tid", verificationCode: SealedCode([3, 4], until: Self.time(6)),
      notices: notices, snoozes: 5,
      ticket: StoredTicket(StoredTicket.Opened(id: "9", channelURL: "c", isMessageSent: true)),
      origin: .installation(Self.identity(8)),
      alias: CallbackAlias(name: Self.digest, number: SHA256Digest(of: [2]), service: "sales"),
      outcome: CallOutcome(.reached, source: .report, at: Self.time(7), talkSeconds: 10, waitedSeconds: 11),
      consent: StoredConsent(stored: "1 0123456789abcdef terms"), conversation: StoreID(high: 5, low: 1))
    try check(
      CallbackBook.Row(
        record: record, key: StoreID(high: 3, low: 1), place: StoreID(high: 3, low: 2), instance: 12,
        abandoned: 13, expires: 14,
        appointment: CallbackBook.Appointment(
          slot: 15, number: StoreID(high: 3, low: 3), due: 16, tries: 17, lastCode: "internal",
          content: SealedCode([5, 6], until: Self.time(8)), keyRetention: .seconds(18),
          retention: .seconds(19)),
        handover: CallbackBook.Handover(numbers: StoreID(high: 3, low: 4), time: Self.time(9))))
  }

  @Test func `every column of keys, dedupe entries and notices is written and read`() throws {
    try check(
      CallbackBook.NamedKey(
        Self.id,
        CallbackBook.Key(
          callback: CallbackID(Self.id), fingerprint: StoreID(high: 4, low: 1), refusedFields: ["at"],
          expires: 2)), unused: [.answerStatus])
    try check(
      CallbackBook.NamedPlace(Self.id, CallbackBook.Place(callback: CallbackID(Self.id), expires: 3)))
    try check(
      StoredNotice(
        id: Self.digest, callback: CallbackID(Self.id), installation: Self.identity(1), action: .confirm,
        serial: 2, created: Self.now))
  }

  @Test func `every column of installations and their requests is written and read`() throws {
    let client = InstallationClient(id: Self.identity(1).id, app: "Shop", detail: "ann's phone")
    try check(
      Installation(
        client: client, appID: "shop", user: Self.user, address: "203.0.113.9", secret: Self.digest,
        generation: 2, createdAt: Self.time(1), usedAt: Self.time(2), revokedAt: Self.time(3),
        unconfirmedUntil: Self.time(5),
        codes: Installation.CodeState(lastStep: 4, counter: 5, failures: 6, lockedUntil: Self.time(4)),
        operatorDeliveries: 7, attestedKey: SHA256Digest(of: [3]), key: SHA256Digest(of: [4]),
        by: Self.operator))
    try check(
      Enrolment(
        request: Self.digest, client: client, appID: "shop", userCode: "BCDFGHJK", address: "203.0.113.9",
        createdAt: Self.time(1), expiresAt: Self.time(2), forgottenAt: Self.time(3),
        answeredAt: Self.time(4), state: .approved, attestedKey: SHA256Digest(of: [5]),
        key: SHA256Digest(of: [6]), by: Self.operator))
  }
}
