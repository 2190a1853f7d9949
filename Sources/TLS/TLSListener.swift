// Makes a TLS session for each new connection, and switches to a renewed certificate without a restart.

public import Platform
import Synchronization

/// The TLS side of a listener: makes sessions with the current certificate. Sessions use TLS 1.2 or 1.3,
/// ephemeral keys, authenticated encryption and `http/1.1`. Clients can resume them with tickets, whose
/// keys are replaced regularly (docs/decisions).
public final class TLSListener: Sendable {
  private struct Current {
    var identity: TLSIdentity
    var context: TLSContext
  }

  private let tickets: TicketKeys
  private let current: Mutex<Current>

  /// Creates a listener with its first certificate.
  ///
  /// - Parameters:
  ///   - identity: The identity whose certificate clients get.
  ///   - time: The clock that decides when ticket keys are replaced.
  /// - Throws: If OpenSSL refuses the identity. `TLSIdentity.init` has already tried it, so this is not
  ///   expected.
  public init(_ identity: TLSIdentity, time: any TimeSource = SystemClock()) throws(TLSFailure) {
    tickets = TicketKeys(time: time)
    current = Mutex(Current(identity: identity, context: try TLSContext(identity, tickets: tickets)))
  }

  /// The identity whose certificate new connections get.
  public var identity: TLSIdentity { current.withLock { $0.identity } }

  /// Uses another certificate for new connections. Open connections keep theirs.
  ///
  /// - Returns: Whether the identity differs from the current one.
  /// - Throws: If OpenSSL refuses the identity. The current one then stays in use.
  @discardableResult
  public func use(_ identity: TLSIdentity) throws(TLSFailure) -> Bool {
    guard !identity.isSame(as: self.identity) else { return false }
    let context = try TLSContext(identity, tickets: tickets)
    current.withLock { $0 = Current(identity: identity, context: context) }
    return true
  }

  /// Makes the session of a new connection.
  ///
  /// - Parameter observer: Receives the result of the handshake, and the reason if the session fails.
  ///   Called on the connection's loop.
  public func session(observer: (@Sendable (TLSEvent) -> Void)? = nil) -> TLSSession {
    TLSSession(current.withLock { $0.context }, observer: observer)
  }
}
