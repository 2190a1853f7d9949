// The error for a store that cannot be used, in words for operators.

package import Store

/// The reason why the server cannot use a store.
public struct StoreFailure: Error, Sendable, CustomStringConvertible {
  /// Whether another attempt could succeed: the store does not respond, is full, or is a PostgreSQL server
  /// that is read-only.
  public let isTemporary: Bool
  /// Whether a PostgreSQL server does not respond, for example while it starts or moves. Callgate waits for
  /// it.
  public let isAway: Bool
  /// The cause, for operators and without a password.
  public let description: String

  /// - Parameter kind: The kind of store. A file stays read-only until an operator changes that. A database
  ///   server is read-only while another one takes over, or while its disk is full.
  package init(_ error: StoreError, of kind: String) {
    switch error.kind {
    case .unavailable, .full: isTemporary = true
    case .readOnly: isTemporary = kind == "postgres"
    case .damaged, .incompatible, .refused, .rejected, .misconfigured: isTemporary = false
    }
    isAway = kind == "postgres" && error.kind == .unavailable && error.operation != StoreError.upgrade
    description = "\(error)"
  }

  /// The failure of a server whose store keys are not those of the store.
  package init(_ refusal: KeyRefusal) {
    isTemporary = false
    isAway = false
    description = "\(refusal.message) — \(refusal.remedy)"
  }
}
