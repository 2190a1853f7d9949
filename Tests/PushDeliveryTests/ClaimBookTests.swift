// Tests of claims: their IDs, and finding, redeeming and ending them.

import API
import JOSE
import Notices
import Platform
import Sealing
import Store
import Synchronization
import TestSupport
import Testing

@testable import Gate
@testable import PushDelivery

@Suite struct ClaimBookTests {
  private let fixture: PushFixture
  private let other: InstallationIdentity

  init() throws {
    fixture = try PushFixture(limit: 20)
    other = InstallationIdentity(
      try #require(InstallationID("00000000-0000-4000-8000-000000000002")), generation: 1)
  }

  /// Opens a claim, and returns the ID of its notification.
  private func open() async throws -> String {
    let sender = ScriptedSender()
    #expect(try await fixture.ask(fixture.push(sender)) == nil)
    return try #require(sender.sent.first).id.exposed
  }

  private func isLive(_ id: String, for installation: InstallationIdentity? = nil) async throws -> Bool {
    if case .live = try await fixture.book.find(id, for: installation ?? fixture.id) { true } else { false }
  }

  @Test func `ids are 32 characters of which each is used, and none comes twice`() throws {
    let keys = StoreKeys(current: try .generate())
    let ids = try (0..<2000).map { _ in try NoticeID.make(keys).exposed }
    #expect(Set(ids).count == 2000)
    #expect(ids.someAndAll { $0.utf8.count == 32 })
    #expect(Set(ids.joined()) == Set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))
  }

  @Test func `a claim is its installation's, for a minute, and is known for a day`() async throws {
    try await fixture.enrol()
    let id = try await open()
    #expect(try await isLive(id))
    guard case .foreign = try await fixture.book.find(id, for: other) else {
      Issue.record("another installation's")
      return
    }
    for text in ["", "x", String(repeating: "A", count: 32), id.lowercased(), id + "A"] {
      guard case .unknown = try await fixture.book.find(text, for: fixture.id) else {
        Issue.record("\(text) is known")
        return
      }
    }
    fixture.clock.advance(by: .milliseconds(59_999))
    #expect(try await isLive(id))
    fixture.clock.advance(by: .milliseconds(1))
    guard case .over = try await fixture.book.find(id, for: fixture.id) else {
      Issue.record("not over")
      return
    }
    fixture.clock.advance(by: .seconds(24 * 3600 - 60))
    guard case .unknown = try await fixture.book.find(id, for: fixture.id) else {
      Issue.record("known for more than a day")
      return
    }
  }

  @Test func `a claim is redeemed once`() async throws {
    try await fixture.enrol()
    guard case .live(let claim) = try await fixture.book.find(try await open(), for: fixture.id) else {
      Issue.record("no claim")
      return
    }
    try await fixture.book.redeem(claim)
    await #expect { try await fixture.book.redeem(claim) } throws: { ($0 as? Problem)?.code == .claimExpired }
  }

  @Test func `a redemption in doubt is not told as over`() async throws {
    let fixture = try PushFixture(.redeem)
    try await fixture.enrol()
    let sender = ScriptedSender()
    _ = try await fixture.ask(fixture.push(sender))
    guard case .live(let claim) = try await fixture.book.find(sender.sent[0].id.exposed, for: fixture.id)
    else {
      Issue.record("no claim")
      return
    }
    await #expect { try await fixture.book.redeem(claim) } throws: {
      ($0 as? Problem)?.code == .storeUnavailable
    }
  }

  @Test func `the ninth claim ends the first and gives its allowance back`() async throws {
    let fixture = try PushFixture(limit: 9)
    try await fixture.enrol()
    var ids: [String] = []
    for _ in 0..<9 {
      let sender = ScriptedSender()
      #expect(try await fixture.ask(fixture.push(sender)) == nil)
      ids.append(sender.sent[0].id.exposed)
      fixture.clock.advance(by: .milliseconds(1))
    }
    guard case .over = try await fixture.book.find(ids[0], for: fixture.id),
      case .live = try await fixture.book.find(ids[1], for: fixture.id)
    else {
      Issue.record("the wrong one gave way")
      return
    }
    #expect(try await fixture.hasAllowance())
    #expect(try await !fixture.hasAllowance())
  }

  @Test func `claims that lapse give their allowances back, redeemed ones do not`() async throws {
    let fixture = try PushFixture(limit: 2)
    try await fixture.enrol()
    let (first, second) = (ScriptedSender(), ScriptedSender())
    _ = try await fixture.ask(fixture.push(first))
    _ = try await fixture.ask(fixture.push(second))
    guard case .live(let claim) = try await fixture.book.find(first.sent[0].id.exposed, for: fixture.id)
    else {
      Issue.record("no claim")
      return
    }
    try await fixture.book.redeem(claim)
    fixture.clock.advance(by: .seconds(60))
    await fixture.book.lapse()
    await fixture.book.lapse()
    #expect(try await fixture.hasAllowance())
    #expect(try await !fixture.hasAllowance())
  }

  @Test func `the task that ends claims looks every other second`() async throws {
    let fixture = try PushFixture()
    try await fixture.enrol()
    _ = try await fixture.ask(fixture.push(ScriptedSender()))
    let isClockRight = Mutex(false)
    let task = Task { await fixture.book.keepLapsing { isClockRight.withLock { $0 } } }
    try await eventually { fixture.clock.due == [fixture.clock.now + .seconds(2)] }
    fixture.clock.advance(by: .seconds(60))
    try await eventually { fixture.clock.due == [fixture.clock.now + .seconds(2)] }
    // A process with a wrong clock leaves expired claims to others.
    #expect(try await !fixture.hasAllowance())
    isClockRight.withLock { $0 = true }
    fixture.clock.advance(by: .seconds(2))
    try await eventually { fixture.clock.due == [fixture.clock.now + .seconds(2)] }
    #expect(try await fixture.hasAllowance())
    task.cancel()
    await task.value
  }

  @Test func `an address may send sixty unknown ids a minute`() async throws {
    let address = try #require(IPAddress("2001:db8::1"))
    for _ in 0..<60 { try await fixture.book.countUnknown(from: address) }
    for text in ["2001:db8::1", "2001:db8::2:3"] {
      let address = try #require(IPAddress(text))
      await #expect { try await fixture.book.countUnknown(from: address) } throws: { error in
        guard let problem = error as? Problem else { return false }
        return problem.code == .rateLimited && problem.retryAfter == 1
      }
    }
    try await fixture.book.countUnknown(from: try #require(IPAddress("2001:db8:0:1::1")))
  }

  @Test func `receipts beyond the room that a claim has stay counted`() throws {
    #expect(KeptReceipts.receipts(KeptReceipts.bytes([])).isEmpty)
    let party = AllowanceParty.subject(String(repeating: "x", count: 1500))
    let quota = try Rule(
      name: "few", kind: .quota(Quota(limit: 1, period: .day), key: .subject, onStoreFailure: .deny))
    let rule = try #require(AllowanceRule(quota, index: 0))
    let receipt = AllowanceReceipt(rule: rule, party: party, taken: AllowanceState(mark: 1, count: 1))
    let bytes = KeptReceipts.bytes([receipt, receipt, receipt, receipt])
    #expect(bytes.count <= StoredClaim.mostReceiptBytes)
    #expect(KeptReceipts.receipts(bytes).count == 2)
    #expect(KeptReceipts.receipts(Array("[1]".utf8)).isEmpty)
    #expect(KeptReceipts.receipts([0xFF]).isEmpty)
  }
}
