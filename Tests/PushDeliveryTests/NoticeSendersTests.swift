// Tests of how often a notification is sent, and of senders that stop.

import Metrics
import Notices
import Platform
import Records
import Synchronization
import TestSupport
import Testing

@testable import PushDelivery

@Suite struct NoticeSendersTests {
  private let fixture: PushFixture
  private let notice: Notice
  private let device: DeviceAddress

  init() throws {
    fixture = try PushFixture()
    notice = Notice(
      id: try #require(NoticeID(String(repeating: "A", count: 32))), action: .access, text: "x",
      ends: UnixTime(seconds: 2_000_000_000))
    device = try #require(DeviceAddress("device-1", platform: .http))
  }

  private func senders(_ sender: ScriptedSender) -> NoticeSenders {
    NoticeSenders([.http: sender], clock: fixture.clock, log: fixture.log, metrics: fixture.metrics)
  }

  @Test func `a notice is sent three times at most, with longer pauses`() async throws {
    let retry = NoticeVerdict.retry(after: nil, reason: "busy")
    let sender = ScriptedSender(retry, retry, retry)
    let senders = senders(sender)
    let outcome = Task { await senders.send(notice, to: device) { true } }
    for pause in [Duration.milliseconds(300), .milliseconds(600)] {
      try await eventually { fixture.clock.due == [fixture.clock.now + pause] }
      fixture.clock.advance(by: pause)
    }
    #expect(await outcome.value == .notTaken(retryAfter: nil))
    #expect(sender.sent.map(\.id) == [notice.id, notice.id, notice.id])
    #expect(fixture.metrics.notices.total("http", "not_taken") == 1)
  }

  @Test func `a wait of the provider is kept where it ends in time`() async throws {
    let sender = ScriptedSender(.retry(after: .seconds(4), reason: "busy"))
    let senders = senders(sender)
    let outcome = Task { await senders.send(notice, to: device) { true } }
    try await eventually { !fixture.clock.due.isEmpty }
    #expect(fixture.clock.due == [fixture.clock.now + .seconds(4)])
    fixture.clock.advance(by: .seconds(4))
    #expect(await outcome.value == .taken)
    #expect(sender.sent.count == 2)
  }

  @Test func `a longer one ends the tries`() async {
    let sender = ScriptedSender(.retry(after: .seconds(5), reason: "busy"))
    #expect(await senders(sender).send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(5)))
    #expect(sender.sent.count == 1)
  }

  @Test func `a notice that is no longer wanted is not sent again`() async {
    let sender = ScriptedSender(.retry(after: .zero, reason: "busy"))
    #expect(await senders(sender).send(notice, to: device) { false } == .notTaken(retryAfter: .zero))
    #expect(sender.sent.count == 1)
  }

  @Test func `a stopped sender tries one notice every ten minutes, and resumes when one is accepted`() async {
    let stop = NoticeVerdict.stopSender(reason: "a wrong key")
    let sender = ScriptedSender(stop, stop)
    let senders = senders(sender)
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(600)))
    #expect(senders.isStopped(.http))
    fixture.clock.advance(by: .seconds(599))
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(1)))
    #expect(sender.sent.count == 1)
    fixture.clock.advance(by: .seconds(1))
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(600)))
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(600)))
    #expect(sender.sent.count == 2)
    fixture.clock.advance(by: .seconds(600))
    #expect(await senders.send(notice, to: device) { true } == .taken)
    #expect(!senders.isStopped(.http))
    #expect(fixture.metrics.notices.total("http", "stopped") == 4)
  }

  @Test func `an answer to a request begun before a stop does not end the stop`() async throws {
    let gate = Flag()
    let number = Atomic(0)
    let sender = ScriptedSender(.taken, .stopSender(reason: "410")) {
      guard number.wrappingAdd(1, ordering: .relaxed).oldValue == 0 else { return }
      while !gate.isSet { await Task.yield() }
    }
    let senders = senders(sender)
    let late = Task { await senders.send(notice, to: device) { true } }
    try await eventually { number.load(ordering: .relaxed) == 1 }
    fixture.clock.advance(by: .seconds(1))
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(600)))
    fixture.clock.advance(by: .seconds(1))
    gate.set()
    #expect(await late.value == .taken)
    #expect(senders.isStopped(.http))
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(599)))
  }

  @Test func `while a provider's wait runs nothing is sent to it, and what is left is told`() async {
    let sender = ScriptedSender(.restProvider(for: .seconds(30), reason: "429"))
    let senders = senders(sender)
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(30)))
    fixture.clock.advance(by: .milliseconds(29_500))
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .milliseconds(500)))
    #expect(senders.rest(.http) == .milliseconds(500) && !senders.isStopped(.http))
    #expect(sender.sent.count == 1)
    fixture.clock.advance(by: .milliseconds(500))
    #expect(senders.rest(.http) == nil)
    #expect(await senders.send(notice, to: device) { true } == .taken)
    #expect(fixture.metrics.notices.total("http", "resting") == 1)
    #expect(fixture.metrics.notices.total("http", "not_taken") == 1)
    #expect(fixture.metrics.notices.total("http", "stopped") == 0)
  }

  @Test func `the notice that met a short wait goes out after it, and others do not go before`() async throws
  {
    let sender = ScriptedSender(.restProvider(for: .seconds(2), reason: "503"))
    let senders = senders(sender)
    let first = Task { await senders.send(notice, to: device) { true } }
    try await eventually { !fixture.clock.due.isEmpty }
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(2)))
    fixture.clock.advance(by: .seconds(2))
    #expect(await first.value == .taken)
    #expect(sender.sent.count == 2)
  }

  @Test func `a device's wait does not delay other devices`() async throws {
    let sender = ScriptedSender(.restDevice(for: .seconds(30), reason: "429"))
    let senders = senders(sender)
    let other = try #require(DeviceAddress("device-2", platform: .http))
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(30)))
    #expect(await senders.send(notice, to: other) { true } == .taken)
    #expect(await senders.send(notice, to: device) { true } == .notTaken(retryAfter: .seconds(30)))
    #expect(sender.devices == [device, other] && senders.rest(.http) == nil)
  }

  @Test func `the POSTs of all tries are three`() async throws {
    let sender = ScriptedSender(
      posts: 2, .retry(after: .zero, reason: "busy"), .retry(after: .zero, reason: "busy"))
    #expect(await senders(sender).send(notice, to: device) { true } == .notTaken(retryAfter: .zero))
    #expect(sender.sent.count == 2)
  }

  @Test func `only configured providers are named`() {
    #expect(senders(ScriptedSender()).platforms == [.http])
    #expect(!senders(ScriptedSender()).isStopped(.apns))
  }
}
