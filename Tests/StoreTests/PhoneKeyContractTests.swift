// Tests of phones' keys, and of secrets that instances share, that every store must pass.

import Gate
import JOSE
import Store
import StoreSupport
import TestSupport
import Testing

@Suite struct PhoneKeyContractTests {
  private static let key = SHA256Digest(of: Array("a key".utf8))

  private static func client(_ number: Int) -> InstallationClient {
    InstallationClient(
      id: InstallationID("00000000-0000-4000-8000-00000000000\(number)")!, app: "Shop", detail: nil)
  }

  private static func installation(_ number: Int, key: SHA256Digest? = key) -> Installation {
    Installation(
      client: client(number), appID: "shop", user: nil, address: "192.0.2.1",
      secret: SHA256Digest(of: [UInt8(number)]), generation: 5, createdAt: .noon(), usedAt: .noon(), key: key)
  }

  /// Saves an installation unless another one has its key.
  private static func enrol(_ installation: Installation, _ store: any InstallationStore) async throws -> Bool
  {
    try await store.changeInstallation(
      InstallationScope(installation.client.id, key: installation.key), at: .noon()
    ) { view in
      view.isKeyTaken ? (InstallationChange(), false) : (InstallationChange(installation: installation), true)
    }
  }

  @Test(arguments: StoreKind.available)
  func `a key is one installation's, until it is revoked or replaced`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.installation(key: Self.key) == nil)
    #expect(try await Self.enrol(Self.installation(1), store))
    #expect(try await store.installation(key: Self.key) == Self.installation(1))
    #expect(try await store.installation(Self.client(1).id) == Self.installation(1))
    // An installation may keep its own key. Phones without a key never conflict.
    #expect(try await Self.enrol(Self.installation(1), store))
    #expect(try await !Self.enrol(Self.installation(2), store))
    #expect(try await Self.enrol(Self.installation(3, key: nil), store))
    #expect(try await Self.enrol(Self.installation(4, key: nil), store))
    var revoked = Self.installation(1)
    revoked.revokedAt = .noon(1)
    #expect(try await Self.enrol(revoked, store))
    #expect(try await store.installation(key: Self.key) == nil)
    #expect(try await Self.enrol(Self.installation(2), store))
    #expect(try await store.installation(key: Self.key) == Self.installation(2))
    // The installation is replaced by one with another key, and by one without a key.
    #expect(try await Self.enrol(Self.installation(2, key: .zero), store))
    #expect(try await store.installation(key: Self.key) == nil)
    #expect(try await store.installation(key: .zero)?.client.id == Self.client(2).id)
    #expect(try await Self.enrol(Self.installation(2, key: nil), store))
    #expect(try await store.installation(key: .zero) == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of many phones that bring the same key at once one gets it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let enrolled = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 1...8 { group.addTask { try await Self.enrol(Self.installation(number), store) } }
      return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(enrolled == 1)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a request keeps the key of its phone`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for (number, key) in [(1, Self.key), (2, nil)] {
      let enrolment = Enrolment(
        request: SHA256Digest(of: [UInt8(number)]), client: Self.client(number), appID: "shop",
        userCode: "BCDFGHJ\(number == 1 ? "K" : "L")", address: "192.0.2.1", createdAt: .noon(),
        expiresAt: .noon(600), forgottenAt: .noon(1200), answeredAt: .noon(), state: .pending, key: key)
      let scope = InstallationScope(enrolment.client.id, request: enrolment.request)
      try await store.changeInstallation(scope, at: .noon()) { _ in
        (InstallationChange(enrolment: enrolment), ())
      }
      let kept = try await store.changeInstallation(scope, at: .noon()) { view in
        (InstallationChange(), view.enrolment)
      }
      #expect(kept == enrolment)
    }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the first secret of a name stays, for all instances`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.sharedSecret("one", or: [1, 2]) == [1, 2])
    #expect(try await store.sharedSecret("one", or: [3]) == [1, 2])
    #expect(try await store.sharedSecret("two", or: [3]) == [3])
    let many = try await withThrowingTaskGroup(of: [UInt8].self) { group in
      for number in 1...8 {
        group.addTask { try await store.sharedSecret("three", or: [UInt8(number)]) }
      }
      return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
    }
    #expect(many.count == 1)
    #expect(try await store.triggers().isEmpty)
    await store.close()
  }
}
