// The problem that callers get when the store fails; its own words stay in the log.

package import API
package import Store

extension Problem {
  /// The response to a step that the store has not made, or not confirmed.
  package init(_ error: StoreError) {
    self.init(
      .storeUnavailable,
      error.isInDoubt
        ? "The store did not confirm this, so it may have been done. Try again."
        : "The server cannot reach its store, so this was not done. Try again.", retryAfter: 1)
  }
}
