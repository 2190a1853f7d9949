// Tests, for every store, that whatever an installation owns belongs to one generation of it.

import Gate
import JOSE
import Store
import StoreSupport
import Testing

@Suite struct InstallationGenerationTests {
  private static let times = Instant.noon(-9000)...Instant.noon(99_999)

  private static func digest(_ name: String) -> SHA256Digest { SHA256Digest(of: Array(name.utf8)) }

  /// A store with an installation of `ann` and its device.
  private static func prepared(
    _ kind: StoreKind, user: String? = "ann"
  ) async throws -> (StoreFixture, any Store) {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    try await store.putInstallation(1, user: user)
    let device = StoredDevice(
      installation: .numbered(1), platform: "http", token: "token-1", registered: .noon())
    #expect(try await store.registerDevice(device) == .registered(replaced: nil))
    return (fixture, store)
  }

  /// A booking by a generation of the installation.
  private static func booking(
    _ generation: Int64 = 1, for seconds: Double = 3600, user: String? = "ann", number: Int = 1
  ) -> Booking {
    let identity = InstallationIdentity.numbered(1, generation: generation)
    let made = Booking.made(
      "+1415555016\(number)", for: seconds, caller: user == nil ? "installation" : "users",
      subject: user ?? identity.description)
    var intent = made.intent
    intent.installation = identity
    intent.notifies = identity
    var booking = Booking(
      intent: intent, at: made.at, slot: 7, content: [1, 2, 3], limits: made.limits)
    booking.confirmAt = .noon(seconds - 120)
    return booking
  }

  private static func due(_ store: any Store) async throws -> [DueNotice] {
    try await store.dueNotices(on: "http", questions: times, news: times, most: 9)
  }

  /// Delivers the installation again, or revokes it.
  private static func succeed(
    _ store: any Store, user: String?, generation: Int64 = 2, revokedAt: Instant? = nil
  ) async throws -> [EndedAppointment] {
    let installation = Installation(
      client: InstallationClient(id: .numbered(1), app: "Shop", detail: nil), appID: "shop",
      user: user.map { InstallationUser(callerID: "users", subject: $0) }, address: "192.0.2.1",
      secret: digest("\(generation)"), generation: generation, createdAt: .noon(10), usedAt: .noon(10),
      revokedAt: revokedAt)
    return try await store.change(
      InstallationScope(.numbered(1)), at: .noon(10), receipts: { $1 == [1, 2, 3] ? [] : nil },
      onOutcome: { _ in }, { _ in (InstallationChange(installation: installation), ()) }
    ).ended
  }

  @Test(arguments: StoreKind.available, [("bob", nil), (nil, nil), ("ann", Instant.noon(10))])
  func `appointments end with the installation, and another one's device gets no notice of it`(
    _ kind: StoreKind, _ next: (user: String?, revokedAt: Instant?)
  ) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let (booked, asked) = (Self.booking(for: 3600), Self.booking(for: 7200, number: 2))
    let byJWT = Booking.made("+14155550169", for: 3600)
    for booking in [booked, asked, byJWT] { #expect(try await store.book(booking, at: .noon()) == .booked) }
    let notice = try #require(try await Self.due(store).last)
    #expect(try await store.takeNotice(notice, id: Self.digest("a"), until: .noon(20), at: .noon(1)))
    let ended = try await Self.succeed(
      store, user: next.user, generation: next.revokedAt == nil ? 2 : 1, revokedAt: next.revokedAt)
    #expect(Set(ended.map(\.record.id)) == [booked.id, asked.id])
    for ended in ended {
      #expect(ended.returned?.isEmpty == true)
      #expect(ended.record.status == .cancelled && ended.record.code == "revoked")
      #expect(ended.record.settledAt == .noon(10))
      #expect(try await store.callback(ended.record.id, of: "users")?.status == .cancelled)
    }
    #expect(try await store.callback(byJWT.id, of: "ios-app")?.status == .scheduled)
    // Slot and number are free again.
    #expect(try await store.takenPlaces(in: 7...7).isEmpty)
    // After a revocation, a new generation registers its device.
    if next.revokedAt != nil { _ = try await Self.succeed(store, user: "bob", generation: 3) }
    let living = try #require(try await store.installation(.numbered(1))).identity
    let device = StoredDevice(installation: living, platform: "http", token: "token-2", registered: .noon(11))
    #expect(try await store.registerDevice(device) == .registered(replaced: nil))
    #expect(try await Self.due(store).isEmpty)
    #expect(try await store.notice(Self.digest("a"))?.notice.installation == .numbered(1))
    // A notification that was read before this is no longer valid.
    #expect(try await !store.takeNotice(notice, id: Self.digest("b"), until: .noon(40), at: .noon(21)))
    // The earlier generation can no longer do anything.
    #expect(try await store.book(Self.booking(number: 3), at: .noon(12)) == .revoked)
    let late = StoredDevice(
      installation: .numbered(1), platform: "http", token: "token-3", registered: .noon(12))
    #expect(try await store.registerDevice(late) == .ended)
    try await store.removeDevice(of: .numbered(1))
    #expect(try await store.device(of: living) == device)
    #expect(try await store.device(of: .numbered(1)) == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `appointments go over to the same owner's next installation, and are asked about again`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let booking = Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let notice = try #require(try await Self.due(store).first)
    #expect(try await store.takeNotice(notice, id: Self.digest("a"), until: .noon(20), at: .noon(1)))
    try await store.settleNotice(notice, .taken)
    #expect(try await Self.succeed(store, user: "ann").isEmpty)
    let record = try #require(try await store.callback(booking.id, of: "users"))
    let next = InstallationIdentity.numbered(1, generation: 2)
    #expect(record.status == .scheduled && record.origin == .installation(next))
    #expect(try await store.takenPlaces(in: 7...7) == [7: 1])
    // The device went with its installation, and the next one is asked again.
    #expect(try await Self.due(store).isEmpty)
    let device = StoredDevice(installation: next, platform: "http", token: "token-1", registered: .noon(11))
    #expect(try await store.registerDevice(device) == .registered(replaced: nil))
    let again = try #require(try await Self.due(store).first)
    #expect(again.serial == notice.serial + 1 && again.device == device && again.due == notice.due)
    #expect(try await store.takeNotice(again, id: Self.digest("b"), until: .noon(40), at: .noon(21)))
    #expect(try await store.notice(Self.digest("a"))?.notice.installation == .numbered(1))
    #expect(try await store.notice(Self.digest("b"))?.notice.installation == next)
    // The appointment ends with the next generation.
    #expect(try await Self.succeed(store, user: "ann", generation: 2, revokedAt: .noon(30)).count == 1)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `what an appointment becomes meanwhile is not undone`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let booking = Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    #expect(try await store.mark(booking.id, for: booking.at, deadline: .noon(3700)))
    #expect(try await Self.succeed(store, user: "bob").isEmpty)
    #expect(try await store.callback(booking.id, of: "users")?.status == .pending)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `no booking outlives a revocation that comes at the same time`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let beside = fixture.open()
    let booked = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<40 {
        group.addTask {
          let booking = Self.booking(for: 3600 + Double(number), number: number % 10)
          return try await (number % 2 == 0 ? store : beside).book(booking, at: .noon()) == .booked ? 1 : 0
        }
        if number == 20 {
          group.addTask { try await -Self.succeed(beside, user: "bob").count }
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(booked == 0)
    #expect(try await store.appointments(of: "users", subject: "ann", most: 99).isEmpty)
    if kind != .memory { await beside.close() }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an operator's installation is its own owner, and the next one another`(_ kind: StoreKind) async throws
  {
    let (fixture, store) = try await Self.prepared(kind, user: nil)
    defer { fixture.end() }
    let first = try #require(try await store.installation(.numbered(1)))
    #expect(
      first.owner
        == InstallationUser(callerID: "installation", subject: InstallationID.numbered(1).description))
    let booking = Self.booking(user: nil)
    #expect(try await store.book(booking, at: .noon()) == .booked)
    let next = Installation(
      client: first.client, appID: "shop", user: nil, address: "192.0.2.1", secret: Self.digest("2"),
      generation: 2, createdAt: .noon(10), usedAt: .noon(10),
      operatorDeliveries: first.operatorDeliveries + 1)
    let ended = try await store.change(InstallationScope(.numbered(1)), at: .noon(10)) { _ in
      (InstallationChange(installation: next), ())
    }.ended
    #expect(ended.map(\.record.id) == [booking.id])
    let kept = try #require(try await store.installation(.numbered(1)))
    #expect(kept == next)
    #expect(kept.owner.subject == "\(InstallationID.numbered(1))-2")
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an id that an operator has approved stays spent when its installation is forgotten`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.putInstallation(1)
    try await store.putInstallation(2, user: "ann")
    func isSpent(_ number: Int) async throws -> Bool {
      try await store.changeInstallation(InstallationScope(.numbered(number)), at: .noon()) { view in
        (InstallationChange(), view.isIDSpent)
      }
    }
    #expect(try await !isSpent(1))
    #expect(try await store.purgeInstallations(at: .noon(), unusedSince: ["shop": .noon(99)]) == 2)
    #expect(try await store.installation(.numbered(1)) == nil)
    #expect(try await isSpent(1))
    #expect(try await !isSpent(2))
    #expect(try await !isSpent(3))
    // A second purge deletes it again.
    try await store.putInstallation(1)
    #expect(try await store.purgeInstallations(at: .noon(), unusedSince: ["shop": .noon(99)]) == 1)
    #expect(try await isSpent(1))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a claim is of its generation`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let claim = StoredClaim.numbered(1)
    _ = try await store.openClaim(claim, most: 8)
    #expect(try await Self.succeed(store, user: "ann").isEmpty)
    #expect(try await store.claim(claim.id) == .live(claim))
    #expect(try await !store.redeemClaim(claim.id, by: .numbered(1, generation: 2), at: .noon(11)))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `an owner has 100 revoked installations, and the oldest go`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for number in 1...103 {
      try await store.putInstallation(number, user: "ann")
      try await store.putInstallation(number, user: "ann", revokedAt: .noon(Double(number)))
    }
    try await store.putInstallation(200, user: "bob", revokedAt: .noon())
    try await store.putInstallation(201, revokedAt: .noon())
    for number in 1...103 {
      #expect(try await (store.installation(.numbered(number)) != nil) == (number > 3), "\(number)")
    }
    #expect(try await store.installationCounts(at: .noon())[.revoked] == 102)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the origin of an appointment of an earlier release is noted once`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await Self.prepared(kind)
    defer { fixture.end() }
    let booking = Self.booking()
    #expect(try await store.book(booking, at: .noon()) == .booked)
    #expect(try await store.appointmentsWithoutOrigin(most: 9).isEmpty)
    try await store.note(.other, of: booking.id)
    #expect(try await store.callback(booking.id, of: "users")?.origin == .installation(.numbered(1)))
    await store.close()
  }
}
