// The protocol for state that outlives a request: allowances, the kill switch and callbacks.

public import Gate

/// Where state is kept. Every function may be called from anywhere, fails within seconds where it fails, and works
/// again by itself when what it needs is back.
public protocol Store: CallbackStore {
  /// Who else may write to it.
  var sharing: StoreSharing { get }

  /// What the last operations say about it.
  var health: StoreHealth { get }

  /// Brings the schema up to date, under a lock: of many that start together one does it and the others wait.
  /// Doing it again changes nothing.
  func migrate() async throws(StoreError)

  /// Looks at it from beside the server that uses it, and changes nothing. Fails where this process could not write to it.
  ///
  /// - Returns: the version of its schema, 0 where it has none; `StoreSchema.latest` is this release's.
  func inspect() async throws(StoreError) -> Int

  /// Writes something, and compares this machine's clock with the store's where that has one; `health` shows what comes of
  /// it. To be called every few seconds.
  func ping() async throws(StoreError)

  /// Reads and locks what is kept of allowances, shows it to `body`, and keeps what that says: one transaction,
  /// durable when this returns. Updates that wait together are committed together.
  ///
  /// - Parameters:
  ///   - keys: distinct.
  ///   - body: a pure function of the states, in the keys' order. It may be called more than once, and what it
  ///     said last is what counts.
  func update<Result: Sendable>(
    _ keys: [AllowanceKey], _ body: @escaping @Sendable ([AllowanceState?]) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result

  /// What is kept of allowances, in the keys' order, without locking anything.
  func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?]

  /// All that is stopped.
  func stops() async throws(StoreError) -> StopSet

  /// Stops something; a stop that is there already keeps its time, and the later end of the two.
  func stop(_ stop: Stop) async throws(StoreError)

  /// Ends the stop of exactly this target, for these actions.
  func resume(_ target: Stop.Target, _ action: Stop.Action) async throws(StoreError)

  /// Callbacks of every caller, the newest first.
  func callbacks(_ query: CallbackQuery) async throws(StoreError) -> [StoredCallback]

  /// Forgets allowances' states that say no more than none, and callbacks' keys, places and records whose time is over;
  /// nothing of a pending one.
  /// So are stops that ended some time ago.
  ///
  /// - Returns: how many were forgotten.
  @discardableResult func purge(at now: Instant) async throws(StoreError) -> Int

  /// Finishes what is under way and lets go of everything; what comes later fails.
  func close() async
}

/// Who else may write to a store.
public enum StoreSharing: Sendable {
  /// Nobody: it ends with this process.
  case process
  /// As a rule nobody, but another process on this machine could.
  case machine
  /// Other instances.
  case instances
}

/// What becomes of the states an update was shown, and what it says to its caller.
public struct AllowanceUpdate<Result: Sendable>: Sendable {
  /// For each key, in order, what becomes of its state; empty for nothing at all.
  public var writes: [AllowanceWrite]
  /// What the caller gets.
  public var result: Result

  /// An update.
  public init(writes: [AllowanceWrite], result: Result) {
    self.writes = writes
    self.result = result
  }
}

/// What becomes of one state.
public enum AllowanceWrite: Hashable, Sendable {
  /// It stays.
  case keep
  /// It is replaced, and may be forgotten from `expiry` on, in seconds since the epoch.
  case put(AllowanceState, expiry: Int64)
  /// It is forgotten.
  case remove
}

extension AllowanceWrite {
  /// What turns one state into another.
  init(replacing old: AllowanceState?, by new: AllowanceState?, of plan: AllowancePlan) {
    if old == new {
      self = .keep
    } else if let new {
      self = .put(new, expiry: plan.expiry(of: new))
    } else {
      self = .remove
    }
  }
}

extension [AllowanceReceipt] {
  /// The place of the receipt for a charge; nil where there is none: for an exhausted audit rule's.
  @inline(__always) func place(for charges: [AllowanceCharge], _ index: Int) -> Int? {
    count == charges.count ? index : firstIndex { $0.key == charges[index].key }
  }
}

extension [AllowanceCharge] {
  /// The writes that keep states, one for each receipt: charges without a receipt, an exhausted audit rule's, keep
  /// what they have.
  func writes(of states: [AllowanceState], _ receipts: [AllowanceReceipt]) -> [AllowanceWrite] {
    var next = 0
    return map { charge in
      guard next < receipts.count, receipts[next].key == charge.key else { return .keep }
      let state = states[next]
      next += 1
      return .put(state, expiry: charge.plan.expiry(of: state))
    }
  }
}
