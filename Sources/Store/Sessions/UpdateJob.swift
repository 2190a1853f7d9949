// One change to a store, waiting to be committed with others in a transaction.

package import Gate

/// One caller's change, which is committed together with those that wait beside it.
package struct UpdateJob: Sendable {
  package enum Work: Sendable {
    /// Of allowances: what is read and locked, and what becomes of it. The body remembers its result.
    case allowances([AllowanceKey], @Sendable ([AllowanceState?]) -> [AllowanceWrite])
    /// Of a callback.
    case callback(CallbackWork)
  }

  let work: Work
  /// Tells the caller that it is committed, or why not. The first call counts.
  let finish: @Sendable (StoreError?) -> Void
}

/// What is done to a callback, and where what came of it is remembered. As its transaction, it may run more than once.
package enum CallbackWork: Sendable {
  case begin(CallbackIntent, at: Instant, @Sendable (CallbackBeginning) -> Void)
  case settle(CallbackID, CallbackSettlement, @Sendable (StoredCallback?) -> Void)
  case withdraw(CallbackID, @Sendable (Bool) -> Void)
}
