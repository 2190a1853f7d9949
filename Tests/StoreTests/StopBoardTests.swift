import Gate
import Platform
import Synchronization
import Testing

@testable import Store

/// A clock that stands until it is moved; whoever sleeps is woken when it has come that far.
final class ManualClock: TimeSource {
  private struct State {
    var now: Int64 = 0
    var sleepers: [(until: Int64, wake: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  var now: MonotonicTime { MonotonicTime(nanoseconds: state.withLock { $0.now }) }
  var unixTime: UnixTime {
    let time = state.withLock { $0.now }
    return UnixTime(seconds: 1_795_176_000 + time / 1_000_000_000, nanoseconds: Int32(time % 1_000_000_000))
  }

  func sleep(until: MonotonicTime) async throws {
    await withCheckedContinuation { wake in
      let isOver = state.withLock { state in
        guard state.now < until.nanoseconds else { return true }
        state.sleepers.append((until.nanoseconds, wake))
        return false
      }
      if isOver { wake.resume() }
    }
    try Task.checkCancellation()
  }

  /// How many sleep.
  var sleepers: Int { state.withLock { $0.sleepers.count } }

  func advance(by span: Duration) {
    let due = state.withLock { state in
      state.now += span.nanosecondsClamped
      let due = state.sleepers.filter { $0.until <= state.now }
      state.sleepers.removeAll { $0.until <= state.now }
      return due
    }
    for sleeper in due { sleeper.wake.resume() }
  }
}

@Suite struct StopBoardTests {
  @Test func `a stop made here holds at once, and elsewhere a second later`() async throws {
    let memory = MemoryStore()
    let clock = ManualClock()
    let here = StopBoard(store: ScriptedStore(memory, sharing: .instances), clock: clock)
    let store = ScriptedStore(memory, sharing: .instances)
    let elsewhere = StopBoard(store: store, clock: clock)
    let upkeep = Upkeep(store: store, ledger: AllowanceLedger(store: store), board: elsewhere, clock: clock)
    let task = Task { await upkeep.run() }
    while clock.sleepers < 2 { await Task.yield() }
    try await here.stop(Stop(.caller("ios-app"), .access, since: 5))
    #expect(
      here.stop(for: .access, callerID: "ios-app", appID: nil) == Stop(.caller("ios-app"), .access, since: 5))
    #expect(elsewhere.stop(for: .access, callerID: "ios-app", appID: nil) == nil)
    clock.advance(by: .seconds(1))
    while clock.sleepers < 2 { await Task.yield() }
    #expect(elsewhere.stop(for: .access, callerID: "ios-app", appID: nil) != nil)
    #expect(elsewhere.stop(for: .callback, callerID: "ios-app", appID: nil) == nil)
    try await here.resume(.caller("ios-app"), .access)
    #expect(here.stop(for: .access, callerID: "ios-app", appID: nil) == nil)
    clock.advance(by: .seconds(1))
    while clock.sleepers < 2 { await Task.yield() }
    #expect(elsewhere.stop(for: .access, callerID: "ios-app", appID: nil) == nil)
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test func `a stop holds here while the store is down, and is kept as soon as it can be`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: ManualClock())
    store.setDown(true)
    await #expect(throws: StoreError.self) { try await board.stop(Stop(.all, .all, since: 5)) }
    #expect(board.stop(for: .access, callerID: nil, appID: nil) != nil)
    await #expect(throws: StoreError.self) { try await board.refresh() }
    #expect(board.stop(for: .callback, callerID: nil, appID: nil) != nil)
    // What cannot be kept is not ended either.
    await #expect(throws: StoreError.self) { try await board.resume(.all, .access) }
    #expect(board.stop(for: .access, callerID: nil, appID: nil) != nil)
    store.setDown(false)
    #expect(store.memory.stops().isEmpty)
    try await board.refresh()
    #expect(store.memory.stops().list == [Stop(.all, .all, since: 5)])
    try await board.resume(.all, .access)
    try await board.refresh()
    #expect(board.stop(for: .access, callerID: nil, appID: nil) == nil)
    #expect(board.stops.list == [Stop(.all, .callback, since: 5)])
  }

  @Test func `what is resumed is not stopped again by what was not kept`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: ManualClock())
    store.setDown(true)
    await #expect(throws: StoreError.self) { try await board.stop(Stop(.app("shop"), .all, since: 5)) }
    store.setDown(false)
    try await board.resume(.app("shop"), .access)
    try await board.refresh()
    #expect(board.stops.list == [Stop(.app("shop"), .callback, since: 5)])
    #expect(store.memory.stops().list == [Stop(.app("shop"), .callback, since: 5)])
  }

  @Test func `what was left without an outcome is told of once`() async throws {
    let store = MemoryStore()
    let clock = ManualClock()
    let told = Mutex<[Int]>([])
    let begun = Instant(seconds: clock.unixTime.seconds)
    _ = store.begin(.made(at: begun), at: begun)
    let upkeep = Upkeep(
      store: store, ledger: AllowanceLedger(store: store), board: StopBoard(store: store, clock: clock),
      clock: clock
    ) { count in told.withLock { $0.append(count) } }
    let task = Task { await upkeep.run() }
    // Its deadline and the grace: 20 s and 10 s.
    for second in 0..<33 {
      while clock.sleepers < 2 { await Task.yield() }
      #expect(told.withLock { $0 } == (second >= 30 ? [1] : []), "after \(second) s")
      clock.advance(by: .seconds(1))
    }
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test func `a stop does not wait until what is over is forgotten`() async throws {
    let memory = MemoryStore()
    let clock = ManualClock()
    let store = ScriptedStore(memory, sharing: .instances)
    store.setPurging(true)
    let board = StopBoard(store: store, clock: clock)
    let upkeep = Upkeep(store: store, ledger: AllowanceLedger(store: store), board: board, clock: clock)
    let task = Task { await upkeep.run() }
    var seconds = 0
    while !store.isPurging {
      while clock.sleepers < 2, !store.isPurging { await Task.yield() }
      clock.advance(by: .seconds(1))
      seconds += 1
      try #require(seconds < 100)
    }
    memory.stop(Stop(.all, .all, since: 5))
    while clock.sleepers < 2 { await Task.yield() }
    clock.advance(by: .seconds(1))
    while clock.sleepers < 2 { await Task.yield() }
    #expect(board.stop(for: .access, callerID: nil, appID: nil) != nil)
    #expect(store.isPurging)
    store.setPurging(false)
    while clock.sleepers < 2 { await Task.yield() }
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test func `a store that fails leaves what was stopped stopped`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let clock = ManualClock()
    let board = StopBoard(store: store, clock: clock)
    #expect(board.age == nil)
    try await board.stop(Stop(.all, .all, since: 1))
    try await board.refresh()
    clock.advance(by: .seconds(3))
    store.setDown(true)
    await #expect(throws: StoreError.self) { try await board.refresh() }
    await #expect(throws: StoreError.self) { try await board.resume(.all, .all) }
    #expect(board.failure?.kind == .unavailable)
    #expect(board.age == .seconds(3))
    #expect(board.stop(for: .callback, callerID: nil, appID: nil)?.target == .all)
    store.setDown(false)
    try await board.refresh()
    #expect(board.failure == nil)
  }

  @Test func `a stop is for whom it names`() {
    var stops = StopSet()
    stops.stop(Stop(.app("shop"), .callback, since: 1))
    stops.stop(Stop(.caller("partner"), .all, since: 2))
    stops.stop(Stop(.caller("anonymous"), .access, since: 3))
    #expect(stops.stop(for: .callback, callerID: "x", appID: "shop")?.since == 1)
    #expect(stops.stop(for: .access, callerID: "x", appID: "shop") == nil)
    #expect(stops.stop(for: .callback, callerID: "x", appID: nil) == nil)
    #expect(stops.stop(for: .access, callerID: "partner", appID: "shop")?.since == 2)
    #expect(stops.stop(for: .access, callerID: nil, appID: nil)?.since == 3)
    stops.resume(.caller("partner"), .access)
    #expect(stops.stop(for: .access, callerID: "partner", appID: nil) == nil)
    #expect(stops.stop(for: .callback, callerID: "partner", appID: nil)?.since == 2)
    // Resuming everyone ends no stop that was made for someone.
    stops.resume(.all, .all)
    #expect(stops.list.count == 3)
  }

  @Test func `words that are not known stop more, not less`() {
    let stops = StopSet(rows: [("region", "eu", "video", 4)])
    #expect(stops.stop(for: .access, callerID: "x", appID: nil)?.target == .all)
    #expect(Stop.Target(scope: "app", id: nil) == nil)
    #expect(Stop.Target(scope: "all", id: "x") == nil)
    #expect(Stop.Target(scope: "caller", id: "x") == .caller("x"))
  }
}
