// The problem that callers get when the store fails; its own words stay in the log.

package import API
package import Store

extension Problem {
  /// The response to a step that the store has not made, or not confirmed.
  package init(_ error: StoreError) {
    self.init(
      .storeUnavailable,
      error.isInDoubt
        ? "The database did not confirm the change, so it may have been made."
        : "The server cannot reach its database, so nothing was changed.", tryAgainAfter: 1)
  }
}
