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

  @Test func `what is resumed while a refresh has it kept is not stopped again`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: ManualTime())
    store.setDown(true)
    await #expect(throws: StoreError.self) { try await board.stop(Stop(.all, .all, since: 5)) }
    store.setDown(false)
    store.holdStop(true)
    async let refresh: Void = board.refresh()
    while !store.isStopping { await Task.yield() }
    // It waits for the stop that is on its way; else it would be overtaken.
    async let resume = board.resume(.all, .all)
    for _ in 0..<1000 { await Task.yield() }
    store.holdStop(false)
    _ = try await (refresh, resume)
    #expect(store.memory.stops().isEmpty)
    try await board.refresh()
    #expect(board.stops.isEmpty)
  }

  @Test func `what was left without an outcome is told of once`() async throws {
    let store = MemoryStore()
    let clock = ManualTime()
    let told = Mutex<[Int]>([])
    let begun = Instant(seconds: clock.unixTime.seconds)
    _ = store.begin(.made(at: begun), at: begun)
    let upkeep = Upkeep(
      store: store, ledger: AllowanceLedger(store: store), board: StopBoard(store: store, clock: clock),
      clock: clock, recovered: { count in told.withLock { $0.append(count) } })
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
    #expect(board.age == .seconds(3))
    #expect(board.stop(for: .callback, callerID: nil, appID: nil)?.target == .all)
    store.setDown(false)
    try await board.refresh()
    #expect(board.age == .zero)
  }

  @Test func `a stop is for whom it names`() {
    var stops = StopSet()
    stops.stop(Stop(.app("shop"), .callback, since: 1))
    stops.stop(Stop(.caller("partner"), .all, since: 2))
    stops.stop(Stop(.caller("anonymous"), .access, since: 3))
    #expect(stops.stop(for: .callback, callerID: "x", appID: "shop", at: 9)?.since == 1)
    #expect(stops.stop(for: .access, callerID: "x", appID: "shop", at: 9) == nil)
    #expect(stops.stop(for: .callback, callerID: "x", appID: nil, at: 9) == nil)
    #expect(stops.stop(for: .access, callerID: "partner", appID: "shop", at: 9)?.since == 2)
    #expect(stops.stop(for: .access, callerID: nil, appID: nil, at: 9)?.since == 3)
    stops.resume(.caller("partner"), .access)
    #expect(stops.stop(for: .access, callerID: "partner", appID: nil, at: 9) == nil)
    #expect(stops.stop(for: .callback, callerID: "partner", appID: nil, at: 9)?.since == 2)
    // Resuming everyone ends no stop that was made for someone.
    stops.resume(.all, .all)
    #expect(stops.list.count == 3)
  }

  @Test func `words that are not known stop more, not less`() {
    let stops = StopSet(rows: [
      StopSet.Row(scope: "region", id: "eu", action: "video", since: 4)
    ])
    #expect(stops.stop(for: .access, callerID: "x", appID: nil, at: 9)?.target == .all)
    #expect(Stop.Target(scope: "app", id: nil) == nil)
    #expect(Stop.Target(scope: "all", id: "x") == nil)
    #expect(Stop.Target(scope: "caller", id: "x") == .caller("x"))
  }

  @Test func `a stop with an end holds until that, ends by itself, and is told of once`() async throws {
    let clock = ManualTime()
    let store = ScriptedStore(sharing: .instances)
    let (here, elsewhere) = (
      StopBoard(store: store, clock: clock), StopBoard(store: store, clock: clock)
    )
    let told = Mutex<[Stop]>([])
    let upkeep = Upkeep(
      store: store, ledger: AllowanceLedger(store: store), board: elsewhere, clock: clock,
      ended: { stops in told.withLock { $0 += stops } })
    let task = Task { await upkeep.run() }
    let now = clock.unixTime.seconds
    let stop = Stop(.app("shop"), .all, since: now, until: now + 3, reason: "agents are ill")
    try await here.stop(stop)
    for second in 0..<6 {
      await clock.untilSleepers(2)
      let isStopped = second < 3
      #expect((here.stop(for: .access, callerID: nil, appID: "shop") != nil) == isStopped, "\(second) s")
      if second > 0 {
        #expect(elsewhere.stops.list == (isStopped ? [stop] : []), "\(second) s")
        #expect(
          (elsewhere.stop(for: .callback, callerID: nil, appID: "shop") != nil) == isStopped, "\(second) s")
      }
      #expect(told.withLock { $0 } == (isStopped ? [] : [stop]), "\(second) s")
      clock.advance(by: .seconds(1))
    }
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test func `a stop ends in time although the store hangs or fails`() async throws {
    let clock = ManualTime()
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: clock)
    let now = clock.unixTime.seconds
    store.setDown(true)
    await #expect(throws: StoreError.self) {
      try await board.stop(Stop(.all, .access, since: now, until: now + 2))
    }
    #expect(board.stop(for: .access, callerID: nil, appID: nil) != nil)
    clock.advance(by: .seconds(2))
    // Nobody has refreshed it.
    #expect(board.stop(for: .access, callerID: nil, appID: nil) == nil)
    #expect(board.removeEnded().count == 1)
    #expect(board.removeEnded().isEmpty)
    // What is over is not kept afterwards either.
    store.setDown(false)
    try await board.refresh()
    #expect(store.memory.stops().isEmpty)
  }

  @Test func `of two stops the later end holds, and the reason given last`() {
    for (first, second, expected) in [
      (20, 30, 30), (30, 20, 30), (nil, 20, nil), (20, nil, nil), (nil, nil, nil),
    ] as [(Int64?, Int64?, Int64?)] {
      var stops = StopSet()
      stops.stop(Stop(.all, .access, since: 1, until: first, reason: "first"))
      stops.stop(Stop(.all, .access, since: 5, until: second))
      #expect(stops.list == [Stop(.all, .access, since: 1, until: expected, reason: "first")])
      stops.stop(Stop(.all, .access, since: 6, until: second, reason: "last"))
      #expect(stops.list.first?.reason == "last")
    }
    // One that is over is not extended: the new one begins when it is made.
    var stops = StopSet()
    stops.stop(Stop(.all, .all, since: 1, until: 5, reason: "first"))
    stops.stop(Stop(.all, .access, since: 5, until: 9))
    #expect(
      stops.list == [
        Stop(.all, .access, since: 5, until: 9), Stop(.all, .callback, since: 1, until: 5, reason: "first"),
      ])
  }
}
