// The events of a TLS session that the server counts and logs: its handshake and its end.

/// The result of a session's handshake, or its failure afterwards. Each session has at most one of the
/// first three.
public enum TLSEvent: Hashable, Sendable {
  /// The handshake has succeeded: data may flow.
  case established
  /// The handshake has failed, with the reason.
  case refused(TLSFailure)
  /// The connection closed after the client had begun a handshake and before the handshake ended.
  case abandoned
  /// The session failed after its handshake, for example because a record was tampered with or out of order.
  case broken(TLSFailure)
}
