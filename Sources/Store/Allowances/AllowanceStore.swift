// The protocol for saved allowances: the states of rates and quotas, and their updates.

public import Gate

public protocol AllowanceStore: Sendable {
  /// Reads and locks the states of allowances, passes them to `body`, and saves its result, in one
  /// transaction. Updates that wait are committed together. This function returns when every instance sees
  /// the change, and does not wait for the disk: if the machine of the store stops, the last updates may be
  /// lost.
  ///
  /// - Parameters:
  ///   - keys: Distinct keys.
  ///   - now: The time of the request.
  ///   - body: A pure function of the states, in the keys' order, and of the time. It may be called more than
  ///     once; its last result counts. If `now` was read from this machine's clock, `body` gets the time of
  ///     the store's clock while the states are locked.
  func update<Result: Sendable>(
    _ keys: [AllowanceKey], at now: Instant,
    _ body: @escaping @Sendable ([AllowanceState?], Instant) -> AllowanceUpdate<Result>
  ) async throws(StoreError) -> Result

  /// The states of allowances, in the keys' order. Reads without a lock.
  func states(of keys: [AllowanceKey]) async throws(StoreError) -> [AllowanceState?]

  /// Resets all allowances to unused, before any operation that is called later.
  func forgetAllowances()
}

/// The changes of an update, and its result for the caller.
public struct AllowanceUpdate<Result: Sendable>: Sendable {
  /// The change of each state, in the keys' order; empty if nothing changes.
  public var writes: [AllowanceWrite]
  public var result: Result

  public init(writes: [AllowanceWrite], result: Result) {
    self.writes = writes
    self.result = result
  }
}

/// The change of one state.
public enum AllowanceWrite: Hashable, Sendable {
  /// The state stays as it is.
  case keep
  /// The state is replaced. The store may delete it from `expiry` on, in seconds since the epoch.
  case put(AllowanceState, expiry: Int64)
  /// The state is deleted.
  case remove
}

extension AllowanceWrite {
  /// The change that replaces one state by another.
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
  /// The index of the receipt for a charge; nil if the charge has none because its rule in audit mode was
  /// exhausted.
  @inline(__always) func place(for charges: [AllowanceCharge], _ index: Int) -> Int? {
    count == charges.count ? index : firstIndex { $0.key == charges[index].key }
  }
}

extension [AllowanceCharge] {
  /// The changes of the states, in the order of the charges, for an outcome; empty unless the outcome is
  /// `taken`.
  func writes(of outcome: ChargeOutcome) -> [AllowanceWrite] {
    guard case .taken(let receipts) = outcome else { return [] }
    return indices.map { index in
      // The exhausted allowance of a rule in audit mode has no receipt.
      guard let place = receipts.place(for: self, index) else { return .keep }
      let receipt = receipts[place]
      return .put(receipt.taken, expiry: receipt.plan.expiry(of: receipt.taken))
    }
  }
}

extension [AllowanceReceipt] {
  /// The changes of the states that give these receipts back.
  func returns(to states: [AllowanceState?], at now: Instant) -> [AllowanceWrite] {
    zip(self, states).map { receipt, state in
      AllowanceWrite(replacing: state, by: receipt.givenBack(to: state, at: now), of: receipt.plan)
    }
  }
}
