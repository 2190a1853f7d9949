// The store in memory: exact and immediate, but lost when the process ends.

public import Gate
import Synchronization

/// A store in memory. It is exact, and answers without waiting.
///
/// An allowance costs at most 100 bytes, whatever its name. `purge` removes unused ones.
public final class MemoryStore: Store {
  struct Allowances {
    struct Kept {
      var state: AllowanceState
      var expiry: Int64
    }

    var kept: [StoreID: Kept] = [:]

    func states(_ ids: [StoreID]) -> [AllowanceState?] { ids.map { kept[$0]?.state } }

    mutating func change(_ ids: [StoreID], _ writes: [AllowanceWrite]) {
      for (id, write) in zip(ids, writes) {
        switch write {
        case .keep: break
        case .put(let state, let expiry): kept[id] = Kept(state: state, expiry: expiry)
        case .remove: kept[id] = nil
        }
      }
    }

    /// Forgets states, and gives their memory back.
    mutating func purge(at seconds: Int64) -> Int {
      let before = kept.count
      let isDone = kept.values.contains { $0.expiry <= seconds }
      if isDone { kept = kept.filter { $0.value.expiry > seconds } }
      return before - kept.count
    }
  }

  private let allowances = Mutex(Allowances())
  private let maker = StoreIDMaker(key: StoreIDMaker.newKey())
  let stopped = Mutex(StopSet())
  let callbacks = Mutex(MemoryCallbacks())
  let installed = Mutex(MemoryInstallations())
  let claims = Mutex(MemoryClaims())
  let keysInUse = Mutex<[KeyInUse]>([])

  /// An empty store.
  public init() {}

  public var sharing: StoreSharing { .process }
  public let health = StoreHealth()

  /// Changes allowances together with what is kept elsewhere: `body` gets their states, and returns their changes and its result.
  func with<Result>(
    _ keys: [AllowanceKey], _ body: ([AllowanceState?]) -> (Result, [AllowanceWrite])
  ) -> Result {
    let ids = keys.map { maker.id(of: $0) }
    return allowances.withLock { allowances in
      let (result, writes) = body(allowances.states(ids))
      allowances.change(ids, writes)
      return result
    }
  }

  /// Resets all allowances to unused: for a sandbox whose clock goes back.
  public func forgetAllowances() { allowances.withLock { $0.kept = [:] } }

  /// How many allowances are saved, and how many bytes their table has.
  var footprint: (count: Int, bytes: Int) {
    allowances.withLock { allowances in
      // A dictionary fills at most three quarters of its slots.
      let slots = allowances.kept.capacity * 4 / 3
      return (
        allowances.kept.count, slots * (MemoryLayout<StoreID>.stride + MemoryLayout<Allowances.Kept>.stride)
      )
    }
  }

  // MARK: As a store

  public func migrate(_: MigrationWait) {}
  public func inspect() -> Int { Migration.latest }
  public func ping() {}
  public func close() {}

  public func update<Result: Sendable>(
    _ keys: [AllowanceKey], _ body: @escaping @Sendable ([AllowanceState?]) -> AllowanceUpdate<Result>
  ) -> Result {
    let ids = keys.map { maker.id(of: $0) }
    return allowances.withLock { allowances in
      let update = body(allowances.states(ids))
      allowances.change(ids, update.writes)
      return update.result
    }
  }

  public func states(of keys: [AllowanceKey]) -> [AllowanceState?] {
    let ids = keys.map { maker.id(of: $0) }
    return allowances.withLock { $0.states(ids) }
  }

  @discardableResult public func purge(at now: Instant) -> Int {
    var removed = allowances.withLock { $0.purge(at: now.seconds) }
    let seconds = now.seconds - StopSet.lingering
    stopped.withLock { _ = $0.removeEnded(at: seconds) }
    removed += installed.withLock {
      $0.devices.forgetNames(usedUpTo: Instant(nanosecondsSinceEpoch: now.claimHorizon))
    }
    removed += claims.withLock { $0.purge(madeUpTo: now.claimHorizon) }
    removed += callbacks.withLock { $0.purgeNotices(madeUpTo: now.claimHorizon) }
    return removed + callbacks.withLock { $0.purge(at: now) }
  }
}
