// Tests of a claim and its allowances when its notification is sent.

import API
import Configuration
import Gate
import Metrics
import Notices
import Platform
import Records
import Store
import Synchronization
import TestSupport
import Testing

@testable import PushDelivery

@Suite struct TokenPushTests {
  private func claim(_ fixture: PushFixture, _ sender: ScriptedSender) async throws -> ClaimBook.Finding {
    let id = try #require(sender.sent.last).id.exposed
    return try await fixture.book.find(id, for: fixture.id)
  }

  @Test func `a taken notice leaves a claim for a minute`() async throws {
    let fixture = try PushFixture()
    try await fixture.enrol()
    let sender = ScriptedSender()
    #expect(try await fixture.ask(fixture.push(sender)) == nil)
    let notice = try #require(sender.sent.first)
    #expect((notice.action, notice.text) == (.access, "Your secure connection is ready."))
    #expect(notice.ends.seconds == fixture.now.seconds + 60)
    #expect(sender.devices.map(\.exposed) == ["device-1"])
    guard case .live(let claim) = try await claim(fixture, sender) else {
      Issue.record("no claim")
      return
    }
    #expect((claim.installation, claim.appID) == (fixture.id, "shop"))
    #expect(try await !fixture.hasAllowance())
    #expect(fixture.metrics.notices.total("http", "taken") == 1)
  }

  @Test func `a notice that no provider takes is withdrawn, and its allowance given back`() async throws {
    let fixture = try PushFixture()
    try await fixture.enrol()
    let sender = ScriptedSender(.giveUp(reason: "a mistake"))
    let problem = try #require(try await fixture.ask(fixture.push(sender)))
    #expect((problem.code, problem.retryAfter) == (.upstreamUnavailable, 5))
    guard case .over = try await claim(fixture, sender) else {
      Issue.record("a claim that can be redeemed")
      return
    }
    #expect(try await fixture.hasAllowance())
  }

  @Test func `a device that is gone is dropped`() async throws {
    let fixture = try PushFixture()
    try await fixture.enrol()
    let problem = try await fixture.ask(
      fixture.push(ScriptedSender(.deviceGone(since: nil, reason: "unknown"))))
    #expect(problem?.code == .noDevice)
    #expect(try await fixture.memory.device(of: fixture.id) == nil)
    #expect(try await fixture.hasAllowance())
  }

  @Test(arguments: [(-1, true), (0, false), (1, false)])
  func `a device that was registered after its end is kept`(_ since: Int64, isKept: Bool) async throws {
    let fixture = try PushFixture()
    try await fixture.enrol()
    let end = UnixTime(seconds: fixture.now.seconds + since)
    let problem = try await fixture.ask(
      fixture.push(ScriptedSender(.deviceGone(since: end, reason: "unknown"))))
    #expect(problem?.code == .noDevice)
    #expect(try await (fixture.memory.device(of: fixture.id) != nil) == isKept)
  }

  @Test(arguments: [
    NoticeVerdict.deviceGone(since: nil, reason: "unknown"), .retry(after: .zero, reason: "busy"),
  ])
  func `a notice whose device is replaced while it is on its way goes to the new device`(
    _ verdict: NoticeVerdict
  ) async throws {
    let fixture = try PushFixture()
    try await fixture.enrol()
    let token = try #require(DeviceAddress("device-2", platform: .http))
    let sender = ScriptedSender(verdict) {
      do throws(Problem) {
        try await fixture.book.register(token, of: fixture.id)
      } catch {
        Issue.record("\(error)")
      }
    }
    #expect(try await fixture.ask(fixture.push(sender)) == nil)
    #expect(sender.devices.map(\.exposed) == ["device-1", "device-2"])
    #expect(Set(sender.sent.map(\.id)).count == 1)
    #expect(try await fixture.memory.device(of: fixture.id)?.token == "device-2")
    guard case .live = try await claim(fixture, sender) else {
      Issue.record("no claim")
      return
    }
  }

  @Test func `while a provider's wait runs a request gets what is left of it, rounded up, and its allowance`()
    async throws
  {
    let fixture = try PushFixture()
    try await fixture.enrol()
    let sender = ScriptedSender(.restProvider(for: .seconds(30), reason: "429"))
    let push = fixture.push(sender)
    for (elapsed, left) in [(Duration.zero, 30), (.milliseconds(300), 30), (.seconds(29), 1)] {
      fixture.clock.advance(by: elapsed)
      let problem = try #require(try await fixture.ask(push))
      #expect((problem.code, problem.retryAfter) == (.upstreamUnavailable, left))
    }
    #expect(sender.sent.count == 1)
    fixture.clock.advance(by: .milliseconds(700))
    #expect(try await fixture.ask(push) == nil)
  }

  @Test func `a provider that is not configured takes nothing`() async throws {
    let fixture = try PushFixture()
    try await fixture.enrol()
    let push = TokenPush(
      fixture.book, fixture.notices,
      NoticeSenders(
        [.fcm: ScriptedSender()], clock: fixture.clock, log: fixture.log, metrics: fixture.metrics),
      texts: Configuration.Notices().texts
    )
    #expect(try await fixture.ask(push)?.code == .upstreamUnavailable)
    #expect(try await fixture.hasAllowance())
  }

  @Test func `a store that fails before the claim gives the allowance back`() async throws {
    let fixture = try PushFixture(.open(isInDoubt: false))
    try await fixture.enrol()
    let sender = ScriptedSender()
    #expect(try await fixture.ask(fixture.push(sender))?.code == .storeUnavailable)
    #expect(sender.sent.isEmpty)
    #expect(try await fixture.hasAllowance())
  }

  @Test func `a claim in doubt gives its allowance back once, when it lapses`() async throws {
    let fixture = try PushFixture(.open(isInDoubt: true))
    try await fixture.enrol()
    #expect(try await fixture.ask(fixture.push(ScriptedSender()))?.code == .storeUnavailable)
    #expect(try await !fixture.hasAllowance())
    fixture.clock.advance(by: .seconds(60))
    await fixture.book.lapse()
    #expect(try await fixture.hasAllowance())
    #expect(try await !fixture.hasAllowance())
  }

  @Test func `a claim that cannot be withdrawn gives its allowance back when it lapses`() async throws {
    let fixture = try PushFixture(.withdraw)
    try await fixture.enrol()
    #expect(try await fixture.ask(fixture.push(ScriptedSender(.giveUp(reason: "x")))) != nil)
    #expect(try await !fixture.hasAllowance())
    fixture.clock.advance(by: .seconds(60))
    await fixture.book.lapse()
    #expect(try await fixture.hasAllowance())
  }

  @Test func `a client that leaves ends the tries, and keeps what was taken`() async throws {
    for (verdict, code) in [
      (NoticeVerdict.retry(after: .zero, reason: "busy"), Problem.Code.upstreamUnavailable),
      (.taken, nil),
    ] {
      let fixture = try PushFixture()
      try await fixture.enrol()
      let (gone, isOnItsWay) = (Barrier(), Barrier())
      let sender = ScriptedSender(verdict) {
        isOnItsWay.open()
        await gone.wait()
      }
      let push = fixture.push(sender)
      let request = Task { try await fixture.ask(push)?.code }
      await isOnItsWay.wait()
      request.cancel()
      gone.open()
      #expect(try await request.value == code)
      #expect(sender.sent.count == 1)
      #expect(try await fixture.hasAllowance() == (code != nil))
    }
  }

  @Test func `a device of a provider that this release does not know gets nothing`() async throws {
    let fixture = try PushFixture()
    try await fixture.enrol()
    try await fixture.memory.registerDevice(
      StoredDevice(installation: fixture.id, platform: "smoke", token: "x", registered: fixture.now))
    #expect(try await fixture.ask(fixture.push(ScriptedSender()))?.code == .upstreamUnavailable)
    #expect(try await fixture.hasAllowance())
  }
}

/// Lets tasks through once it is open.
private final class Barrier: Sendable {
  private let isOpen = Mutex(false)
  private let waiters = Waiters()

  func open() {
    isOpen.withLock { $0 = true }
    waiters.wakeAll()
  }

  func wait() async { await waiters.wait(unless: { isOpen.withLock { $0 } }) }
}
