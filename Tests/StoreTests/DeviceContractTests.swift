// Tests of devices that every store must pass.

import Gate
import JOSE
import Store
import Testing

@Suite struct DeviceContractTests {
  private static func id(_ number: Int) -> InstallationIdentity { .numbered(number) }

  private static func device(_ number: Int, token: String, _ platform: String = "fcm", at second: Double = 0)
    -> StoredDevice
  {
    StoredDevice(installation: id(number), platform: platform, token: token, registered: .noon(second))
  }

  @Test(arguments: StoreKind.available)
  func `an installation has one device, and a device one installation`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for number in 1...3 { try await store.putInstallation(number) }
    let first = Self.device(1, token: "a")
    #expect(try await store.device(of: Self.id(1)) == nil)
    try await store.registerDevice(first)
    #expect(try await store.device(of: Self.id(1)) == first)
    // The longest token, and the same token of another platform, which is another device.
    let longest = String(repeating: "~", count: 4095) + "'"
    try await store.registerDevice(Self.device(2, token: longest))
    #expect(try await store.device(of: Self.id(2))?.token == longest)
    try await store.registerDevice(Self.device(3, token: "a", "http"))
    #expect(try await store.device(of: Self.id(1)) == first)
    let moved = Self.device(2, token: "a", at: 5)
    try await store.registerDevice(moved)
    #expect(try await store.device(of: Self.id(1)) == nil)
    #expect(try await store.device(of: Self.id(2)) == moved)
    try await store.registerDevice(Self.device(1, token: longest, at: 6))
    #expect(try await store.device(of: Self.id(1))?.token == longest)
    try await store.removeDevice(of: Self.id(2))
    try await store.removeDevice(of: Self.id(2))
    #expect(try await store.device(of: Self.id(2)) == nil)
    #expect(try await store.device(of: Self.id(3))?.platform == "http")
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a device is dropped only while it is the one that was read`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.putInstallation(1)
    let first = Self.device(1, token: "a")
    let again = Self.device(1, token: "a", at: 1)
    try await store.registerDevice(first)
    try await store.registerDevice(again)
    #expect(try await !store.dropDevice(first))
    #expect(try await !store.dropDevice(Self.device(1, token: "b", at: 1)))
    #expect(try await !store.dropDevice(Self.device(1, token: "a", "apns", at: 1)))
    #expect(try await !store.dropDevice(Self.device(2, token: "a", at: 1)))
    #expect(try await store.device(of: Self.id(1)) == again)
    #expect(try await store.dropDevice(again))
    #expect(try await store.device(of: Self.id(1)) == nil)
    #expect(try await !store.dropDevice(again))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a device dies with its installation, and an installation that is not there gets none`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.registerDevice(Self.device(1, token: "1"))
    #expect(try await store.device(of: Self.id(1)) == nil)
    for number in 1...5 {
      try await store.putInstallation(number)
      try await store.registerDevice(Self.device(number, token: "\(number)"))
    }
    // A change that keeps the secret keeps the device.
    try await store.putInstallation(1, usedAt: .noon(50))
    try await store.touchInstallations([Self.id(1).id: .noon(60)])
    #expect(try await store.device(of: Self.id(1)) != nil)
    try await store.putInstallation(2, revokedAt: .noon(1))
    #expect(try await store.device(of: Self.id(2)) == nil)
    try await store.registerDevice(Self.device(2, token: "2"))
    #expect(try await store.device(of: Self.id(2)) == nil)
    try await store.putInstallation(3, secret: 99)
    #expect(try await store.device(of: Self.id(3)) == nil)
    try await store.putInstallation(4, usedAt: .noon(50))
    try await store.purgeInstallations(at: .noon(60), unusedSince: ["shop": .noon(50)])
    #expect(try await store.installation(Self.id(5).id) == nil)
    try await store.putInstallation(5)
    #expect(try await store.device(of: Self.id(5)) == nil)
    #expect(try await store.device(of: Self.id(4)) != nil)
    // The tokens of removed devices are free.
    try await store.registerDevice(Self.device(5, token: "3"))
    #expect(try await store.device(of: Self.id(5))?.token == "3")
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of many installations that register one device at once one has it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let beside = fixture.open()
    for number in 1...40 { try await store.putInstallation(number) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...40 {
        group.addTask {
          try await (number % 2 == 0 ? store : beside).registerDevice(
            Self.device(number, token: "a", at: Double(number)))
        }
      }
      try await group.waitForAll()
    }
    var owners = 0
    for number in 1...40 where try await store.device(of: Self.id(number)) != nil { owners += 1 }
    #expect(owners == 1)
    if kind != .memory { await beside.close() }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a device never outlives a revocation that comes at the same time`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let beside = fixture.open()
    for number in 1...60 { try await store.putInstallation(number) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...60 {
        group.addTask { try await beside.registerDevice(Self.device(number, token: "\(number)")) }
        group.addTask { try await store.putInstallation(number, revokedAt: .noon(1)) }
      }
      try await group.waitForAll()
    }
    for number in 1...60 { #expect(try await store.device(of: Self.id(number)) == nil) }
    if kind != .memory { await beside.close() }
    await store.close()
  }

  @Test(arguments: StoreKind.lasting)
  func `devices and claims survive a restart`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.putInstallation(1)
    try await store.registerDevice(Self.device(1, token: "a"))
    let claim = StoredClaim.numbered(1)
    #expect(try await store.openClaim(claim, most: 8).isEmpty)
    await store.close()
    let again = fixture.open()
    #expect(try await again.device(of: Self.id(1)) == Self.device(1, token: "a"))
    #expect(try await again.claim(claim.id) == .live(claim))
    #expect(try await again.redeemClaim(claim.id, by: Self.id(1), at: .noon(59)))
    await again.close()
  }

  @Test func `a device's token is not printed`() {
    let device = Self.device(1, token: "s3cr3t")
    var dumped = ""
    dump([device], to: &dumped)
    for text in ["\(device)", String(reflecting: device), dumped, "\([device])"] {
      #expect(!text.contains("s3cr3t"))
    }
    #expect("\(device)".contains("<redacted>"))
  }
}
