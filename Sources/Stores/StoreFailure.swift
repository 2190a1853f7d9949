// Why a store cannot be used, for operators.

package import Store

/// Why a store cannot be used.
public struct StoreFailure: Error, Sendable, CustomStringConvertible {
  /// Whether another time could succeed: it does not answer, or has no room.
  public let isTemporary: Bool
  /// Whether it is a database that does not answer, as while it starts or moves. A server waits for it.
  public let isAway: Bool
  /// For operators; without a password.
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

  /// The store keys do not fit the store.
  package init(_ refusal: KeyRefusal) {
    isTemporary = false
    isAway = false
    description = "\(refusal.message) — \(refusal.remedy)"
  }
}
