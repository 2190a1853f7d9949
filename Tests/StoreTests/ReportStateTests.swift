// Tests, for every store, of the saved position in the report of calls.

import Gate
import StoreSupport
import TestSupport
import Testing

@testable import Store

@Suite struct ReportStateTests {
  private static let full = ReportState(
    readUntil: .noon(), lease: ReportState.Lease(holder: "a", until: .noon(7200)),
    failures: ReportState.Failures(end: .noon(60), count: 2, next: .noon(600.5)))

  @Test(arguments: StoreKind.available)
  func `instances share how far the report was read, and who asks`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    #expect(try await store.updateReport { (nil, $0) } == nil)
    for state in [ReportState(readUntil: .noon()), Self.full, ReportState(readUntil: .noon(60))] {
      #expect(try await store.updateReport { _ in (state, true) })
      #expect(try await other.updateReport { (nil, $0) } == state)
    }
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of instances that ask at once one gets the turn`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    for isFirst in [true, false] {
      if !isFirst { try await store.updateReport { _ in (ReportState(readUntil: .noon()), ()) } }
      let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<8 {
          group.addTask {
            try await (number.isMultiple(of: 2) ? store : other).updateReport { state in
              guard state?.lease == nil else { return (nil, false) }
              let lease = ReportState.Lease(holder: "\(number)", until: .noon(7200))
              return (ReportState(readUntil: .noon(), lease: lease), true)
            }
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(taken == 1)
    }
    await other.close()
    await store.close()
  }

  @Test(arguments: ["", "x", "{}", #"{"read":"1"}"#, #"{"asks":{"instance":"a","until":1}}"#])
  func `a text that no release wrote is not a state`(text: String) {
    #expect(ReportState(stored: text) == nil)
  }

  @Test func `a state is read as it was written, with members of later releases`() {
    #expect(ReportState(stored: Self.full.stored) == Self.full)
    let later = Self.full.stored.dropLast() + #","later":[1]}"#
    #expect(ReportState(stored: String(later)) == Self.full)
  }
}
