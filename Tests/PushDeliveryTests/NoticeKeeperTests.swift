// Tests of when notifications about callbacks are sent, how often, and what is saved about them.

import API
import Configuration
import Gate
import JOSE
import Metrics
import Notices
import Platform
import Records
import Store
import Synchronization
import TestSupport
import Testing

@testable import PushDelivery

@Suite struct NoticeKeeperTests {
  private let fixture: PushFixture

  init() throws { fixture = try PushFixture() }

  private func senders(_ senders: [PushPlatform: any NoticeSender]) -> NoticeSenders {
    NoticeSenders(senders, clock: fixture.clock, log: fixture.log, metrics: fixture.metrics)
  }

  private func keeper(
    reading book: NoticeBook? = nil, isClockRight: @escaping @Sendable () -> Bool = { true },
    _ senders: @escaping @Sendable () -> NoticeSenders
  ) -> NoticeKeeper {
    NoticeKeeper(
      book ?? fixture.notices, fixture.book, scheduler: fixture.clock, metrics: fixture.metrics,
      isClockRight: isClockRight
    ) {
      NoticeKeeper.Setting(senders: senders(), texts: Configuration.Notices().texts)
    }
  }

  private func keeper(_ sender: any NoticeSender) -> NoticeKeeper {
    let senders = senders([.http: sender])
    return keeper { senders }
  }

  private func intent(_ id: InstallationIdentity? = nil, _ number: Int = 65) throws -> CallbackIntent {
    var intent = CallbackIntent(
      id: CallbackID(at: fixture.now), callerID: "installation", subject: nil, appID: "shop",
      contact: try E164("+141555501\(number)"), key: nil,
      terms: .init(dedupeWindow: .zero, keyRetention: .seconds(3600), retention: .seconds(86_400)),
      deadline: fixture.now.advanced(by: .seconds(30)))
    intent.notifies = id ?? fixture.id
    return intent
  }

  /// Books an appointment with a question some time before it.
  @discardableResult
  private func book(
    in span: Duration, asked before: Duration, for id: InstallationIdentity? = nil, _ number: Int = 65
  ) async throws -> CallbackID {
    let at = fixture.now.advanced(by: span)
    var booking = Booking(
      intent: try intent(id, number), at: at, slot: at.seconds, content: [],
      limits: .init(perSlot: 9, perNumber: 9))
    booking.confirmAt = at.advanced(by: .zero - before)
    #expect(try await fixture.memory.book(booking, at: fixture.now) == .booked)
    return booking.intent.id
  }

  /// A callback that has ended.
  private func ended(for id: InstallationIdentity? = nil) async throws -> CallbackID {
    let intent = try intent(id)
    #expect(try await fixture.memory.begin(intent, at: fixture.now) == .begun)
    try await fixture.memory.settle(
      intent.id, CallbackSettlement(.accepted, keepsKey: false, at: fixture.now))
    return intent.id
  }

  private func notices(of id: CallbackID) async throws -> CallbackNotices? {
    try await fixture.memory.callback(id, of: "installation")?.notices
  }

  /// Runs a keeper during a body, and stops the keeper afterwards.
  private func run(_ keeper: NoticeKeeper, _ body: () async throws -> Void) async throws {
    let task = Task { await keeper.run() }
    try await body()
    keeper.stop()
    await task.value
  }

  /// Waits until only the keeper's loop sleeps, and moves the clock to its next wake-up.
  private func advance(by span: Duration) async throws {
    let end = fixture.clock.now + span
    while fixture.clock.now < end {
      try await eventually { fixture.clock.sleeperCount == 1 }
      fixture.clock.advance(to: min(end, fixture.clock.due.first ?? end))
      try await eventually { fixture.clock.sleeperCount == 1 }
    }
  }

  private func counted(_ action: String, _ outcome: String) -> Int {
    fixture.metrics.callbackNotices.total(action, outcome)
  }

  // MARK: A call that comes now

  private func accepted() async throws -> StoredCallback {
    let id = try await ended()
    return try #require(try await fixture.memory.callback(id, of: "installation"))
  }

  @Test func `a call that comes is told with the number that it comes from`() async throws {
    try await fixture.enrol()
    let sender = ScriptedSender()
    let record = try await accepted()
    keeper(sender).announce(record, from: "+18500000000")
    try await eventually { counted("calling", "taken") == 1 }
    let notice = try #require(sender.sent.first)
    #expect(sender.sent.count == 1 && notice.action == .calling)
    #expect(notice.text == "We're calling you now from +18500000000.")
    let found = try await fixture.notices.find(notice.id.exposed)
    #expect(found?.notice.action == .calling && found?.notice.callback == record.id && found?.isLive == false)
    keeper(sender).announce(record, from: nil)
    try await eventually { counted("calling", "taken") == 2 }
    #expect(sender.sent.last?.text == "We're calling you now from our number.")
    #expect(sender.sent.last?.id != notice.id)
  }

  @Test func `a call that comes is not told later`() async throws {
    try await fixture.enrol()
    let sender = ScriptedSender(.retry(after: .seconds(31), reason: "busy"), .taken)
    keeper(sender).announce(try await accepted(), from: nil)
    try await eventually { counted("calling", "dropped") == 1 }
    #expect(sender.sent.count == 1)
  }

  @Test func `without a device the phone rings unannounced`() async throws {
    let sender = ScriptedSender()
    keeper(sender).announce(try await accepted(), from: nil)
    try await eventually { counted("calling", "dropped") == 1 }
    #expect(sender.sent.isEmpty)
  }

  // MARK: Sending

  @Test func `a question is sent at its time, once`() async throws {
    try await fixture.enrol()
    let sender = ScriptedSender()
    let id = try await book(in: .seconds(300), asked: .milliseconds(297_300))
    try await run(keeper(sender)) {
      try await advance(by: .milliseconds(2699))
      #expect(sender.sent.isEmpty)
      try await advance(by: .milliseconds(1))
      try await eventually { counted("confirm", "taken") == 1 }
      try await advance(by: .seconds(60))
    }
    #expect(sender.sent.map(\.action) == [.confirm] && sender.devices.map(\.exposed) == ["device-1"])
    #expect(sender.sent[0].text == "We are about to call you. Are you ready?")
    // The notification is valid until the call.
    #expect(sender.sent[0].ends == UnixTime(seconds: 1_800_000_300))
    #expect(try await notices(of: id)?.state == .taken)
    let found = try #require(try await fixture.notices.find(sender.sent[0].id.exposed))
    #expect(found.notice.callback == id && found.isLive)
    #expect(try await fixture.notices.find(String(repeating: "A", count: 32)) == nil)
    #expect(try await fixture.notices.find("x") == nil)
    fixture.clock.advance(by: .seconds(86_400))
    #expect(try await fixture.notices.find(sender.sent[0].id.exposed) == nil)
  }

  @Test func `with a wrong clock no notice is sent or dropped`() async throws {
    try await fixture.enrol()
    let sender = ScriptedSender()
    let late = try await book(in: .seconds(20), asked: .seconds(19))
    let isRight = Mutex(false)
    let senders = senders([.http: sender])
    try await run(keeper(isClockRight: { isRight.withLock { $0 } }) { senders }) {
      try await advance(by: .seconds(10))
      #expect(sender.sent.isEmpty)
      #expect(try await notices(of: late)?.state == .waiting)
      isRight.withLock { $0 = true }
      try await advance(by: .seconds(2))
      try await eventually { counted("confirm", "taken") == 1 }
    }
    #expect(sender.sent.map(\.action) == [.confirm])
  }

  @Test func `each end is notified after a second, unless the app has read it`() async throws {
    try await fixture.enrol()
    let sender = ScriptedSender()
    let (first, second) = (try await ended(), try await ended())
    let record = try #require(try await fixture.memory.callback(second, of: "installation"))
    fixture.notices.told(record)
    try await eventually { try await notices(of: second)?.state == .told }
    try await run(keeper(sender)) {
      try await advance(by: .milliseconds(999))
      #expect(sender.sent.isEmpty)
      try await advance(by: .milliseconds(1))
      try await eventually { counted("changed", "taken") == 1 }
      try await advance(by: .seconds(5))
    }
    #expect(sender.sent.map(\.action) == [.changed])
    #expect(try await fixture.notices.find(sender.sent[0].id.exposed)?.notice.callback == first)
    #expect(try await fixture.notices.find(sender.sent[0].id.exposed)?.isLive == false)
  }

  @Test func `news of more than an hour is dropped, and so is a question that is late`() async throws {
    try await fixture.enrol()
    let sender = ScriptedSender()
    let late = try await book(in: .seconds(30), asked: .seconds(20))
    _ = try await ended()
    fixture.clock.advance(by: .seconds(3700))
    try await run(keeper(sender)) {
      try await eventually { counted("confirm", "dropped") == 1 }
      try await advance(by: .seconds(3))
    }
    #expect(sender.sent.isEmpty)
    #expect(try await notices(of: late)?.state == .dropped)
  }

  // MARK: Trying again

  @Test func `a notice is tried three times, each with the same id`() async throws {
    try await fixture.enrol()
    let busy = NoticeVerdict.retry(after: nil, reason: "busy")
    let sender = ScriptedSender(busy, .retry(after: .seconds(7), reason: "busy"), busy)
    let id = try await ended()
    let start = fixture.clock.now
    try await run(keeper(sender)) {
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "again") == 1 }
      try await advance(by: .milliseconds(1999))
      #expect(sender.sent.count == 1)
      try await advance(by: .milliseconds(1))
      try await eventually { counted("changed", "again") == 2 }
      try await advance(by: .milliseconds(6999))
      #expect(sender.sent.count == 2)
      try await advance(by: .milliseconds(1))
      try await eventually { counted("changed", "dropped") == 1 }
      try await advance(by: .seconds(60))
    }
    #expect(fixture.clock.now - start == .seconds(70))
    #expect(Set(sender.sent.map(\.id)).count == 1 && sender.sent.count == 3)
    #expect(try await notices(of: id)?.state == .dropped)
  }

  @Test func `a device that its provider does not know is forgotten, and the next one gets the notice`()
    async throws
  {
    try await fixture.enrol()
    let id = try await ended()
    let sender = ScriptedSender(.deviceGone(since: nil, reason: "unknown"))
    try await run(keeper(sender)) {
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "again") == 1 }
      #expect(try await fixture.memory.device(of: fixture.id) == nil)
      #expect(try await notices(of: id)?.state == .waiting)
      try await advance(by: .seconds(60))
      #expect(sender.sent.count == 1)
      try await fixture.enrol("device-2")
      try await advance(by: NoticeReach.interval)
      try await eventually { counted("changed", "taken") == 1 }
    }
    #expect(sender.devices.map(\.exposed) == ["device-1", "device-2"])
  }

  @Test func `a notice whose device is replaced while it is on its way goes to the new device`() async throws
  {
    try await fixture.enrol()
    _ = try await ended()
    let token = try #require(DeviceAddress("device-2", platform: .http))
    let sender = ScriptedSender(.deviceGone(since: nil, reason: "unknown")) { [fixture] in
      do throws(Problem) {
        try await fixture.book.register(token, of: fixture.id)
      } catch {
        Issue.record("\(error)")
      }
    }
    try await run(keeper(sender)) {
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "again") == 1 }
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "taken") == 1 }
    }
    #expect(sender.devices.map(\.exposed) == ["device-1", "device-2"])
    #expect(Set(sender.sent.map(\.id)).count == 1)
  }

  // MARK: Resting

  @Test func `while a provider's wait runs notices wait without a try, and go out right after`() async throws
  {
    try await fixture.enrol()
    let first = try await ended()
    let sender = ScriptedSender(.restProvider(for: .seconds(40), reason: "429"))
    try await run(keeper(sender)) {
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "again") == 1 }
      let second = try await ended()
      try await advance(by: .milliseconds(39_900))
      #expect(sender.sent.count == 1)
      #expect(try await notices(of: first)?.tries == 1)
      #expect(try await notices(of: second)?.tries == 0)
      try await advance(by: .milliseconds(1200))
      try await eventually { counted("changed", "taken") == 2 }
    }
    #expect(sender.sent.count == 3 && counted("changed", "again") == 1)
  }

  @Test func `a reload restarts a resting sender`() async throws {
    try await fixture.enrol()
    _ = try await ended()
    let (resting, next) = (
      ScriptedSender(.restProvider(for: .seconds(3600), reason: "503")), ScriptedSender()
    )
    let (before, after) = (senders([.http: resting]), senders([.http: next]))
    let isReloaded = Flag()
    try await run(keeper { isReloaded.isSet ? after : before }) {
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "again") == 1 }
      try await advance(by: .seconds(20))
      #expect(next.sent.isEmpty)
      isReloaded.set()
      try await advance(by: .seconds(2))
      try await eventually { counted("changed", "taken") == 1 }
    }
    #expect(resting.sent.count == 1 && next.sent.count == 1)
  }

  @Test func `what a device's wait holds up is sent after it, without a try`() async throws {
    try await fixture.enrol()
    let sender = ScriptedSender(.restDevice(for: .seconds(40), reason: "429"))
    try await run(keeper(sender)) {
      _ = try await ended()
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "again") == 1 }
      let second = try await ended()
      try await advance(by: .seconds(2))
      try await eventually { counted("changed", "again") == 2 }
      #expect(try await notices(of: second)?.tries == 0)
      try await advance(by: .seconds(37))
      #expect(sender.sent.count == 1)
      try await advance(by: .seconds(2))
      try await eventually { counted("changed", "taken") == 2 }
    }
    #expect(sender.sent.count == 3 && counted("changed", "again") == 2)
  }

  @Test func `the POSTs of a notice are three, also those that stop a sender`() async throws {
    try await fixture.enrol()
    let id = try await ended()
    let stop = NoticeVerdict.stopSender(reason: "a wrong key")
    let sender = ScriptedSender(posts: 2, stop, stop)
    try await run(keeper(sender)) {
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "again") == 1 }
      try await advance(by: .seconds(620))
      try await eventually { counted("changed", "dropped") == 1 }
    }
    #expect(sender.sent.count == 2)
    #expect(try await notices(of: id)?.state == .dropped)
  }

  @Test func `a stopped sender tries one notice every ten minutes, and all after a reload`() async throws {
    try await fixture.enrol()
    for _ in 0..<3 { _ = try await ended() }
    let stop = NoticeVerdict.stopSender(reason: "a wrong key")
    let (wrong, right) = (ScriptedSender(stop, stop, stop, stop, stop, stop), ScriptedSender())
    let first = senders([.http: wrong])
    let second = senders([.http: right])
    let isReloaded = Flag()
    try await run(keeper { isReloaded.isSet ? second : first }) {
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "again") == 3 }
      let begun = wrong.sent.count
      try await advance(by: .seconds(590))
      #expect(first.isStopped(.http) && wrong.sent.count == begun)
      try await advance(by: .seconds(20))
      try await eventually { wrong.sent.count == begun + 1 }
      try await eventually { counted("changed", "again") == 4 }
      isReloaded.set()
      try await advance(by: .seconds(2))
      try await eventually { counted("changed", "taken") == 3 }
    }
    #expect(right.sent.count == 3)
  }

  @Test func `a hanging provider does not delay others, and another instance sends what this one cannot`()
    async throws
  {
    let other = InstallationIdentity(
      try #require(InstallationID("00000000-0000-4000-8000-000000000002")), generation: 1)
    try await fixture.enrol()
    try await fixture.enrol("device-2", other)
    try await fixture.memory.registerDevice(
      StoredDevice(installation: other, platform: "fcm", token: "device-2", registered: fixture.now))
    let gate = Flag()
    let hanging = ScriptedSender(meanwhile: { while !gate.isSet { await Task.yield() } })
    let well = ScriptedSender()
    let (slow, fast) = (try await ended(), try await ended(for: other))
    let elsewhere = ScriptedSender()
    try await run(keeper(self.senders([.http: hanging, .fcm: well]).asClosure)) {
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "taken") == 1 }
      #expect(try await notices(of: fast)?.state == .taken)
      try await run(keeper(elsewhere)) {
        // Two loops sleep now.
        fixture.clock.advance(by: .seconds(19))
        try await eventually { fixture.clock.sleeperCount == 2 }
        #expect(elsewhere.sent.isEmpty)
        fixture.clock.advance(by: .seconds(2))
        try await eventually { elsewhere.sent.count == 1 }
        try await eventually { counted("changed", "taken") == 2 }
      }
      gate.set()
    }
    #expect(try await notices(of: slow)?.state == .taken)
    #expect(elsewhere.sent.map(\.id) == hanging.sent.map(\.id))
  }

  @Test func `notices that cannot be sent are passed over a few times a minute, and hold up no other`()
    async throws
  {
    let other = InstallationIdentity(
      try #require(InstallationID("00000000-0000-4000-8000-000000000002")), generation: 1)
    try await fixture.enrol()
    try await fixture.enrol("device-2", other)
    try await fixture.memory.registerDevice(
      StoredDevice(installation: other, platform: "fcm", token: "device-2", registered: fixture.now))
    for _ in 0..<100 { _ = try await ended(for: other) }
    fixture.clock.advance(by: .seconds(60))
    let counting = CountingNotices(fixture.memory)
    let book = NoticeBook(
      store: counting, directory: fixture.directory, keys: fixture.notices.keys, clock: fixture.clock)
    let well = ScriptedSender()
    let sending = senders([.http: well])
    try await run(keeper(reading: book, sending.asClosure)) {
      try await advance(by: .seconds(58))
      // One query a second. Only every fifteenth reads all hundred records.
      #expect(counting.looks >= 58 && counting.rows <= 500)
      _ = try await ended()
      try await advance(by: .seconds(1))
      try await eventually { counted("changed", "taken") == 1 }
      // A notification saved late, for a time that was already read, is found by the next full query.
      try await fixture.memory.removeDevice(of: other)
      try await fixture.enrol("device-2", other)
      try await advance(by: NoticeReach.interval)
      try await eventually { counted("changed", "taken") == 101 }
    }
    #expect(well.sent.count == 101)
  }

  @Test func `without a device nothing is sent until there is one`() async throws {
    try await fixture.enrol()
    try await fixture.memory.removeDevice(of: fixture.id)
    _ = try await ended()
    let sender = ScriptedSender()
    try await run(keeper(sender)) {
      try await advance(by: .seconds(10))
      #expect(sender.sent.isEmpty)
      try await fixture.enrol("device-3")
      try await advance(by: NoticeReach.interval)
      try await eventually { counted("changed", "taken") == 1 }
    }
    #expect(sender.devices.map(\.exposed) == ["device-3"])
  }
}

/// A condition that a test sets.
final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .relaxed) }
  func set() { value.store(true, ordering: .relaxed) }
}

extension NoticeSenders {
  fileprivate var asClosure: @Sendable () -> NoticeSenders { { self } }
}
