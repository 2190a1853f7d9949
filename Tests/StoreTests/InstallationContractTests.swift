// Tests of installations that every store must pass.

import Gate
import JOSE
import Store
import StoreSupport
import TestSupport
import Testing

@Suite struct InstallationContractTests {
  private static func client(_ number: Int, detail: String? = nil) -> InstallationClient {
    let digits = String(number, radix: 16)
    let id = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.utf8.count) + digits
    return InstallationClient(id: InstallationID(id)!, app: "Shop é 🦊", detail: detail)
  }

  private static func installation(_ number: Int, user: InstallationUser? = nil) -> Installation {
    Installation(
      client: client(number, detail: number % 2 == 0 ? "it's \"x\"" : nil), appID: "shop", user: user,
      address: "192.0.2.1", secret: SHA256Digest(of: [UInt8(number)]), generation: 5, createdAt: .noon(),
      usedAt: .noon(), codes: .init(lastStep: 3, counter: 4, failures: 2, lockedUntil: .noon(9)))
  }

  private static func enrolment(_ number: Int, code: String = "BCDFGHJK") -> Enrolment {
    Enrolment(
      request: SHA256Digest(of: [UInt8(number)]), client: client(number), appID: "shop", userCode: code,
      address: "2001:db8::1", createdAt: .noon(), expiresAt: .noon(600), forgottenAt: .noon(1200),
      answeredAt: .noon(), state: .pending)
  }

  private static func put(_ installation: Installation, _ store: any InstallationStore) async throws {
    try await store.changeInstallation(InstallationScope(installation.client.id), at: .noon()) { _ in
      (InstallationChange(installation: installation), ())
    }
  }

  private static func put(_ enrolment: Enrolment, _ store: any InstallationStore) async throws {
    try await store.changeInstallation(
      InstallationScope(enrolment.client.id, request: enrolment.request), at: .noon()
    ) { _ in (InstallationChange(enrolment: enrolment), ()) }
  }

  @Test(arguments: StoreKind.available)
  func `a key of App Attest is one living installation's`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let key = SHA256Digest(of: [1, 2, 3])
    func isTaken(_ key: SHA256Digest, for number: Int) async throws -> Bool {
      try await store.changeInstallation(
        InstallationScope(Self.client(number).id, attestedKey: key), at: .noon()
      ) { view in (InstallationChange(), view.isAttestedKeyTaken) }
    }
    func made(_ number: Int, _ key: SHA256Digest?, revokedAt: Instant? = nil) -> Installation {
      Installation(
        client: Self.client(number), appID: "shop", user: nil, address: "192.0.2.1",
        secret: SHA256Digest(of: [UInt8(number)]), generation: 5, createdAt: .noon(), usedAt: .noon(),
        revokedAt: revokedAt, attestedKey: key)
    }
    #expect(try await !isTaken(key, for: 2))
    try await Self.put(made(1, key), store)
    #expect(try await store.installation(Self.client(1).id) == made(1, key))
    #expect(try await isTaken(key, for: 2))
    // An installation's own key does not count as taken.
    #expect(try await !isTaken(key, for: 1))
    #expect(try await !isTaken(SHA256Digest(of: [3]), for: 2))
    try await Self.put(made(1, key, revokedAt: .noon(5)), store)
    #expect(try await !isTaken(key, for: 2))
    try await Self.put(made(2, key), store)
    #expect(try await isTaken(key, for: 1))
    // Another generation of the same installation without the key frees it.
    try await Self.put(made(2, nil), store)
    #expect(try await !isTaken(key, for: 1))
    let waiting = Enrolment(
      request: SHA256Digest(of: [9]), client: Self.client(3), appID: "shop", userCode: "BCDFGHJK",
      address: "192.0.2.1", createdAt: .noon(), expiresAt: .noon(600), forgottenAt: .noon(1200),
      answeredAt: .noon(), state: .pending, attestedKey: key)
    try await Self.put(waiting, store)
    #expect(try await store.enrolment(userCode: "BCDFGHJK", at: .noon()) == waiting)
  }

  @Test(arguments: StoreKind.available)
  func `of many who bring one key at once, one gets it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let key = SHA256Digest(of: [1, 2, 3])
    let count = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 1...8 {
        group.addTask {
          try await store.changeInstallation(
            InstallationScope(Self.client(number).id, attestedKey: key), at: .noon()
          ) { view in
            guard !view.isAttestedKeyTaken else { return (InstallationChange(), false) }
            let made = Installation(
              client: Self.client(number), appID: "shop", user: nil, address: "192.0.2.1",
              secret: SHA256Digest(of: [UInt8(number)]), generation: 5, createdAt: .noon(), usedAt: .noon(),
              attestedKey: key)
            return (InstallationChange(installation: made), true)
          }
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(count == 1)
  }

  @Test(arguments: StoreKind.available)
  func `an installation is kept as it is, and revoked ones are told apart`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let ann = InstallationUser(callerID: "users", subject: "ann")
    for number in 1...4 {
      let made = Self.installation(number, user: number < 3 ? ann : nil)
      #expect(try await store.installation(made.client.id) == nil)
      try await Self.put(made, store)
      #expect(try await store.installation(made.client.id) == made)
    }
    func ids(_ subject: String, at now: Instant = .noon()) async throws -> Set<InstallationID> {
      Set(try await store.installations(subject: subject, at: now))
    }
    #expect(try await ids("ann") == [Self.client(1).id, Self.client(2).id])
    #expect(try await ids(Self.client(3).id.description) == [Self.client(3).id])
    var revoked = Self.installation(2, user: ann)
    revoked.revokedAt = .noon(5)
    revoked.unconfirmedUntil = .noon(3605)
    try await Self.put(revoked, store)
    #expect(try await store.installation(revoked.client.id) == revoked)
    // An operator who got no response to the revocation repeats it with the subject.
    #expect(try await ids("ann", at: .noon(3604)) == [Self.client(1).id, Self.client(2).id])
    #expect(try await ids("ann", at: .noon(3605)) == [Self.client(1).id])
    try await store.confirmRevocation(revoked.client.id, at: .noon(4))
    #expect(try await store.installation(revoked.client.id) == revoked)
    try await store.confirmRevocation(revoked.client.id, at: .noon(5))
    revoked.unconfirmedUntil = nil
    #expect(try await store.installation(revoked.client.id) == revoked)
    #expect(try await ids("ann") == [Self.client(1).id])
    func others(_ appID: String, usedSince time: Instant) async throws -> Int {
      let counted = InstallationScope.CountedUser(ann, appID: appID, usedSince: time)
      return try await store.changeInstallation(
        InstallationScope(Self.client(9).id, user: counted), at: .noon()
      ) { view in (InstallationChange(), view.others) }
    }
    let used = Self.installation(1).usedAt
    #expect(try await others("shop", usedSince: used) == 1)
    // Idle installations and those of other apps do not count.
    #expect(try await others("shop", usedSince: used.advanced(by: .nanoseconds(1))) == 0)
    #expect(try await others("bank", usedSince: used) == 0)
    let counts = try await store.installationCounts(at: .noon())
    #expect(counts[.active] == 3 && counts[.revoked] == 1 && counts[.pending] == 0)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `users and apps' texts are told apart by their octets`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for (pair, twins) in equivalentNames.enumerated() {
      let made = twins.enumerated().map { place, name in
        Installation(
          client: InstallationClient(id: Self.client(20 + 2 * pair + place).id, app: name, detail: name),
          appID: "shop", user: InstallationUser(callerID: "users", subject: name), address: "192.0.2.1",
          secret: SHA256Digest(of: [UInt8(place)]), generation: 5, createdAt: .noon(), usedAt: .noon())
      }
      for installation in made { try await Self.put(installation, store) }
      for installation in made {
        let user = try #require(installation.user)
        #expect(try await store.installations(subject: user.subject, at: .noon()) == [installation.client.id])
        let counted = InstallationScope.CountedUser(user, appID: "shop", usedSince: .noon())
        let others = try await store.changeInstallation(
          InstallationScope(Self.client(99).id, user: counted), at: .noon()
        ) { view in (InstallationChange(), view.others) }
        #expect(others == 1)
        #expect(try await store.installation(installation.client.id) == installation)
      }
      let (one, other) = (made[0].client, made[1].client)
      #expect(made[0].user != made[1].user)
      #expect(one != InstallationClient(id: one.id, app: other.app, detail: one.detail))
      #expect(one != InstallationClient(id: one.id, app: one.app, detail: other.detail))
    }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a request is found by its code while it is live, and ends with the others`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let made = Self.enrolment(1)
    try await Self.put(made, store)
    #expect(try await store.enrolment(userCode: "BCDFGHJK", at: .noon()) == made)
    #expect(try await store.enrolment(userCode: "BCDFGHJK", at: .noon(600)) == nil)
    #expect(try await store.enrolment(userCode: "BCDFGHJL", at: .noon()) == nil)
    let view = try await store.changeInstallation(
      InstallationScope(made.client.id, request: made.request, userCode: "BCDFGHJK"), at: .noon()
    ) { view in (InstallationChange(), view) }
    #expect(view.enrolment == made && view.pending == 1 && view.isUserCodeTaken)
    for (state, listed) in [
      (Enrolment.State.pending, InstallationQuery.State.pending), (.approved, .approved), (.denied, .denied),
    ] {
      var judged = made
      judged.state = state
      try await Self.put(judged, store)
      #expect(try await store.enrolment(userCode: "BCDFGHJK", at: .noon()) == judged)
      let counts = try await store.installationCounts(at: .noon())
      for other in [InstallationQuery.State.pending, .approved, .denied] {
        let page = try await store.installations(InstallationQuery(other, limit: 9, at: .noon()))
        #expect(page.entries == (other == listed ? [.enrolment(judged)] : []))
        #expect(counts[other] == (other == listed ? 1 : 0))
      }
    }
    try await Self.put(made, store)
    let live = try await store.changeInstallation(
      InstallationScope(made.client.id, countsLive: true), at: .noon()
    ) { view in (InstallationChange(endsOthers: true), view.live) }
    #expect(live == 1)
    let ended = try await store.changeInstallation(
      InstallationScope(made.client.id, countsLive: true), at: .noon()
    ) { view in (InstallationChange(), view.live) }
    #expect(ended == 0)
    let state = try await store.changeInstallation(
      InstallationScope(made.client.id, request: made.request), at: .noon()
    ) { view in (InstallationChange(), view.enrolment?.state) }
    #expect(state == .ended)
    #expect(try await store.purgeInstallations(at: .noon(1199), unusedSince: [:]) == 0)
    #expect(try await store.purgeInstallations(at: .noon(1200), unusedSince: [:]) == 1)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of many that change one installation at once none is lost`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let made = Self.installation(1)
    try await Self.put(made, store)
    let counters = try await withThrowingTaskGroup(of: Int64.self) { group in
      for _ in 0..<40 {
        group.addTask {
          try await store.changeInstallation(InstallationScope(made.client.id), at: .noon()) { view in
            guard var kept = view.installation else { return (InstallationChange(), -1) }
            kept.codes.counter += 1
            return (InstallationChange(installation: kept), kept.codes.counter)
          }
        }
      }
      var counters: [Int64] = []
      for try await counter in group { counters.append(counter) }
      return counters.sorted()
    }
    #expect(counters == Array(5...44))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `lists come in pages, and last uses only grow`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for number in 1...5 { try await Self.put(Self.installation(number), store) }
    for number in 11...13 {
      try await Self.put(Self.enrolment(number, code: "BCDFGHJ\(["K", "L", "M"][number - 11])"), store)
    }
    var found: [InstallationEntry] = []
    var query = InstallationQuery(.active, limit: 2, at: .noon())
    while true {
      let page = try await store.installations(query)
      found += page.entries
      guard let next = page.next else { break }
      query.after = next
    }
    #expect(found == (1...5).map { .installation(Self.installation($0)) })
    #expect(
      try await store.installations(InstallationQuery(.pending, limit: 9, at: .noon())).entries.count == 3)
    #expect(
      try await store.installations(InstallationQuery(.pending, limit: 9, at: .noon(600))).entries.isEmpty)
    let id = Self.client(1).id
    try await store.touchInstallations([id: .noon(50)])
    try await store.touchInstallations([id: .noon(40)])
    #expect(try await store.installation(id)?.usedAt == .noon(50))
    // Each app has its own time, and the installations of an app without one stay.
    #expect(try await store.purgeInstallations(at: .noon(60), unusedSince: ["bank": .noon(10)]) == 0)
    try await store.purgeInstallations(at: .noon(60), unusedSince: ["bank": .noon(90), "shop": .noon(10)])
    let left = try await store.installations(InstallationQuery(.active, limit: 9, at: .noon()))
    #expect(left.entries.map(\.key) == [InstallationEntry.installation(Self.installation(1)).key])
    await store.close()
  }
}
