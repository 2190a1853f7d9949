// A store in memory that plays a shared, slow or failing store, for tests of the code in front of it.

import Gate
import Sealing
import Store
import Synchronization
import TestSupport

/// Counts what it is asked and fails when it is told to.
final class ScriptedStore: Store {
  struct Script {
    var isDown = false
    var updates = 0
    var reads = 0
    /// Whether purging takes as long as this says so.
    var holdsPurge = false
    var isPurging = false
    /// Whether the next stop is held before it is kept; and whether one is.
    var holdsStop = false
    var isStopping = false
    /// Whether the next resume is held before it is kept; and whether one is.
    var holdsResume = false
    var isResuming = false
    /// Whether stops can be read, and not changed.
    var isReadOnly = false
    /// Whose stops it cannot keep.
    var rejected: Stop.Target?
    /// Whether resumes are made, and not answered.
    var isInDoubt = false
    /// Whether the next update's answer is kept back; and whether one is.
    var holdsNext = false
    var isHolding = false
    /// How long updates take, and their answers to arrive, in turns of others.
    var lag: SeededGenerator?
  }

  let memory: MemoryStore
  let sharing: StoreSharing
  let health = StoreHealth()
  let script = Mutex(Script())

  init(_ memory: MemoryStore = MemoryStore(), sharing: StoreSharing) {
    self.memory = memory
    self.sharing = sharing
  }

  var updates: Int { script.withLock { $0.updates } }
  func setDown(_ isDown: Bool) { script.withLock { $0.isDown = isDown } }

  var isPurging: Bool { script.withLock { $0.isPurging } }
  func setPurging(_ isHeld: Bool) { script.withLock { $0.holdsPurge = isHeld } }

  /// Keeps back the answer to the next update, which is done all the same, until `release`.
  func holdNext(_ holds: Bool = true) { script.withLock { $0.holdsNext = holds } }
  var isHolding: Bool { script.withLock { $0.isHolding } }
  func release() { script.withLock { $0.isHolding = false } }

  /// Lets updates and their answers take their time, now more and now less.
  func lag(seed: UInt64) { script.withLock { $0.lag = SeededGenerator(seed) } }

  private func takeTime() async {
    let turns = script.withLock { script in
      guard var lag = script.lag else { return 0 }
      defer { script.lag = lag }
      return Bool.random(using: &lag) ? 0 : Int.random(in: 0..<64, using: &lag)
    }
    for _ in 0..<turns { await Task.yield() }
  }

  func check(_ count: (inout Script) -> Void = { _ in }) throws(StoreError) {
    let isDown = script.withLock { script in
      count(&script)
      return script.isDown
    }
    if isDown { throw StoreError(.unavailable, "test", "down") }
  }

  func migrate() throws(StoreError) {}
  func ping() throws(StoreError) { try check() }
  func close() {}

  func update<Result: Sendable>(
    _ keys: [AllowanceKey], _ body: @escaping @Sendable ([AllowanceState?]) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result {
    try check { $0.updates += 1 }
    await takeTime()
    let result = memory.update(keys, body)
    await takeTime()
    let isHeld = script.withLock { script in
      defer { script.holdsNext = false }
      if script.holdsNext { script.isHolding = true }
      return script.holdsNext
    }
    while isHeld, isHolding, !Task.isCancelled { await Task.yield() }
    return result
  }

  func states(of keys: [AllowanceKey]) throws(StoreError) -> [AllowanceState?] {
    try check { $0.reads += 1 }
    return memory.states(of: keys)
  }

  func stops() throws(StoreError) -> StopSet {
    try check()
    return memory.stops()
  }

  /// Holds the next stop, which is kept when it is let go.
  func holdStop(_ holds: Bool) { script.withLock { $0.holdsStop = holds } }
  var isStopping: Bool { script.withLock { $0.isStopping } }

  func setReadOnly(_ isReadOnly: Bool) { script.withLock { $0.isReadOnly = isReadOnly } }

  func reject(_ target: Stop.Target) { script.withLock { $0.rejected = target } }

  /// Makes resumes, and does not answer them.
  func setInDoubt(_ isInDoubt: Bool) { script.withLock { $0.isInDoubt = isInDoubt } }

  private func checkWritable() throws(StoreError) {
    try check()
    if script.withLock({ $0.isReadOnly }) { throw StoreError(.readOnly, "test", "read only") }
  }

  func stop(_ stop: Stop) async throws(StoreError) {
    try checkWritable()
    if script.withLock({ $0.rejected == stop.target }) { throw StoreError(.rejected, "test", "rejected") }
    script.withLock { $0.isStopping = $0.holdsStop }
    while script.withLock({ $0.holdsStop }), !Task.isCancelled { await Task.yield() }
    script.withLock { $0.isStopping = false }
    memory.stop(stop)
  }

  /// Holds the next resume, which is kept when it is let go.
  func holdResume(_ holds: Bool) { script.withLock { $0.holdsResume = holds } }
  var isResuming: Bool { script.withLock { $0.isResuming } }

  func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError) {
    try checkWritable()
    script.withLock { $0.isResuming = $0.holdsResume }
    while script.withLock({ $0.holdsResume }), !Task.isCancelled { await Task.yield() }
    script.withLock { $0.isResuming = false }
    memory.resume(target, action)
    if script.withLock({ $0.isInDoubt }) {
      throw StoreError(.unavailable, "receive", "lost", isInDoubt: true)
    }
  }

  func purge(at now: Instant) async throws(StoreError) -> Int {
    script.withLock { $0.isPurging = true }
    defer { script.withLock { $0.isPurging = false } }
    while script.withLock({ $0.holdsPurge }), !Task.isCancelled { await Task.yield() }
    return memory.purge(at: now)
  }

  func standing(of intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackStanding {
    try check()
    return memory.standing(of: intent, at: now)
  }

  func begin(_ intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackBeginning {
    try check()
    return memory.begin(intent, at: now)
  }

  func settle(_ id: CallbackID, _ settlement: CallbackSettlement) throws(StoreError) -> StoredCallback? {
    try check()
    return memory.settle(id, settlement)
  }

  func withdraw(_ id: CallbackID) throws(StoreError) {
    try check()
    memory.withdraw(id)
  }

  func callback(_ id: CallbackID, of callerID: String) throws(StoreError) -> StoredCallback? {
    try check()
    return memory.callback(id, of: callerID)
  }

  func inspect() throws(StoreError) -> Int {
    try check()
    return memory.inspect()
  }

  func callbacks(_ query: CallbackQuery) throws(StoreError) -> [StoredCallback] {
    try check()
    return memory.callbacks(query)
  }

  func recoverCallbacks(at now: Instant, besides inHand: Set<CallbackID>) throws(StoreError) -> Int {
    try check()
    return memory.recoverCallbacks(at: now, besides: inHand)
  }
}

extension ScriptedStore {
  func keys() -> [KeyInUse] { memory.keys() }
  func updateKeys(at now: Instant, _ judge: @escaping @Sendable ([KeyInUse]) -> KeyRuling) -> KeyRuling {
    memory.updateKeys(at: now, judge)
  }
  func reseal(_ key: StoreKeyID, _ seal: @escaping @Sendable (SealedValue) -> [UInt8]?) -> Int {
    memory.reseal(key, seal)
  }
}
