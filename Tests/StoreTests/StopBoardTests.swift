import Gate
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite struct StopBoardTests {
  @Test func `a stop made here holds at once, and elsewhere a second later`() async throws {
    let memory = MemoryStore()
    let clock = ManualTime()
    let here = StopBoard(store: ScriptedStore(memory, sharing: .instances), clock: clock)
    let store = ScriptedStore(memory, sharing: .instances)
    let elsewhere = StopBoard(store: store, clock: clock)
    let upkeep = Upkeep(store: store, ledger: AllowanceLedger(store: store), board: elsewhere, clock: clock)
    let task = Task { await upkeep.run() }
    await clock.untilSleepers(2)
    try await here.stop(Stop(.caller("ios-app"), .access, since: 5))
    #expect(
      here.stop(for: .access, callerID: "ios-app", appID: nil) == Stop(.caller("ios-app"), .access, since: 5))
    #expect(elsewhere.stop(for: .access, callerID: "ios-app", appID: nil) == nil)
    clock.advance(by: .seconds(1))
    await clock.untilSleepers(2)
    #expect(elsewhere.stop(for: .access, callerID: "ios-app", appID: nil) != nil)
    #expect(elsewhere.stop(for: .callback, callerID: "ios-app", appID: nil) == nil)
    try await here.resume(.caller("ios-app"), .access)
    #expect(here.stop(for: .access, callerID: "ios-app", appID: nil) == nil)
    clock.advance(by: .seconds(1))
    await clock.untilSleepers(2)
    #expect(elsewhere.stop(for: .access, callerID: "ios-app", appID: nil) == nil)
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test func `a stop holds here while the store is down, and is kept as soon as it can be`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: ManualTime())
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
    let board = StopBoard(store: store, clock: ManualTime())
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
    let clock = ManualTime()
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
      await clock.untilSleepers(2)
      #expect(told.withLock { $0 } == (second >= 30 ? [1] : []), "after \(second) s")
      clock.advance(by: .seconds(1))
    }
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test func `a stop does not wait until what is over is forgotten`() async throws {
    let memory = MemoryStore()
    let clock = ManualTime()
    let store = ScriptedStore(memory, sharing: .instances)
    store.setPurging(true)
    let board = StopBoard(store: store, clock: clock)
    let upkeep = Upkeep(store: store, ledger: AllowanceLedger(store: store), board: board, clock: clock)
    let task = Task { await upkeep.run() }
    var seconds = 0
    while !store.isPurging {
      while clock.sleeperCount < 2, !store.isPurging { await Task.yield() }
      clock.advance(by: .seconds(1))
      seconds += 1
      try #require(seconds < 100)
    }
    memory.stop(Stop(.all, .all, since: 5))
    await clock.untilSleepers(2)
    clock.advance(by: .seconds(1))
    await clock.untilSleepers(2)
    #expect(board.stop(for: .access, callerID: nil, appID: nil) != nil)
    #expect(store.isPurging)
    store.setPurging(false)
    await clock.untilSleepers(2)
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test func `a store that fails leaves what was stopped stopped`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let clock = ManualTime()
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
