// Tests of remembered numbers that every store must pass.

import Gate
import StoreSupport
import TestSupport
import Testing

@testable import Store

@Suite struct ProvenNumberContractTests {
  private static func number(_ number: Int, of owner: Int = 1) -> ProvenNumber {
    ProvenNumber(
      id: StoreID(high: UInt64(owner), low: UInt64(number)), owner: StoreID(high: 9, low: UInt64(owner)))
  }

  @Test(arguments: StoreKind.available)
  func `a subject has five numbers, and the one proven longest ago goes`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.proven(Self.number(1)) == nil)
    for index in 1...5 {
      try await store.remember(Self.number(index), at: .noon(Double(index)), until: .noon(999))
    }
    try await store.remember(Self.number(1, of: 2), at: .noon(), until: .noon(999))
    // After another proof, the first number is the newest.
    try await store.remember(Self.number(1), at: .noon(6), until: .noon(999))
    try await store.remember(Self.number(6), at: .noon(7), until: .noon(999))
    let other = fixture.open()
    #expect(try await other.proven(Self.number(1)) == .noon(6))
    #expect(try await other.proven(Self.number(2)) == nil)
    for index in 3...6 { #expect(try await other.proven(Self.number(index)) != nil) }
    #expect(try await other.proven(Self.number(1, of: 2)) == .noon())
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a number is forgotten after its time`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.remember(Self.number(1), at: .noon(), until: .noon(10))
    try await store.purge(at: .noon(9))
    #expect(try await store.proven(Self.number(1)) != nil)
    try await store.purge(at: .noon(10))
    #expect(try await store.proven(Self.number(1)) == nil)
    await store.close()
  }
}
