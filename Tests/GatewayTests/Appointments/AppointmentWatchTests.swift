// Tests of waiting for a record to change.

import Gate
import Platform
import Store
import Synchronization
import TestSupport
import Testing
import Texts

@testable import Appointments
@testable import Store

@Suite struct AppointmentWatchTests {
  private static func record(
    _ id: CallbackID = CallbackID(at: Instant(seconds: 1)), _ status: StoredCallback.Status = .scheduled,
    at: Int64 = 100, outcome: CallOutcome? = nil
  ) -> StoredCallback {
    StoredCallback(
      id: id, callerID: "a", subject: nil, appID: nil, contact: "+*********00",
      createdAt: Instant(seconds: 1), at: Instant(seconds: at), settledAt: nil, status: status, code: nil,
      upstreamStatus: nil, platformTID: nil, verificationCode: nil, notices: nil, ticket: nil,
      origin: .unsaved,
      alias: nil, outcome: outcome)
  }

  private struct Setting {
    let time = ManualTime()
    let store = ScriptedRecords()
    let watch: AppointmentWatch

    init() { watch = AppointmentWatch(time: time) { [store] ids throws(StoreError) in try store.read(ids) } }

    /// One of many parties.
    static func party(_ number: Int) -> AppointmentWatch.Party {
      .owner(callerID: "users", subject: ExactText("user \(number)"))
    }

    /// Starts a request that waits, and returns once it does.
    func wait(
      _ record: StoredCallback, _ span: Duration = .seconds(25), of party: AppointmentWatch.Party? = nil
    ) async throws -> Task<
      StoredCallback, Never
    > {
      let before = watch.count
      let party = party ?? Self.party(before)
      let task = Task { await watch.wait(for: record, of: party, until: time.now + span) }
      try await eventually { watch.count == before + 1 }
      return task
    }
  }

  @Test func `a change of this instance answers at once, and only those that wait for it`() async throws {
    let setting = Setting()
    let (record, other) = (Self.record(), Self.record(CallbackID(at: Instant(seconds: 2))))
    let waiting = [try await setting.wait(record), try await setting.wait(record)]
    let patient = try await setting.wait(other)
    // The state that the requests already know is not a change.
    setting.watch.changed(record)
    await settle()
    #expect(setting.watch.count == 3)
    let moved = Self.record(record.id, at: 200)
    setting.watch.changed(moved)
    for task in waiting { #expect(await task.value == moved) }
    #expect(setting.watch.count == 1)
    setting.watch.end()
    #expect(await patient.value == other)
  }

  @Test func `an accepted callback changes once more where outcomes are awaited`() async throws {
    let setting = Setting()
    let accepted = Self.record(CallbackID(at: Instant(seconds: 3)), .accepted)
    let deadline = setting.time.now + .seconds(25)
    #expect(await setting.watch.wait(for: accepted, of: Setting.party(1), until: deadline) == accepted)
    let task = Task {
      await setting.watch.wait(
        for: accepted, of: Setting.party(1), until: deadline, awaitsOutcome: true)
    }
    try await eventually { setting.watch.count == 1 }
    let outcome = CallOutcome(.reached, source: .trigger, at: Instant(seconds: 9))
    let told = Self.record(accepted.id, .accepted, outcome: outcome)
    setting.watch.changed(told)
    #expect(await task.value == told)
    #expect(
      await setting.watch.wait(for: told, of: Setting.party(1), until: deadline, awaitsOutcome: true) == told)
    setting.watch.end()
  }

  @Test func `a change of another instance is found by one read a second`() async throws {
    let setting = Setting()
    let records = (1...50).map { Self.record(CallbackID(at: Instant(seconds: $0))) }
    var tasks: [Task<StoredCallback, Never>] = []
    for record in records { tasks.append(try await setting.wait(record)) }
    #expect(setting.store.reads.isEmpty)
    let ended = Self.record(records[0].id, .accepted)
    setting.store.records = [ended] + records.dropFirst()
    try await eventually { !setting.time.due.filter { $0 == setting.time.now + .seconds(1) }.isEmpty }
    setting.time.advance(by: .seconds(1))
    #expect(await tasks[0].value == ended)
    #expect(setting.store.reads == [Set(records.map(\.id))])
    // The other records are read again, even after a failure.
    setting.store.isDown = true
    try await eventually { setting.time.due.contains(setting.time.now + .seconds(1)) }
    setting.time.advance(by: .seconds(1))
    try await eventually { setting.store.reads.count == 2 }
    setting.store.isDown = false
    let cancelled = records.dropFirst().map { Self.record($0.id, .cancelled) }
    setting.store.records = cancelled
    try await eventually { setting.time.due.contains(setting.time.now + .seconds(1)) }
    setting.time.advance(by: .seconds(1))
    for (task, record) in zip(tasks.dropFirst(), cancelled) { #expect(await task.value == record) }
    #expect(setting.store.reads.count == 3)
    // If nothing waits, nothing is read.
    try await eventually { setting.time.due.contains(setting.time.now + .seconds(1)) }
    setting.time.advance(by: .seconds(1))
    try await eventually { setting.time.due.isEmpty }
    #expect(setting.store.reads.count == 3)
    let late = try await setting.wait(records[0])
    try await eventually { setting.time.due.contains(setting.time.now + .seconds(1)) }
    setting.store.records = [ended]
    setting.time.advance(by: .seconds(1))
    #expect(await late.value == ended)
  }

  @Test func `a wait ends at its deadline, when its client leaves, and at a drain`() async throws {
    let setting = Setting()
    let record = Self.record()
    setting.store.records = [record]
    let short = try await setting.wait(record, .milliseconds(500))
    let long = try await setting.wait(record)
    let left = try await setting.wait(record)
    left.cancel()
    #expect(await left.value == record)
    try await eventually { setting.time.due.contains(setting.time.now + .milliseconds(500)) }
    setting.time.advance(by: .milliseconds(500))
    #expect(await short.value == record)
    #expect(setting.watch.count == 1)
    setting.watch.end()
    #expect(await long.value == record)
    // After `end`, requests return at once.
    #expect(
      await setting.watch.wait(for: record, of: Setting.party(0), until: setting.time.now + .seconds(25))
        == record)
    #expect(setting.watch.count == 0)
  }

  @Test(arguments: [.accepted, .failed, .unknown, .cancelled, .expired] as [StoredCallback.Status])
  func `a final record is returned at once`(_ status: StoredCallback.Status) async {
    let setting = Setting()
    let record = Self.record(CallbackID(at: Instant(seconds: 1)), status)
    #expect(
      await setting.watch.wait(for: record, of: Setting.party(0), until: setting.time.now + .seconds(25))
        == record)
    #expect(
      await setting.watch.wait(for: Self.record(), of: Setting.party(0), until: setting.time.now).status
        == .scheduled)
  }

  @Test func `a thousand wait, and one more does not`() async throws {
    let setting = Setting()
    let record = Self.record()
    let tasks = (0..<AppointmentWatch.most).map { number in
      Task {
        await setting.watch.wait(
          for: record, of: Setting.party(number / 8), until: setting.time.now + .seconds(25))
      }
    }
    try await eventually { setting.watch.count == AppointmentWatch.most }
    #expect(
      await setting.watch.wait(
        for: record, of: Setting.party(999), until: setting.time.now + .seconds(25)) == record)
    tasks[0].cancel()
    _ = await tasks[0].value
    let next = try await setting.wait(record, of: Setting.party(0))
    #expect(setting.watch.count == AppointmentWatch.most)
    setting.watch.end()
    for task in tasks { #expect(await task.value == record) }
    #expect(await next.value == record)
  }

  @Test(arguments: [
    (
      AppointmentWatch.Party.owner(callerID: "users", subject: "ann"),
      AppointmentWatch.Party.owner(callerID: "users", subject: "bob")
    ),
    (.any(at: IPAddress(v4: 1)), .any(at: IPAddress(v4: 2))),
    (.any(at: IPAddress(v6High: 1, low: 1)), .any(at: IPAddress(v6High: 2, low: 1))),
    (.any(at: IPAddress(v4: 1)), .owner(callerID: "users", subject: "ann")),
  ])
  func `eight wait for one party, one more does not, and other parties do`(
    one: AppointmentWatch.Party, other: AppointmentWatch.Party
  ) async throws {
    let setting = Setting()
    let record = Self.record()
    var tasks: [Task<StoredCallback, Never>] = []
    for _ in 0..<AppointmentWatch.mostOfOne { tasks.append(try await setting.wait(record, of: one)) }
    #expect(
      await setting.watch.wait(for: record, of: one, until: setting.time.now + .seconds(25)) == record)
    tasks.append(try await setting.wait(record, of: other))
    // A request that leaves makes room for one other.
    tasks[0].cancel()
    _ = await tasks[0].value
    tasks.append(try await setting.wait(record, of: one))
    #expect(
      await setting.watch.wait(for: record, of: one, until: setting.time.now + .seconds(25)) == record)
    #expect(setting.watch.count == AppointmentWatch.mostOfOne + 1)
    setting.watch.end()
    for task in tasks { #expect(await task.value == record) }
  }

  @Test func `two addresses of one IPv6 network are one party`() {
    #expect(
      AppointmentWatch.Party.any(at: IPAddress(v6High: 1, low: 1)) == .any(at: IPAddress(v6High: 1, low: 2)))
  }
}

/// A store whose records a test sets, and that counts its reads.
private final class ScriptedRecords: Sendable {
  private struct State {
    var records: [StoredCallback] = []
    var reads: [Set<CallbackID>] = []
    var isDown = false
  }
  private let state = Mutex(State())

  var records: [StoredCallback] {
    get { state.withLock { $0.records } }
    set { state.withLock { $0.records = newValue } }
  }
  var isDown: Bool {
    get { state.withLock { $0.isDown } }
    set { state.withLock { $0.isDown = newValue } }
  }
  var reads: [Set<CallbackID>] { state.withLock { $0.reads } }

  func read(_ ids: Set<CallbackID>) throws(StoreError) -> [StoredCallback] {
    let (records, isDown) = state.withLock { state in
      state.reads.append(ids)
      return (state.records, state.isDown)
    }
    if isDown { throw StoreError(.unavailable, "a test", "down") }
    return records.filter { ids.contains($0.id) }
  }
}
