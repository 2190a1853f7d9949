// Tests of the verification codes of callbacks that every store must pass.

import Gate
import JOSE
import Sealing
import Store
import Testing

@Suite(.timeLimit(.minutes(5))) struct SealedCodeContractTests {
  private static func keys(_ byte: UInt8) -> StoreKeys {
    StoreKeys(current: StoreKey(Secret([UInt8](repeating: byte, count: 32))))
  }
  private static let (old, new) = (keys(1), keys(2))

  /// An intent with a code that is kept for an hour after the callback ends.
  private static func intent(
    _ contact: String = "+14155550165", key: String? = nil, by keys: StoreKeys = old,
    retention: Double = 86_400,
    deadline: Double = 20
  ) throws -> CallbackIntent {
    var intent = CallbackIntent.made(
      contact, key: key, retention: .seconds(retention), deadline: deadline)
    intent.sealedCode = try keys.seal(Array("755224".utf8), for: .sealing, associated: intent.id.bytes)
    return intent
  }

  private func code(_ intent: CallbackIntent, _ store: any Store) async throws -> SealedCode? {
    try await store.callback(intent.id, of: "ios-app")?.verificationCode
  }

  @Test(arguments: StoreKind.available)
  func `a code is kept with its callback for the retention of keys after the end, and then forgotten`(
    _ kind: StoreKind
  ) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = try Self.intent(key: "k")
    let plain = CallbackIntent.made("+14155550166")
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await store.begin(plain, at: .noon()) == .begun)
    let begun = try await code(intent, store)
    #expect(begun?.sealed == intent.sealedCode)
    #expect(begun?.until == .noon(20 + 10 + 3600), "as if it ended at the last moment")
    let settled = try await store.settle(intent.id, .accepted(at: .noon(5)))
    #expect(settled?.verificationCode?.until == .noon(5 + 3600))
    #expect(try await store.callback(intent.id, of: "ios-app") == settled)
    // A repeated request shows the same code.
    #expect(
      try await store.standing(of: Self.intent(key: "k"), at: .noon(9)).key.code == intent.sealedCode)
    #expect(
      try await store.callbacks(CallbackQuery(limit: 2)).map { $0.verificationCode?.sealed }
        .contains(intent.sealedCode))
    try await store.purge(at: .noon(3604))
    #expect(try await code(intent, store)?.sealed == intent.sealedCode)
    try await store.purge(at: .noon(3605))
    let after = try #require(try await store.callback(intent.id, of: "ios-app"))
    #expect(after.verificationCode == nil && after.status == .accepted && after.settledAt == .noon(5))
    try await store.purge(at: .noon(9000))
    #expect(try await code(plain, store) == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the record stays for as long as its code, and a pending one keeps it`(_ kind: StoreKind) async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = try Self.intent(retention: 1)
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    try await store.purge(at: .noon(90_000))
    #expect(try await code(intent, store) != nil)
    _ = try await store.settle(intent.id, .accepted(at: .noon(20)))
    try await store.purge(at: .noon(3619))
    #expect(try await code(intent, store) != nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func
    `the code of a callback that nobody settles is kept from then on, and from its outcome if that comes after all`(
      _ kind: StoreKind
    ) async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = try Self.intent()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await store.recoverCallbacks(at: .noon(500)).callbacks == 1)
    #expect(try await code(intent, store)?.until == .noon(500 + 3600))
    _ = try await store.settle(intent.id, .accepted(at: .noon(600)))
    #expect(try await code(intent, store) == SealedCode.made(intent, until: .noon(600 + 3600)))
    try await store.purge(at: .noon(4100))
    #expect(try await code(intent, store) != nil)
    try await store.purge(at: .noon(4200))
    #expect(try await code(intent, store) == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a code that is withdrawn with its callback is gone`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = try Self.intent()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    try await store.withdraw(intent.id)
    #expect(try await store.callback(intent.id, of: "ios-app") == nil)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a store key is needed until the last code that it sealed is forgotten`(_ kind: StoreKind) async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let rotation = StoreKeys(current: Self.new.current, previous: Self.old.current)
    _ = try await store.updateKeys(at: .noon()) { KeyRuling($0, holding: Self.old) }
    _ = try await store.updateKeys(at: .noon(1)) { KeyRuling($0, holding: rotation) }
    #expect(try await store.keys().map(\.sealedUntil) == [nil, nil])
    for (number, second) in [5.0, 9, 7].enumerated() {
      let intent = try Self.intent("+1415555016\(number)")
      #expect(try await store.begin(intent, at: .noon()) == .begun)
      _ = try await store.settle(intent.id, .accepted(at: .noon(second)))
    }
    #expect(try await store.keys().map(\.sealedUntil) == [.noon(3609), nil])
    let refused = try await store.updateKeys(at: .noon(9)) { KeyRuling($0, holding: Self.new) }
    #expect(refused == .refused(.stillSealed(Self.old.current.id, until: .noon(3609))))
    try await store.purge(at: .noon(3609))
    #expect(try await store.keys().map(\.sealedUntil) == [nil, nil])
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `what a key has sealed is sealed with the other, and what does not open is removed`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let rotation = StoreKeys(current: Self.new.current, previous: Self.old.current)
    _ = try await store.updateKeys(at: .noon()) { KeyRuling($0, holding: Self.old) }
    _ = try await store.updateKeys(at: .noon(1)) { KeyRuling($0, holding: rotation) }
    // More rows than SQLite replaces in one transaction.
    let count = kind == .sqlite ? 260 : 20
    let intents = try (100..<100 + count).map { try Self.intent("+14155550\($0)") }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for intent in intents { group.addTask { _ = try await store.begin(intent, at: .noon()) } }
      try await group.waitForAll()
    }
    let theirs = try Self.intent("+14155550099", by: Self.new)
    #expect(try await store.begin(theirs, at: .noon()) == .begun)
    let damaged = intents[3].id.bytes
    let replaced = try await store.reseal(Self.old.current.id) { value in
      guard value.id != damaged,
        let code = try? rotation.open(value.sealed, for: value.purpose, associated: value.id)
      else {
        return nil
      }
      return try? rotation.seal(code, for: value.purpose, associated: value.id)
    }
    #expect(replaced == count)
    #expect(try await store.keys().map(\.sealedUntil) == [nil, .noon(3630)])
    for (index, intent) in intents.enumerated() {
      let kept = try await code(intent, store)
      guard index != 3 else {
        #expect(kept == nil)
        continue
      }
      #expect(kept?.until == .noon(3630))
      let opened = try Self.new.open(try #require(kept).sealed, for: .sealing, associated: intent.id.bytes)
      #expect(opened == Array("755224".utf8))
    }
    #expect(try await code(theirs, store)?.sealed == theirs.sealedCode)
    // The callbacks continue as before.
    let settled = try await store.settle(intents[0].id, .accepted(at: .noon(5)))
    #expect(settled?.verificationCode?.until == .noon(3605))
    _ = try await store.settle(intents[3].id, .accepted(at: .noon(5)))
    try await store.purge(at: .noon(3605))
    #expect(try await code(intents[0], store) == nil)
    await store.close()
  }
}

extension KeyStanding {
  fileprivate var code: [UInt8]? {
    if case .replay(let record) = self { record.verificationCode?.sealed } else { nil }
  }
}

extension SealedCode {
  fileprivate static func made(_ intent: CallbackIntent, until: Instant) -> SealedCode? {
    intent.sealedCode.map { SealedCode($0, until: until) }
  }
}
