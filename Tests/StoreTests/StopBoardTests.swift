// Tests of how the kill switch spreads to all instances and survives a store that fails.

import Gate
import Platform
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(5))) struct StopBoardTests {
  @Test func `a stop made here applies at once, and elsewhere a second later`() async throws {
    let memory = memoryStore()
    let clock = ManualTime()
    let here = StopBoard(store: ScriptedStore(memory, sharing: .instances), clock: clock)
    let store = ScriptedStore(memory, sharing: .instances)
    let elsewhere = StopBoard(store: store, clock: clock)
    let upkeep = Upkeep(store: store, board: elsewhere, clock: clock)
    let task = Task { await upkeep.run() }
    try await clock.untilSleepers(2)
    try await here.stop(Stop(.caller("ios-app"), .access, since: 5))
    #expect(
      here.stop(for: .access, callerID: "ios-app", appID: nil) == Stop(.caller("ios-app"), .access, since: 5))
    #expect(elsewhere.stop(for: .access, callerID: "ios-app", appID: nil) == nil)
    clock.advance(by: .seconds(1))
    try await clock.untilSleepers(2)
    #expect(elsewhere.stop(for: .access, callerID: "ios-app", appID: nil) != nil)
    #expect(elsewhere.stop(for: .callback, callerID: "ios-app", appID: nil) == nil)
    try await here.resume(.caller("ios-app"), .access)
    #expect(here.stop(for: .access, callerID: "ios-app", appID: nil) == nil)
    clock.advance(by: .seconds(1))
    try await clock.untilSleepers(2)
    #expect(elsewhere.stop(for: .access, callerID: "ios-app", appID: nil) == nil)
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test func `the stops of a store that was away at the start are unknown until it is read`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: ManualTime())
    #expect(board.isKnown)
    board.awaitStore()
    #expect(!board.isKnown)
    store.setDown(true)
    await #expect(throws: StoreError.self) { try await board.refresh() }
    #expect(!board.isKnown)
    store.setDown(false)
    try await board.refresh()
    #expect(board.isKnown)
  }

  @Test func `a stop that is made while the stops are read stays in effect`() async throws {
    let store = LateReader()
    let board = StopBoard(store: store, clock: ManualTime())
    let stop = Stop(.all, .all, since: 5)
    store.run { try await board.stop(stop) }
    try await board.refresh()
    #expect(board.stops.list == [stop])
    #expect(board.stop(for: .access, callerID: nil, appID: nil) != nil)
    store.run { _ = try await board.resume(.all, .all) }
    try await board.refresh()
    #expect(board.stops.isEmpty)
  }

  @Test func `a stop that could not be saved applies here and ends with the outage`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: ManualTime())
    let stop = Stop(.all, .all, since: 5)
    store.setDown(true)
    await #expect(throws: StoreError.self) { try await board.stop(stop) }
    #expect(board.stop(for: .access, callerID: nil, appID: nil) != nil)
    #expect(board.isOnlyHere(stop))
    await #expect(throws: StoreError.self) { try await board.refresh() }
    #expect(board.stop(for: .callback, callerID: nil, appID: nil) != nil)
    // A resume that cannot be saved changes nothing.
    await #expect(throws: StoreError.self) { try await board.resume(.all, .access) }
    #expect(board.stop(for: .access, callerID: nil, appID: nil) != nil)
    store.setDown(false)
    var lapsed: [Stop] = []
    // The store can be read again, but not yet written.
    try await board.refresh(isStoreBack: { false }, onLapse: { lapsed += $0 })
    #expect(board.stops.list == [stop] && board.isOnlyHere(stop) && lapsed.isEmpty)
    for _ in 0..<2 { try await board.refresh(onLapse: { lapsed += $0 }) }
    #expect(board.stops.isEmpty && lapsed == [stop])
    #expect(try await store.base.stops().isEmpty)
  }

  @Test func `a stop that is repeated after the outage is saved and stays`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: ManualTime())
    let stop = Stop(.all, .all, since: 5)
    store.setDown(true)
    for _ in 0..<2 { await #expect(throws: StoreError.self) { try await board.stop(stop) } }
    store.setDown(false)
    try await board.stop(stop)
    #expect(!board.isOnlyHere(stop))
    var lapsed: [Stop] = []
    try await board.refresh(onLapse: { lapsed += $0 })
    #expect(board.stops.list == [stop] && lapsed.isEmpty)
    #expect(try await store.base.stops().list == [stop])
  }

  @Test func `after an outage a resume confirmed by another instance applies here too`() async throws {
    let memory = memoryStore()
    let store = ScriptedStore(memory, sharing: .instances)
    let board = StopBoard(store: store, clock: ManualTime())
    store.setDown(true)
    await #expect(throws: StoreError.self) { try await board.stop(Stop(.all, .access, since: 5)) }
    try await memory.resume(.all, .access)
    store.setDown(false)
    try await board.refresh()
    #expect(board.stop(for: .access, callerID: nil, appID: nil) == nil)
    #expect(try await memory.stops().isEmpty)
  }

  @Test func `a stop that could not be saved can be resumed in part`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: ManualTime())
    store.setDown(true)
    await #expect(throws: StoreError.self) { try await board.stop(Stop(.app("shop"), .all, since: 5)) }
    store.setDown(false)
    try await board.resume(.app("shop"), .access)
    let left = Stop(.app("shop"), .all, since: 5).afterResuming(.access)
    #expect(board.stops.list == left && left.allSatisfy(board.isOnlyHere))
    var lapsed: [Stop] = []
    try await board.refresh(onLapse: { lapsed += $0 })
    #expect(board.stops.isEmpty && lapsed.count == left.count)
    #expect(try await store.base.stops().isEmpty)
  }

  @Test func `a resume waits for the stop that is on its way`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: ManualTime())
    store.holdStop(true)
    async let stop: Void = board.stop(Stop(.all, .all, since: 5))
    try await eventually { store.isStopping }
    // A refresh meanwhile does not end the stop.
    try await board.refresh()
    #expect(!board.stops.isEmpty)
    async let resume = board.resume(.all, .all)
    await settle()
    store.holdStop(false)
    _ = try await (stop, resume)
    #expect(try await store.base.stops().isEmpty)
    try await board.refresh()
    #expect(board.stops.isEmpty)
  }

  @Test(arguments: [nil, 1] as [Int64?])
  func `a stop made while a resume is running stays in effect and is saved`(_ earlier: Int64?) async throws {
    let store = ScriptedStore(sharing: .instances)
    let clock = ManualTime()
    let board = StopBoard(store: store, clock: clock)
    let until = clock.unixTime.seconds + 90
    if let earlier { try await board.stop(Stop(.all, .all, since: earlier, reason: "earlier")) }
    store.holdResume(true)
    async let resume = board.resume(.all, .callback)
    try await eventually { store.isResuming }
    async let stop: Void = board.stop(Stop(.all, .all, since: 7, until: until, reason: "meanwhile"))
    try await eventually { board.stop(for: .callback, callerID: nil, appID: nil)?.reason == "meanwhile" }
    await settle()
    store.holdResume(false)
    // The resume ends only the earlier stop.
    #expect(try await resume == (earlier != nil))
    try await stop
    let callbacks = Stop(.all, .callback, since: 7, until: until, reason: "meanwhile")
    #expect(board.stop(for: .callback, callerID: nil, appID: nil) == callbacks)
    #expect(try await store.base.stops() == board.stops)
    try await board.refresh()
    #expect(board.stop(for: .callback, callerID: nil, appID: nil) == callbacks)
    // A later resume ends the new stop.
    try await board.resume(.all, .callback)
    #expect(board.stop(for: .callback, callerID: nil, appID: nil) == nil)
    #expect(try await store.base.stops() == board.stops)
  }

  @Test func `a store that can only be read still shows what others stop`() async throws {
    let memory = memoryStore()
    let store = ScriptedStore(memory, sharing: .instances)
    let board = StopBoard(store: store, clock: ManualTime())
    let (here, there) = (Stop(.app("here"), .all, since: 5), Stop(.app("there"), .all, since: 6))
    store.setReadOnly(true)
    await #expect(throws: StoreError.self) { try await board.stop(here) }
    try await memory.stop(there)
    try await board.refresh(isStoreBack: { false })
    #expect(board.stops.list == [here, there])
    #expect(board.isOnlyHere(here) && !board.isOnlyHere(there))
    #expect(board.age == .zero)
    try await memory.resume(.app("there"), .all)
    try await board.refresh(isStoreBack: { false })
    #expect(board.stops.list == [here])
  }

  @Test func `a longer stop that could not be saved applies only here, and then the saved one again`()
    async throws
  {
    let store = ScriptedStore(sharing: .instances)
    let clock = ManualTime()
    let board = StopBoard(store: store, clock: clock)
    let now = clock.unixTime.seconds
    let saved = Stop(.all, .access, since: now, until: now + 60)
    let longer = Stop(.all, .access, since: now, until: now + 600)
    try await board.stop(saved)
    store.setDown(true)
    await #expect(throws: StoreError.self) { try await board.stop(longer) }
    #expect(board.stops.list == [longer] && board.isOnlyHere(longer))
    store.setDown(false)
    var lapsed: [Stop] = []
    try await board.refresh(onLapse: { lapsed += $0 })
    #expect(board.stops.list == [saved] && !board.isOnlyHere(saved))
    // Requests are stopped as before, so no stop has lapsed.
    #expect(lapsed.isEmpty)
  }

  @Test func `the next refresh shows the outcome of a resume in doubt`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let board = StopBoard(store: store, clock: ManualTime())
    try await board.stop(Stop(.all, .all, since: 5))
    store.setInDoubt(true)
    let error = await #expect(throws: StoreError.self) { try await board.resume(.all, .all) }
    #expect(error?.isInDoubt == true)
    #expect(!board.stops.isEmpty)
    try await board.refresh()
    #expect(board.stops.isEmpty)
  }

  @Test func `a refresh tells which stops have ended, each once, unless another instance made them longer`()
    async throws
  {
    let clock = ManualTime()
    let memory = memoryStore()
    let board = StopBoard(store: ScriptedStore(memory, sharing: .instances), clock: clock)
    let now = clock.unixTime.seconds
    let short = Stop(.app("short"), .all, since: now, until: now + 2)
    let long = Stop(.app("long"), .all, since: now, until: now + 2)
    try await board.stop(short)
    try await board.stop(long)
    #expect(board.removeEnded().isEmpty)
    clock.advance(by: .seconds(2))
    try await memory.stop(Stop(.app("long"), .all, since: now + 1, until: now + 60))
    var ended: [Stop] = []
    for _ in 0..<2 { try await board.refresh(onEnd: { ended += $0 }) }
    #expect(ended == [short])
    #expect(board.removeEnded().isEmpty)
    #expect(board.stops.list.map(\.target) == [.app("long")])
  }

  @Test func `a stop without an outcome is reported once`() async throws {
    let store = memoryStore()
    let clock = ManualTime()
    let told = Mutex<[RecoveredRecords]>([])
    let begun = Instant(seconds: clock.unixTime.seconds)
    _ = try await store.begin(.made(at: begun), at: begun)
    let upkeep = Upkeep(
      store: store, board: StopBoard(store: store, clock: clock),
      clock: clock, recovered: { count in told.withLock { $0.append(count) } })
    let task = Task { await upkeep.run() }
    // The callback's deadline and the grace period: 20 s and 10 s.
    for second in 0..<33 {
      try await clock.untilSleepers(2)
      #expect(
        told.withLock { $0 } == (second >= 30 ? [RecoveredRecords(callbacks: 1)] : []), "after \(second) s")
      clock.advance(by: .seconds(1))
    }
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test(arguments: [true, false])
  func `with a wrong clock nothing is recovered or forgotten`(_ isRight: Bool) async throws {
    let store = memoryStore()
    let clock = ManualTime()
    let now = Instant(clock.unixTime)
    let (pending, over) = (
      CallbackIntent.made(at: now), CallbackIntent.made("+14155550166", key: "k", at: now)
    )
    #expect(try await store.begin(pending, at: now) == .begun)
    #expect(try await store.begin(over, at: now) == .begun)
    _ = try await store.settle(over.id, .accepted(at: now))
    clock.advance(by: .seconds(999_999))
    store.health.compared(clockAhead: isRight ? .seconds(9) : .seconds(999_999))
    let upkeep = Upkeep(
      store: store, board: StopBoard(store: store, clock: clock),
      clock: clock)
    let task = Task { await upkeep.run() }
    for _ in 0..<32 {
      try await clock.untilSleepers(2)
      clock.advance(by: .seconds(1))
    }
    try await clock.untilSleepers(2)
    if isRight { try await eventually { try await store.callback(over.id, of: "ios-app") == nil } }
    #expect((try await store.callback(over.id, of: "ios-app") == nil) == isRight)
    // The recovered callback has been forgotten, too.
    #expect(try await store.callback(pending.id, of: "ios-app")?.status == (isRight ? nil : .pending))
    task.cancel()
    clock.advance(by: .seconds(1))
    await task.value
  }

  @Test func `a stop does not wait until ended stops are deleted`() async throws {
    let memory = memoryStore()
    let clock = ManualTime()
    let store = ScriptedStore(memory, sharing: .instances)
    store.setPurging(true)
    let board = StopBoard(store: store, clock: clock)
    let upkeep = Upkeep(store: store, board: board, clock: clock)
    let task = Task { await upkeep.run() }
    var seconds = 0
    while !store.isPurging {
      try await eventually { clock.sleeperCount >= 2 || store.isPurging }
      clock.advance(by: .seconds(1))
      seconds += 1
      try #require(seconds < 100)
    }
    try await memory.stop(Stop(.all, .all, since: 5))
    try await clock.untilSleepers(2)
    clock.advance(by: .seconds(1))
    try await clock.untilSleepers(2)
    #expect(board.stop(for: .access, callerID: nil, appID: nil) != nil)
    #expect(store.isPurging)
    store.setPurging(false)
    try await clock.untilSleepers(2)
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
    // Resuming everyone does not end a stop for a single caller or app.
    stops.resume(.all, .all)
    #expect(stops.list.filter { $0.target == .caller("partner") }.count == Action.allCases.count - 1)
    #expect(stops.list.filter { $0.target != .caller("partner") }.count == 2)
  }

  @Test func `a stop compares names by their octets`() {
    for twins in equivalentNames {
      var stops = StopSet(rows: [
        StopSet.Row(scope: "app", id: twins[0], action: "all", since: 4),
        StopSet.Row(scope: "caller", id: twins[0], action: "all", since: 4),
      ])
      #expect(stops.stop(for: .access, callerID: twins[0], appID: nil, at: 9) != nil)
      #expect(stops.stop(for: .access, callerID: "x", appID: twins[0], at: 9) != nil)
      #expect(stops.stop(for: .access, callerID: twins[1], appID: twins[1], at: 9) == nil)
      let before = stops
      stops.resume(Stop.Target(scope: "caller", id: twins[1])!, .all)
      #expect(stops == before)
    }
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

  @Test func `a stop with an end applies until then, ends automatically and is reported once`() async throws {
    let clock = ManualTime()
    let store = ScriptedStore(sharing: .instances)
    let (here, elsewhere) = (
      StopBoard(store: store, clock: clock), StopBoard(store: store, clock: clock)
    )
    let told = Mutex<[Stop]>([])
    let upkeep = Upkeep(
      store: store, board: elsewhere, clock: clock,
      ended: { stops in told.withLock { $0 += stops } })
    let task = Task { await upkeep.run() }
    let now = clock.unixTime.seconds
    let stop = Stop(.app("shop"), .all, since: now, until: now + 3, reason: "agents are ill")
    try await here.stop(stop)
    for second in 0..<6 {
      try await clock.untilSleepers(2)
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
    // The stop ends without a refresh.
    #expect(board.stop(for: .access, callerID: nil, appID: nil) == nil)
    #expect(board.removeEnded().count == 1)
    #expect(board.removeEnded().isEmpty)
    // A stop that has ended is not saved afterwards either.
    store.setDown(false)
    try await board.refresh()
    #expect(try await store.base.stops().isEmpty)
  }

  @Test func `of two stops the later end counts, and the last reason`() {
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
    // A stop that has ended is not extended: the new one begins when it is made.
    var stops = StopSet()
    stops.stop(Stop(.all, .all, since: 1, until: 5, reason: "first"))
    stops.stop(Stop(.all, .access, since: 5, until: 9))
    #expect(
      stops.list == [
        Stop(.all, .access, since: 5, until: 9)
      ] + Stop(.all, .all, since: 1, until: 5, reason: "first").afterResuming(.access))
  }
}

/// A store in memory whose stops change between being read and being returned.
private final class LateReader: StoreDecorator {
  let base: any Store = memoryStore()
  private let meanwhile = Mutex<(@Sendable () async throws -> Void)?>(nil)

  /// Runs a closure during the next read.
  func run(_ body: @escaping @Sendable () async throws -> Void) { meanwhile.withLock { $0 = body } }

  func stops() async throws(StoreError) -> StopSet {
    let stops = try await base.stops()
    let body = meanwhile.withLock { body in
      defer { body = nil }
      return body
    }
    do { try await body?() } catch { Issue.record(error) }
    return stops
  }
}
