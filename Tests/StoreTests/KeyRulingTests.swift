// Tests of the ruling on store keys, and of the keys that every store keeps.

import Gate
import JOSE
import Sealing
import Testing

@testable import SQLiteStore
@testable import Store

@Suite(.timeLimit(.minutes(5))) struct KeyRulingTests {
  private static func key(_ byte: UInt8) -> StoreKey { StoreKey(Secret([UInt8](repeating: byte, count: 32))) }
  private static let (old, new, other) = (key(1), key(2), key(3))
  private static let until = Instant(seconds: 1_800_000_000)

  private static func row(_ key: StoreKey, sealed: Bool = false, open: Bool = false) -> KeyInUse {
    KeyInUse(key.mark, since: 1, sealedUntil: sealed ? until : nil, isOpen: open)
  }

  private static func usable(
    added: StoreKey? = nil, removed: [StoreKey] = [], previous: KeyChanges.PreviousKey? = nil
  ) -> KeyRuling {
    .usable(KeyChanges(added: added?.mark, removed: removed.map(\.id), previous: previous))
  }

  private static let (onlyOld, onlyNew) = (StoreKeys(current: old), StoreKeys(current: new))
  private static let announced = StoreKeys(current: old, previous: new)
  private static let swapped = StoreKeys(current: new, previous: old)
  private static let free = KeyChanges.PreviousKey(id: old.id, sealedUntil: nil)
  private static let needed = KeyChanges.PreviousKey(id: old.id, sealedUntil: until)

  static let cases: [(rows: [KeyInUse], keys: StoreKeys?, ruling: KeyRuling)] = [
    // A store without keys.
    ([], nil, usable()),
    ([], onlyOld, usable(added: old)),
    ([], swapped, usable(added: new)),
    // The store's own key.
    ([row(old)], onlyOld, usable()),
    ([row(old, sealed: true)], onlyOld, usable()),
    // No key, or a key that is not the store's, whether or not anything is sealed.
    ([row(old)], nil, .refused(.missing([old.id]))),
    ([row(old), row(new)], nil, .refused(.missing([old.id, new.id]))),
    ([row(old)], onlyNew, .refused(.other([old.id], held: [new.id]))),
    ([row(other)], swapped, .refused(.other([other.id], held: [new.id, old.id]))),
    // A rotation: announced, swapped, finished.
    ([row(old)], announced, usable()),
    ([row(old)], swapped, usable(added: new, previous: free)),
    ([row(old, sealed: true)], swapped, usable(added: new, previous: needed)),
    ([row(old), row(new)], announced, usable(previous: .init(id: new.id, sealedUntil: nil))),
    ([row(old), row(new)], swapped, usable(previous: free)),
    ([row(old), row(new)], onlyNew, usable(removed: [old])),
    ([row(new)], onlyNew, usable()),
    ([row(new)], swapped, usable()),
    // A rotation that was finished too early.
    ([row(old, sealed: true), row(new)], onlyNew, .refused(.stillSealed(old.id, until: until))),
    // A third key, left from an earlier rotation.
    ([row(other), row(old)], swapped, usable(added: new, removed: [other], previous: free)),
  ]

  @Test(arguments: cases.indices)
  func `the keys in the store and those that are held decide`(_ index: Int) {
    let (rows, keys, ruling) = Self.cases[index]
    #expect(KeyRuling(rows, holding: keys) == ruling)
  }

  @Test func `the previous key goes out of use on request as soon as nothing is sealed with it`() {
    let rows = [Self.row(Self.old)]
    #expect(
      KeyRuling(rows, holding: Self.swapped, removesPrevious: true)
        == Self.usable(added: Self.new, removed: [Self.old]))
    #expect(
      KeyRuling([Self.row(Self.old, sealed: true)], holding: Self.swapped, removesPrevious: true)
        == Self.usable(added: Self.new, previous: Self.needed))
    #expect(KeyRuling([Self.row(Self.new)], holding: Self.swapped, removesPrevious: true) == Self.usable())
  }

  @Test func `an expired row that is not removed yet needs no key`() {
    let rows = [Self.row(Self.old, sealed: true), Self.row(Self.new)]
    let second = Instant(seconds: Self.until.seconds - 1)
    #expect(
      KeyRuling(rows, holding: Self.onlyNew, at: second)
        == .refused(.stillSealed(Self.old.id, until: Self.until)))
    #expect(KeyRuling(rows, holding: Self.onlyNew, at: Self.until) == Self.usable(removed: [Self.old]))
    #expect(KeyRuling(rows, holding: Self.swapped, at: Self.until) == Self.usable(previous: Self.free))
  }

  @Test func `a key of the same name is another key where its check value differs`() {
    let twin = StoreKeyMark(id: Self.old.id, check: Self.new.mark.check)
    #expect(
      KeyRuling([KeyInUse(twin, since: 1)], holding: Self.onlyOld)
        == .refused(.other([Self.old.id], held: [Self.old.id])))
  }

  @Test(arguments: StoreKind.available)
  func `a store keeps the keys in use, and every instance sees them`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.keys().isEmpty)
    let first = try await store.updateKeys(at: .noon()) { KeyRuling($0, holding: Self.onlyOld) }
    #expect(first == Self.usable(added: Self.old))
    let second = fixture.open()
    #expect(try await second.keys() == [KeyInUse(Self.old.mark, since: Instant.noon().seconds)])
    let refused = try await second.updateKeys(at: .noon()) { KeyRuling($0, holding: Self.onlyNew) }
    #expect(refused == .refused(.other([Self.old.id], held: [Self.new.id])))
    #expect(try await store.keys().map(\.mark) == [Self.old.mark])
    _ = try await second.updateKeys(at: .noon(1)) { KeyRuling($0, holding: Self.swapped) }
    #expect(try await store.keys().map(\.mark) == [Self.old.mark, Self.new.mark])
    _ = try await second.updateKeys(at: .noon(2)) { KeyRuling($0, holding: Self.onlyNew) }
    #expect(try await store.keys() == [KeyInUse(Self.new.mark, since: Instant.noon(1).seconds)])
    await second.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of instances that start together with different keys one takes the store`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let stores = (0..<8).map { _ in fixture.open() }
    let rulings = try await withThrowingTaskGroup(of: KeyRuling.self) { group in
      for (index, store) in stores.enumerated() {
        let keys = StoreKeys(current: Self.key(UInt8(index + 1)))
        group.addTask { try await store.updateKeys(at: .noon()) { KeyRuling($0, holding: keys) } }
      }
      return try await group.reduce(into: [KeyRuling]()) { $0.append($1) }
    }
    #expect(rulings.filter { if case .usable = $0 { true } else { false } }.count == 1)
    #expect(try await store.keys().count == 1)
    for store in stores { await store.close() }
    await store.close()
  }

  /// The keys' own table stands in for a table of sealed values.
  @Test func `a table of sealed values says until when a key is needed`() async throws {
    let (fixture, store) = try await StoreFixture.migrated(.sqlite)
    defer { fixture.end() }
    _ = try await store.updateKeys(at: Instant(seconds: 7)) { KeyRuling($0, holding: Self.onlyOld) }
    await store.close()
    let tables = [
      SealedTable(
        "callgate_store_key", value: "check_value", key: "id", until: "since * 1000000000",
        for: .sealing)
    ]
    let connection = try SQLiteConnection(reading: fixture.path, vfs: nil)
    let (old, new) = (
      try SQLiteSession.sealed(by: Self.old.id, in: tables, connection),
      try SQLiteSession.sealed(by: Self.new.id, in: tables, connection)
    )
    #expect(KeyInUse(Self.old.mark, since: 7, old).sealedUntil == Instant(seconds: 7))
    #expect(KeyInUse(Self.new.mark, since: 7, new).sealedUntil == nil)
  }

  @Test func `a key is needed while an appointment that it sealed has not ended, whatever its time`() {
    let later = Self.until.later(1)
    func ruling(open: Bool, _ keys: StoreKeys) -> KeyRuling {
      KeyRuling([Self.row(Self.old, sealed: true, open: open), Self.row(Self.new)], holding: keys, at: later)
    }
    #expect(ruling(open: false, Self.onlyNew) == Self.usable(removed: [Self.old]))
    #expect(ruling(open: true, Self.onlyNew) == .refused(.stillSealed(Self.old.id, until: later)))
    #expect(
      ruling(open: true, Self.swapped)
        == Self.usable(previous: .init(id: Self.old.id, sealedUntil: later)))
  }
}
