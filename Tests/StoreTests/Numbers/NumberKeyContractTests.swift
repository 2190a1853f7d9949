// Tests of the key of phone numbers' hashes that every store must pass.

import Gate
import JOSE
import Sealing
import StoreSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(5))) struct NumberKeyContractTests {
  private static func storeKey(_ byte: UInt8) -> StoreKey {
    StoreKey(Secret([UInt8](repeating: byte, count: 32)))
  }
  private static let (old, new) = (storeKey(1), storeKey(2))
  private static let number = try! E164("+14155550123")

  private func loaded(_ store: any Store, _ keys: StoreKeys?) async throws -> StoreID {
    let key = NumberKey(store: store, keys: keys)
    try await key.load()
    return key.id(of: Self.number)
  }

  private func stored(_ store: any Store) async throws -> StoredNumberKey {
    try await store.numberKey(or: StoredNumberKey(value: [], isSealed: false))
  }

  @Test func `the hash is HMAC-SHA-256 of the text, and an id is its first half`() async throws {
    let store = memoryStore()
    let key = NumberKey(store: store, keys: nil)
    try await key.load()
    let secret = try #require(try await stored(store).value)
    let code = HMAC.code(Array("+14155550123".utf8), key: secret, .sha256)
    #expect(key.hash(of: Array("+14155550123".utf8)) == code)
    #expect(key.id(of: Self.number).bytes == Array(code.prefix(16)))
  }

  @Test(arguments: StoreKind.available)
  func `instances that start at once hash alike, and so do later ones`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    async let here = loaded(store, nil)
    async let there = loaded(other, nil)
    let ids = try await [here, there, loaded(fixture.open(), nil)]
    #expect(Set(ids).count == 1)
    #expect(NumberKey(store: store, keys: nil).id(of: Self.number) != ids[0])
    await store.close()
    await other.close()
  }

  @Test(arguments: StoreKind.available)
  func `the first store key seals the key, a rotation seals it again, and the hashes stay`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let before = try await loaded(store, nil)
    let clear = try await stored(store)
    #expect(!clear.isSealed && clear.value?.count == 32)
    #expect(try await loaded(store, StoreKeys(current: Self.old)) == before)
    let sealed = try await stored(store)
    #expect(sealed.isSealed && sealed.sealingKey == Self.old.id.bytes)
    #expect(try await loaded(store, StoreKeys(current: Self.new, previous: Self.old)) == before)
    #expect(try await stored(store).sealingKey == Self.new.id.bytes)
    #expect(try await loaded(store, StoreKeys(current: Self.new)) == before)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `migrate with --reseal seals the key again`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let before = try await loaded(store, StoreKeys(current: Self.old))
    let keys = StoreKeys(current: Self.new, previous: Self.old)
    let count = try await store.reseal(Self.old.id) { value in
      guard let opened = try? keys.open(value.sealed, for: value.purpose, associated: value.id) else {
        return nil
      }
      return try? keys.seal(opened, for: value.purpose, associated: value.id)
    }
    #expect(count == 1)
    #expect(try await loaded(store, StoreKeys(current: Self.new)) == before)
    await store.close()
  }

  @Test func `a key that cannot be opened is an error, and not a new key`() async throws {
    let store = memoryStore()
    _ = try await loaded(store, StoreKeys(current: Self.old))
    for keys in [nil, StoreKeys(current: Self.new)] {
      await #expect(throws: StoreError.self) { try await NumberKey(store: store, keys: keys).load() }
    }
    _ = try await store.reseal(Self.old.id) { _ in nil }
    await #expect(throws: StoreError.self) {
      try await NumberKey(store: store, keys: StoreKeys(current: Self.old)).load()
    }
  }

  @Test(arguments: StoreKind.available)
  func `the key keeps no previous store key in use`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let keys = StoreKeys(current: Self.old)
    _ = try await store.updateKeys(at: .noon()) { KeyRuling($0, holding: keys, at: .noon()) }
    _ = try await loaded(store, keys)
    let rows = try await store.keys()
    #expect(rows.map(\.mark) == [Self.old.mark])
    let ruling = KeyRuling(rows, holding: StoreKeys(current: Self.new, previous: Self.old), at: .noon())
    #expect(
      ruling
        == .usable(
          KeyChanges(added: Self.new.mark, previous: .init(id: Self.old.id, sealedUntil: nil))))
    await store.close()
  }
}
