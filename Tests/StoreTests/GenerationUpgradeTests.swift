// Tests of the upgrade to the schema version with generations of installations.

import Gate
import JOSE
import StoreSupport
import Testing

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

/// A store of the previous release, with an installation, its device, its appointment, and the question that
/// was sent.
@Suite struct GenerationUpgradeTests {
  private static let before = 10
  private static let booked = CallbackID(at: .noon())
  private static let question = SHA256Digest(of: [1])
  /// The generation is the time of the delivery.
  private static let identity = InstallationIdentity.numbered(
    1, generation: Instant.noon(-60).nanosecondsSinceEpoch)

  private static func rows(_ id: (StoreID) -> String, _ bytes: ([UInt8]) -> String) -> [String] {
    let nanoseconds = { Instant.noon($0).nanosecondsSinceEpoch }
    let (time, delivered) = (nanoseconds(0), identity.generation)
    let installation = id(identity.id.id)
    return [
      """
      INSERT INTO callgate_installation (id, client_app, app, caller, subject, address, secret, generation, created, used,
        last_step, counter, failures) VALUES (\(installation), 'Shop', 'shop', 'users', 'ann', '192.0.2.1',
        \(bytes(SHA256Digest(of: [1]).bytes)), \(delivered), \(delivered), \(delivered), -1, 0, 0)
      """,
      """
      INSERT INTO callgate_device (installation, platform, token, name, registered)
        VALUES (\(installation), 'http', 'a', \(bytes([7])), \(delivered))
      """,
      """
      INSERT INTO callgate_callback (id, caller, subject, contact, created, status, instance, abandoned, expires, at, slot,
        number, due, tries, content, content_key, content_until, key_retention, retention, notifies, confirm_at,
        notice_serial, notice_state, notice_next, notice_tries, snoozes)
        VALUES (\(id(booked.id)), 'users', 'ann', '+*********66', \(time), 'scheduled', 1, \(nanoseconds(3800)),
        \(nanoseconds(99_999)), \(nanoseconds(3600)), 7, \(installation), \(nanoseconds(3600)), 0, \(bytes([1, 2])),
        \(bytes([])), \(nanoseconds(3800)), 0, 0, \(installation), \(nanoseconds(3480)), 1, 'waiting',
        \(nanoseconds(3480)), 0, 0)
      """,
      """
      INSERT INTO callgate_notice (id, callback, installation, action, serial, created)
        VALUES (\(bytes(question.bytes)), \(id(booked.id)), \(installation), 'changed', 1, \(time))
      """,
    ]
  }

  private func check(_ store: any Store) async throws {
    try await store.migrate()
    let kept = try #require(try await store.installation(.numbered(1)))
    #expect(kept.identity == Self.identity && kept.owner.subject == "ann")
    // The previous release did not count deliveries by operators, so an operator may have approved this ID.
    #expect(kept.operatorDeliveries == 1)
    #expect(try await store.device(of: Self.identity)?.token == "a")
    // The row has no origin yet. Its time shows that this generation made the booking.
    let always = Instant.noon(-9999)...Instant.noon(9999)
    let notice = try #require(
      try await store.dueNotices(on: "http", questions: always, news: always, most: 9).first)
    #expect(notice.installation == Self.identity)
    let found = try #require(try await store.notice(Self.question))
    #expect(found.notice.installation.generation == 0)
    #expect(kept.isSame(as: found.notice.installation, made: found.record?.createdAt))
    let due = try await store.appointmentsWithoutOrigin(most: 9)
    #expect(due.map(\.record.id) == [Self.booked] && due.first?.content == [1, 2])
    try await store.note(.installation(Self.identity), of: Self.booked)
    try await store.note(.other, of: Self.booked)
    #expect(try await store.appointmentsWithoutOrigin(most: 9).isEmpty)
    let record = try await store.scheduledAppointment(Self.booked)?.record
    #expect(record?.origin == .installation(Self.identity) && record?.notices?.installation == Self.identity)
    var revoked = kept
    revoked.revokedAt = .noon(5)
    let ended = try await store.change(InstallationScope(.numbered(1)), at: .noon(5)) { [revoked] _ in
      (InstallationChange(installation: revoked), ())
    }.ended
    #expect(ended.map(\.record.id) == [Self.booked])
    await store.close()
  }

  @Test func `a later generation gets nothing of an earlier record without one`() {
    let later = Installation(
      client: InstallationClient(id: .numbered(1), app: "Shop", detail: nil), appID: "shop", user: nil,
      address: "192.0.2.1", secret: SHA256Digest(of: [1]),
      generation: Instant.noon(1).nanosecondsSinceEpoch, createdAt: .noon(1), usedAt: .noon(1))
    let named = InstallationIdentity(.numbered(1), generation: 0)
    #expect(!later.isSame(as: named, made: .noon()) && later.isSame(as: named, made: .noon(2)))
    #expect(!later.isSame(as: named, made: nil))
  }

  @Test func `a file's appointments get their origin`() async throws {
    let place = try TemporaryPlace()
    defer { place.end() }
    let path = place.path + "/state.sqlite3"
    try OldStore.sqlite(
      path, version: Self.before,
      rows: Self.rows({ "x'\(Hex.encode($0.bytes))'" }, { "x'\(Hex.encode($0))'" }))
    try await check(SQLiteStore(path: path))
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "a PostgreSQL server is not installed"))
  func `a database's appointments get their origin`() async throws {
    let (_, address) = try OldStore.postgres(
      version: Self.before, rows: Self.rows({ "'\($0.hex)'" }, { "'\\x\(Hex.encode($0))'" }))
    try await check(PostgresStore(address))
  }
}
