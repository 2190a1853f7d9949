// Tests, for every store, of the names of webhooks, which users choose.

import Gate
import JOSE
import Store
import Testing

@Suite struct HookNameTests {
  private static func register(
    _ store: any Store, _ number: Int, _ token: String = "a", _ platform: String = "http", at second: Double,
    generation: Int64 = 1
  ) async throws -> DeviceRegistration {
    try await store.registerDevice(
      StoredDevice(
        installation: .numbered(number, generation: generation), platform: platform, token: token,
        registered: .noon(second)))
  }

  @Test(arguments: StoreKind.available)
  func `a name that another owner registered in the last 24 h is taken`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.putInstallation(1, user: "ann")
    try await store.putInstallation(2, user: "bob")
    try await store.putInstallation(3, user: "ann")
    #expect(try await Self.register(store, 1, at: 0) == .registered(replaced: nil))
    #expect(try await Self.register(store, 2, at: 86_399) == .taken)
    #expect(try await store.device(of: .numbered(2)) == nil)
    // Another installation of the same owner gets the name at once.
    #expect(try await Self.register(store, 3, at: 1) == .registered(replaced: nil))
    #expect(try await store.device(of: .numbered(1)) == nil)
    // A name stays reserved after another device has replaced its device.
    guard case .registered(let replaced?) = try await Self.register(store, 3, "b", at: 2) else {
      return #expect(Bool(false))
    }
    #expect(replaced.token == "a" && replaced.installation == .numbered(3))
    #expect(try await Self.register(store, 3, "b", at: 3) == .registered(replaced: nil))
    #expect(try await Self.register(store, 2, at: 86_000) == .taken)
    // A day after its last use the name is free.
    #expect(try await Self.register(store, 2, at: 86_401) == .registered(replaced: nil))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a notice keeps a name, and its owner's word frees it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.putInstallation(1, user: "ann")
    try await store.putInstallation(2)
    #expect(try await Self.register(store, 1, at: 0) == .registered(replaced: nil))
    let device = try #require(try await store.device(of: .numbered(1)))
    try await store.noteUse(of: device, at: .noon(80_000))
    try await store.purge(at: .noon(100_000))
    #expect(try await Self.register(store, 2, at: 100_000) == .taken)
    try await store.removeDevice(of: .numbered(1))
    #expect(try await Self.register(store, 2, at: 100_001) == .registered(replaced: nil))
    // A revocation frees the name, too.
    try await store.putInstallation(2, revokedAt: .noon(100_002))
    #expect(try await Self.register(store, 1, at: 100_003) == .registered(replaced: nil))
    // A new delivery frees it, too.
    try await store.putInstallation(1, secret: 2, user: "ann", generation: 2)
    try await store.putInstallation(3, user: "bob")
    #expect(try await Self.register(store, 3, at: 100_004) == .registered(replaced: nil))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a notice that ends late gives a name back to nobody`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.putInstallation(1, user: "ann")
    try await store.putInstallation(2, user: "bob")
    _ = try await Self.register(store, 1, at: 0)
    let device = try #require(try await store.device(of: .numbered(1)))
    // The phone removes its device while the notice is on its way.
    try await store.removeDevice(of: .numbered(1))
    try await store.noteUse(of: device, at: .noon(2))
    #expect(try await Self.register(store, 2, at: 3) == .registered(replaced: nil))
    try await store.noteUse(of: device, at: .noon(4))
    // Only its new owner can use the name.
    #expect(try await Self.register(store, 1, at: 5) == .taken)
    #expect(try await Self.register(store, 2, at: 6) == .registered(replaced: nil))
    // A notification to a replaced device does not keep its name reserved.
    #expect(try await Self.register(store, 1, "b", at: 7) == .registered(replaced: nil))
    let former = try #require(try await store.device(of: .numbered(1)))
    _ = try await Self.register(store, 1, "c", at: 8)
    try await store.noteUse(of: former, at: .noon(80_000))
    #expect(try await Self.register(store, 2, "b", at: 86_409) != .taken)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a token of a provider moves to the last one that registers it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.putInstallation(1, user: "ann")
    try await store.putInstallation(2, user: "bob")
    #expect(try await Self.register(store, 1, "a", "fcm", at: 0) == .registered(replaced: nil))
    #expect(try await Self.register(store, 2, "a", "fcm", at: 1) == .registered(replaced: nil))
    #expect(try await store.device(of: .numbered(1)) == nil)
    #expect(try await store.device(of: .numbered(2))?.token == "a")
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a notice of a device is kept without a callback`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.putInstallation(1, user: "ann")
    _ = try await Self.register(store, 1, at: 0)
    let device = try #require(try await store.device(of: .numbered(1)))
    let notice = StoredNotice(ofDevice: device, id: SHA256Digest(of: [1]), created: .noon())
    try await store.keepNotice(notice)
    let found = try #require(try await store.notice(notice.id))
    #expect(found.notice == notice && found.notice.callback == nil && found.record == nil && !found.isLive)
    await store.close()
  }
}
