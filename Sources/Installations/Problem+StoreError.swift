// The problem that callers get when the store fails. The details of the error stay in the log.

package import API
package import Store

extension Problem {
  /// The problem for a step that the store did not make, or did not confirm.
  package init(_ error: StoreError) {
    self.init(
      .storeUnavailable,
      error.isInDoubt
        ? "The database did not confirm the change, so it may have been made."
        : "The server cannot reach its database, so nothing was changed.", tryAgainAfter: 1)
  }
}
