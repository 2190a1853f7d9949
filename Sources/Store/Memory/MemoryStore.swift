// The store in memory: exact and immediate, but lost when the process ends.

public import Gate
import Synchronization

/// A store in memory. It is exact, and has functions beside the protocol that return without waiting.
///
/// A key costs at most 100 bytes, whatever its name. Writes remove unused states little by little; `purge`
/// removes all of them at once.
public final class MemoryStore: Store {
  struct Kept: Sendable {
    var state: AllowanceState
    var expiry: Int64
  }

  private let pages = ShardedPages<CompactTable<Kept>> {
    CompactTable(empty: Kept(state: AllowanceState(mark: 0, count: 0), expiry: 0))
  }
  private let maker = LocalIDMaker()
  let stopped = Mutex(StopSet())
  let callbacks = Mutex(MemoryCallbacks())
  let installed = Mutex(MemoryInstallations())
  let claims = Mutex(MemoryClaims())
  let keysInUse = Mutex<[KeyInUse]>([])

  /// An empty store.
  public init() {}

  public var sharing: StoreSharing { .process }
  public let health = StoreHealth()

  // MARK: At once

  @inline(__always) func id(of key: borrowing AllowanceKey) -> LocalID { maker.id(of: key) }

  func state(_ id: LocalID) -> AllowanceState? {
    pages.with(id) { page in page.place(of: id).map { page.read($0) { $0.state } } }
  }

  /// Takes all charges or none; the ids are the charges' own, in their order.
  func take(_ charges: [AllowanceCharge], _ ids: [LocalID], at now: Instant) -> ChargeOutcome {
    guard !charges.isEmpty else { return .taken([]) }
    var states = [AllowanceState?](repeating: nil, count: charges.count)
    let outcome = pages.withAll(ids) { page, index in
      states[index] = page.place(of: ids[index]).map { page.read($0) { $0.state } }
      return true
    } decide: {
      charges.take(from: states, at: now)
    } write: { page, index, outcome in
      guard case .taken(let receipts) = outcome, let place = receipts.place(for: charges, index) else {
        return
      }
      Self.keep(receipts[place].taken, receipts[place].plan, ids[index], in: &page, at: now)
    }
    guard let outcome else { preconditionFailure("the update returned true and has no result") }
    return outcome
  }

  /// Keeps a state that a request was taken from.
  private static func keep(
    _ state: AllowanceState, _ plan: AllowancePlan, _ id: LocalID, in page: inout CompactTable<Kept>,
    at now: Instant
  ) {
    if let place = page.place(of: id) {
      page.update(place) { kept in
        // A quota's period ends when it ended before; asking the calendar takes long.
        if case .quota = plan, kept.state.mark == state.mark {
          kept.state = state
          return
        }
        kept = Kept(state: state, expiry: plan.expiry(of: state))
      }
    } else {
      write(.put(state, expiry: plan.expiry(of: state)), id, to: &page, at: now.seconds)
    }
  }

  private static func write(
    _ write: AllowanceWrite, _ id: LocalID, to page: inout CompactTable<Kept>, at seconds: Int64?
  ) {
    switch write {
    case .keep: break
    case .put(let state, let expiry):
      // Two slots are checked for each write, so the whole table is checked before its size doubles.
      if let seconds { page.purge(places: 2) { $0.expiry <= seconds } }
      let place = page.insert(id)
      page[place] = Kept(state: state, expiry: expiry)
    case .remove: if let place = page.place(of: id) { page.remove(at: place) }
    }
  }

  /// Gives one request back.
  func giveBack(_ receipt: AllowanceReceipt, at now: Instant) {
    let id = id(of: receipt.key)
    pages.with(id) { page in
      let state = page.place(of: id).map { page.read($0) { $0.state } }
      let rest = receipt.givenBack(to: state, at: now)
      Self.write(
        AllowanceWrite(replacing: state, by: rest, of: receipt.plan), id, to: &page, at: nil)
    }
  }

  /// Resets all allowances to unused.
  func forgetAllowances() { pages.eachPage { page in page.purgeAll { _ in true } } }

  /// How many allowances are kept, and how many bytes their tables have.
  var footprint: (count: Int, bytes: Int) {
    var count = 0
    var places = 0
    pages.eachPage { page in
      count += page.count
      places += page.capacity
    }
    return (count, places * (MemoryLayout<LocalID>.size + MemoryLayout<Kept>.stride))
  }

  // MARK: As a store

  public func migrate(_: MigrationWait) {}
  public func inspect() -> Int { Migration.latest }
  public func ping() {}
  public func close() {}

  public func update<Result: Sendable>(
    _ keys: [AllowanceKey], _ body: @escaping @Sendable ([AllowanceState?]) -> AllowanceUpdate<Result>
  ) -> Result {
    let ids = keys.map { id(of: $0) }
    var states = [AllowanceState?](repeating: nil, count: ids.count)
    let update = pages.withAll(ids) { page, index in
      states[index] = page.place(of: ids[index]).map { page.read($0) { $0.state } }
      return true
    } decide: {
      body(states)
    } write: { page, index, update in
      if !update.writes.isEmpty { Self.write(update.writes[index], ids[index], to: &page, at: nil) }
    }
    guard let update else { preconditionFailure("the update returned true and has no result") }
    return update.result
  }

  public func states(of keys: [AllowanceKey]) -> [AllowanceState?] { keys.map { state(id(of: $0)) } }

  @discardableResult public func purge(at now: Instant) -> Int {
    var removed = 0
    pages.eachPage { page in removed += page.purgeAll { $0.expiry <= now.seconds } }
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
