// Tests of outcomes of calls that every store must pass.

import Gate
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore
@testable import SQLiteStore
@testable import Store

@Suite struct OutcomeContractTests {
  private static let own = "+18005550199"

  private static func intent(_ contact: String = "+14155550165", at seconds: Double = 0) throws
    -> CallbackIntent
  {
    var intent = CallbackIntent.made(contact, window: .zero, at: .noon(seconds))
    intent.talkdeskNumber = try E164(own)
    return intent
  }

  private static func call(
    _ id: String = "c1", _ contact: String = "+14155550165", from own: String = own, at seconds: Double = 5,
    _ state: CallOutcome.State = .reached
  ) throws -> EndedCall {
    EndedCall(
      id: id, contact: try E164(contact), talkdesk: try E164(own), start: .noon(seconds),
      outcome: CallOutcome(
        state, source: .trigger, at: .noon(seconds + 52), talkSeconds: 40, waitedSeconds: 12))
  }

  private static let window = CallWindow(before: .seconds(10), after: .seconds(7200))

  private static func conclude(_ store: any Store, _ call: EndedCall) async throws -> CallMatch {
    try await store.conclude(call, within: window, at: .noon(60))
  }

  @Test(arguments: StoreKind.available)
  func `one callback that fits gets the outcome, once, and keeps it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = try Self.intent()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    #expect(try await Self.conclude(store, Self.call()) == .pending, "before its own commit")
    try await store.settle(intent.id, .accepted())
    guard case .set(let record) = try await Self.conclude(store, Self.call()) else {
      Issue.record("it was not set")
      return
    }
    #expect(record.id == intent.id && record.status == .accepted)
    #expect(record.outcome?.state == .reached && record.outcome?.talkSeconds == 40)
    guard case .known(record) = try await Self.conclude(store, Self.call()) else {
      Issue.record("a repeated event is a new one")
      return
    }
    // A second call never overrules the first.
    #expect(try await Self.conclude(store, Self.call("c2", at: 5, .notReached)) == .none)
    let other = fixture.open()
    let read = try await other.callback(intent.id, of: "ios-app")
    #expect(read == record && read?.outcome?.waitedSeconds == 12 && read?.outcome?.at == .noon(57))
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `none of more callbacks than are read is reported`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    for index in 0..<EndedCall.mostRead {
      let intent = try Self.intent()
      #expect(try await store.begin(intent, at: .noon()) == .begun)
      try await store.settle(intent.id, index == 0 ? .accepted() : .failed())
    }
    #expect(try await Self.conclude(store, Self.call()) == .several)
    await store.close()
  }

  /// Writes the outcome of a callback that was matched before, as another instance's event would.
  private static func write(
    _ id: CallbackID, _ call: EndedCall, _ store: any Store
  ) async throws -> StoredCallback? {
    let written = Mutex<StoredCallback?>(nil)
    let job = UpdateJob(
      work: .callback(
        .conclude(id, call, within: window, at: .noon(60)) { record in written.withLock { $0 = record } }),
      finish: { _ in })
    if let store = store as? QueuedStore<SQLiteSession> {
      try await store.sessions.call(.writes) { session throws(StoreError) in try session.updateAll([job]) }
    } else if let store = store as? QueuedStore<PostgresSession> {
      try await store.sessions.call(.writes) { session throws(StoreError) in try session.updateAll([job]) }
    } else {
      Issue.record("a store of another kind")
    }
    return written.withLock { $0 }
  }

  @Test(arguments: StoreKind.available)
  func `a callback that begins between the match and its writing counts`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let alone = try Self.intent("+14155550166")
    #expect(try await store.begin(alone, at: .noon()) == .begun)
    try await store.settle(alone.id, .accepted())
    #expect(try await Self.write(alone.id, Self.call("c0", "+14155550166"), store)?.id == alone.id)
    let (first, second) = (try Self.intent(), try Self.intent(at: 1))
    for (intent, time) in [(first, 0.0), (second, 1)] {
      #expect(try await store.begin(intent, at: .noon(time)) == .begun)
      try await store.settle(intent.id, .accepted())
    }
    #expect(try await Self.write(first.id, Self.call(), store) == nil)
    #expect(try await store.callback(first.id, of: "ios-app")?.outcome == nil)
    #expect(try await Self.conclude(store, Self.call()) == .several)
    // A callback outside the window does not count.
    let late = try Self.intent("+14155550167")
    let later = try Self.intent("+14155550167", at: 16)
    for (intent, time) in [(late, 0.0), (later, 15.5)] {
      #expect(try await store.begin(intent, at: .noon(time)) == .begun)
      try await store.settle(intent.id, .accepted())
    }
    #expect(try await Self.write(late.id, Self.call("c9", "+14155550167"), store)?.id == late.id)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a call that two sources tell is one, whatever they call it`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    func reported(_ id: String, at seconds: Double) throws -> EndedCall {
      let call = try Self.call(id, at: seconds)
      return EndedCall(
        id: id, contact: call.contact, talkdesk: call.talkdesk, start: call.start,
        outcome: CallOutcome(
          .reached, source: .report, at: call.outcome.at, talkSeconds: 40, waitedSeconds: 12))
    }
    let (first, second) = (try Self.intent(), try Self.intent(at: 600))
    for (intent, time) in [(first, 0.0), (second, 600)] {
      #expect(try await store.begin(intent, at: .noon(time)) == .begun)
      try await store.settle(intent.id, .accepted())
    }
    // This call is the second callback's. The first led to no call.
    guard case .several = try await Self.conclude(store, Self.call("c2", at: 605)) else {
      Issue.record("both fit")
      return
    }
    guard case .set(let record) = try await Self.conclude(store, Self.call("c1", at: 5)) else {
      Issue.record("the first one alone fits")
      return
    }
    #expect(record.id == first.id)
    guard case .known(let known) = try await Self.conclude(store, reported("r1", at: 5)) else {
      Issue.record("the report tells the same call")
      return
    }
    #expect(known.id == first.id)
    guard case .set(let other) = try await Self.conclude(store, reported("r2", at: 605)) else {
      Issue.record("now the second one alone fits")
      return
    }
    #expect(other.id == second.id && other.outcome?.source == .report)
    guard case .known = try await Self.conclude(store, Self.call("c2", at: 640)) else {
      Issue.record("an event that comes after the report tells the same call")
      return
    }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `only a callback of both numbers in the window fits`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let intent = try Self.intent()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    try await store.settle(intent.id, .accepted())
    #expect(try await Self.conclude(store, Self.call("c2", "+14155550166")) == .none)
    #expect(try await Self.conclude(store, Self.call("c3", from: "+18005550100")) == .none)
    #expect(try await Self.conclude(store, Self.call("c4", at: 7201)) == .none)
    #expect(try await Self.conclude(store, Self.call("c5", at: -10.5)) == .none)
    guard case .set = try await Self.conclude(store, Self.call("c6", at: -10)) else {
      Issue.record("the edge of the window is out of it")
      return
    }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a call that may be of a callback without saved numbers explains no other one`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    // Saved as by a release that had no outcomes.
    let silent = CallbackIntent.made("+14155550165", window: .zero)
    #expect(try await store.begin(silent, at: .noon()) == .begun)
    let intent = try Self.intent(at: 100)
    #expect(try await store.begin(intent, at: .noon(100)) == .begun)
    try await store.settle(intent.id, .accepted(at: .noon(101)))
    #expect(try await Self.conclude(store, Self.call("c1", at: 105)) == .none, "the other one is pending")
    try await store.settle(silent.id, .accepted(at: .noon(1)))
    #expect(try await Self.conclude(store, Self.call("c2", at: 105)) == .none)
    #expect(try await Self.conclude(store, Self.call("c3", at: 7299.5)) == .none)
    guard case .set(let record) = try await Self.conclude(store, Self.call("c4", at: 7300)) else {
      Issue.record("no callback without numbers can have this call")
      return
    }
    #expect(record.id == intent.id)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `callbacks that have no call need no numbers`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let failed = CallbackIntent.made("+14155550166", window: .zero)
    #expect(try await store.begin(failed, at: .noon()) == .begun)
    try await store.settle(failed.id, .failed())
    #expect(try await store.book(Booking.made("+14155550167", for: 3600), at: .noon()) == .booked)
    let ticket = CallbackIntent(
      id: CallbackID(at: .noon()), callerID: "ios-app", subject: nil, appID: nil,
      matter: .ticket([1]), key: nil, terms: failed.terms, deadline: .noon(20))
    #expect(try await store.begin(ticket, at: .noon()) == .begun)
    try await store.settle(ticket.id, .accepted())
    let intent = try Self.intent()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    try await store.settle(intent.id, .accepted())
    guard case .set = try await Self.conclude(store, Self.call()) else {
      Issue.record("it was not set")
      return
    }
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `of several that fit none gets it, and one call explains one callback`(_ kind: StoreKind) async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let (first, second) = (try Self.intent(), try Self.intent(at: 100))
    #expect(try await store.begin(first, at: .noon()) == .begun)
    try await store.settle(first.id, .accepted())
    #expect(try await store.begin(second, at: .noon(100)) == .begun)
    #expect(try await Self.conclude(store, Self.call("c2", at: 105)) == .several)
    try await store.settle(second.id, .unknown(at: .noon(101)))
    #expect(try await Self.conclude(store, Self.call("c2", at: 105)) == .several)
    // The second callback was handed over too late for this call, so the first gets it. Only one is left
    // then.
    guard case .set(let one) = try await Self.conclude(store, Self.call("c1", at: 5)) else {
      Issue.record("the first was not set")
      return
    }
    #expect(one.id == first.id)
    guard case .known = try await Self.conclude(store, Self.call("c1", at: 105)) else {
      Issue.record("one call explains two callbacks")
      return
    }
    guard case .set(let two) = try await Self.conclude(store, Self.call("c2", at: 105, .notReached)) else {
      Issue.record("the second was not set")
      return
    }
    #expect(two.id == second.id && two.status == .unknown)
    let unknown = try await store.callbacks(CallbackQuery(status: .unknown, limit: 10))
    #expect(unknown.isEmpty, "operators look at those without an outcome")
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a failed callback has no call, and an appointment has one from its mark on`(_ kind: StoreKind)
    async throws
  {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let failed = try Self.intent()
    #expect(try await store.begin(failed, at: .noon()) == .begun)
    try await store.settle(failed.id, .failed())
    #expect(try await Self.conclude(store, Self.call()) == .none)
    let booking = Booking.made("+14155550165", for: 3600)
    #expect(try await store.book(booking, at: .noon()) == .booked)
    #expect(try await Self.conclude(store, Self.call(at: 3601)) == .none, "scheduled")
    let due = try #require(try await store.scheduledAppointment(booking.id))
    let handover = CallHandover(
      contact: try E164("+14155550165"), talkdesk: try E164(Self.own), time: .noon(3600))
    #expect(try await store.mark(booking.id, for: due.due, deadline: .noon(3620), handover))
    #expect(try await Self.conclude(store, Self.call(at: 3601)) == .pending)
    try await store.settle(booking.id, .accepted(at: .noon(3602)))
    guard case .set(let record) = try await Self.conclude(store, Self.call(at: 3601)) else {
      Issue.record("it was not set")
      return
    }
    #expect(record.id == booking.id && record.at == booking.at)
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `a hundred equal events at once set one outcome`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    let other = fixture.open()
    let intent = try Self.intent()
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    try await store.settle(intent.id, .accepted())
    let call = try Self.call()
    let set = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<100 {
        group.addTask {
          let match = try await (number.isMultiple(of: 2) ? store : other).conclude(
            call, within: Self.window, at: .noon(60))
          if case .set = match { return true }
          guard case .known = match else { throw StoreError(.unavailable, "test", "\(match)") }
          return false
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(set == 1)
    await other.close()
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `the app hears of the outcome once more`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    try await store.putInstallation(1)
    try await store.registerDevice(
      StoredDevice(installation: .numbered(1), platform: "http", token: "token-1", registered: .noon()))
    var intent = try Self.intent()
    intent.notifies = .numbered(1)
    #expect(try await store.begin(intent, at: .noon()) == .begun)
    try await store.settle(intent.id, .accepted())
    try await store.told(intent.id)
    let times = Instant.noon(-9000)...Instant.noon(9000)
    #expect(try await store.dueNotices(on: "http", questions: times, news: times, most: 9).isEmpty)
    guard case .set = try await Self.conclude(store, Self.call()) else {
      Issue.record("it was not set")
      return
    }
    _ = try await Self.conclude(store, Self.call())
    let due = try await store.dueNotices(on: "http", questions: times, news: times, most: 9)
    #expect(due.map(\.action) == [.changed] && due.first?.due == .noon(61))
    await store.close()
  }

  @Test(arguments: StoreKind.available)
  func `registered triggers are saved by name`(_ kind: StoreKind) async throws {
    let (fixture, store) = try await StoreFixture.migrated(kind)
    defer { fixture.end() }
    #expect(try await store.triggers().isEmpty)
    try await store.save(StoredTrigger(name: "outboundCallEnds", id: "1", mark: "a"))
    try await store.save(StoredTrigger(name: "inboundCallEnds", id: "2", mark: "a"))
    let renewed = StoredTrigger(name: "outboundCallEnds", id: "3", mark: "b")
    try await store.save(renewed)
    let other = fixture.open()
    #expect(try await other.triggers().map(\.id) == ["2", "3"])
    try await other.forgetTrigger("inboundCallEnds")
    try await other.forgetTrigger("inboundCallEnds")
    #expect(try await store.triggers() == [renewed])
    await other.close()
    await store.close()
  }
}
