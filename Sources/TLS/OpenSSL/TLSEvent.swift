// The events of a TLS session that the server counts and logs: its handshake and its end.

/// The events of a session's handshake and end, at most one of the first three each.
public enum TLSEvent: Hashable, Sendable {
  /// Both sides have agreed: data may flow.
  case established
  /// The handshake came to nothing, and why.
  case refused(TLSFailure)
  /// The connection went away after the client had begun a handshake and before its end.
  case abandoned
  /// The session failed after its handshake: a record that was tampered with, or one out of its turn.
  case broken(TLSFailure)
}
