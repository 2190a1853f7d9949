// Tests of the ends of audit chains that every store must pass.

import Store
import TestSupport
import Testing

@Suite struct AuditAnchorContractTests {
  @Test(arguments: StoreKind.available)
  func `the store has the last anchor of each start, and triggers are no anchors`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.anchors() == [])
    let first = StoredAnchor(boot: "00000000000000aa", sequence: 1, code: "AAAAAAAAAAAAAAAAAAAAAA")
    let other = StoredAnchor(
      boot: "00000000000000bb", sequence: 1, code: "BBBBBBBBBBBBBBBBBBBBBA", follows: "DDDDDDDDDDDDDDDDDDDDDA"
    )
    let later = StoredAnchor(boot: first.boot, sequence: .max, code: "CCCCCCCCCCCCCCCCCCCCCA")
    let trigger = StoredTrigger(name: "callEnds", id: "1", mark: "m")
    try await store.save(other)
    try await store.save(first)
    try await store.save(trigger)
    try await store.save(later)
    #expect(try await store.anchors() == [later, other])
    #expect(try await store.triggers() == [trigger])
    let second = fixture.open()
    #expect(try await second.anchors() == [later, other])
    await second.close()
    await store.close()
  }
}
