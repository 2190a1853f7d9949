// Where it is counted what callers have used of their allowances.

internal import Gate

/// Counts allowances and answers at once: it is asked on a connection's loop and must neither block nor suspend.
protocol AllowanceLedger: AllowanceStates, Sendable {
  /// Takes every charge, or none where one of them finds its allowance used up.
  func take(_ charges: [AllowanceCharge], at now: Instant) -> ChargeOutcome

  /// Gives back what was taken for a request that nothing came of.
  func giveBack(_ receipts: [AllowanceReceipt], at now: Instant)
}
