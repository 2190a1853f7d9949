// The protocol for saved allowances, and what an update does to them.

public import Gate

/// Where allowances are kept.
public protocol AllowanceStore: Sendable {
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

  /// The states of allowances, in the keys' order. Reads without a lock.
  func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?]
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
