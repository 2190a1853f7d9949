// A store in memory that plays a remote one: it can fail, and it counts its operations.

import Gate
import Sealing
import Store
import Synchronization

/// A store on a machine of its own: it can fail, and it counts who waits for it.
final class DistantStore: Store {
  let memory = MemoryStore()
  let isDown = Atomic<Bool>(false)
  let updates = Atomic<Int>(0)
  let reads = Atomic<Int>(0)

  var sharing: StoreSharing { .instances }
  let health = StoreHealth()

  func reach() throws(StoreError) {
    if isDown.load(ordering: .relaxed) { throw StoreError(.unavailable, "connect", "connection refused") }
  }

  func migrate() throws(StoreError) { try reach() }
  func inspect() throws(StoreError) -> Int {
    try reach()
    return memory.inspect()
  }
  func ping() throws(StoreError) { try reach() }
  func close() {}

  func update<Result: Sendable>(
    _ keys: [AllowanceKey], _ body: @escaping @Sendable ([AllowanceState?]) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result {
    try reach()
    updates.wrappingAdd(1, ordering: .relaxed)
    return memory.update(keys, body)
  }

  func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?] {
    try reach()
    reads.wrappingAdd(1, ordering: .relaxed)
    return memory.states(of: keys)
  }

  func stops() async throws(StoreError) -> StopSet {
    try reach()
    return memory.stops()
  }

  func stop(_ stop: Stop) async throws(StoreError) {
    try reach()
    memory.stop(stop)
  }

  func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError) {
    try reach()
    memory.resume(target, action)
  }

  func purge(at now: Instant) async throws(StoreError) -> Int { 0 }

  func standing(of intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackStanding {
    try reach()
    return memory.standing(of: intent, at: now)
  }

  func begin(_ intent: CallbackIntent, at now: Instant) throws(StoreError) -> CallbackBeginning {
    try reach()
    return memory.begin(intent, at: now)
  }

  func settle(_ id: CallbackID, _ settlement: CallbackSettlement) throws(StoreError) -> StoredCallback? {
    try reach()
    return memory.settle(id, settlement)
  }

  func withdraw(_ id: CallbackID) throws(StoreError) {
    try reach()
    memory.withdraw(id)
  }

  func callback(_ id: CallbackID, of callerID: String) throws(StoreError) -> StoredCallback? {
    try reach()
    return memory.callback(id, of: callerID)
  }

  func callbacks(_ query: CallbackQuery) throws(StoreError) -> [StoredCallback] {
    try reach()
    return memory.callbacks(query)
  }

  func recoverCallbacks(at now: Instant, besides inHand: Set<CallbackID>) throws(StoreError) -> Int {
    try reach()
    return memory.recoverCallbacks(at: now, besides: inHand)
  }
}

extension DistantStore {
  func keys() -> [KeyInUse] { memory.keys() }
  func updateKeys(at now: Instant, _ judge: @escaping @Sendable ([KeyInUse]) -> KeyRuling) -> KeyRuling {
    memory.updateKeys(at: now, judge)
  }
  func reseal(_ key: StoreKeyID, _ seal: @escaping @Sendable (SealedValue) -> [UInt8]?) -> Int {
    memory.reseal(key, seal)
  }
}
