// Makes a TLS session for each new connection, and switches to a renewed certificate without a restart.

public import Platform
import Synchronization

/// Makes the sessions of a listener with the current certificate: TLS 1.2 and 1.3, ephemeral keys,
/// authenticated encryption, `http/1.1`, tickets whose keys change (docs/decisions).
public final class TLSListener: Sendable {
  private struct Current {
    var identity: TLSIdentity
    var context: TLSContext
  }

  private let tickets: TicketKeys
  private let current: Mutex<Current>

  /// Makes a listener.
  ///
  /// - Parameters:
  ///   - identity: The identity whose certificate clients get.
  ///   - time: The clock for the change of ticket keys.
  /// - Throws: when OpenSSL refuses; not for an identity it has accepted before.
  public init(_ identity: TLSIdentity, time: any TimeSource = SystemClock()) throws(TLSFailure) {
    tickets = TicketKeys(time: time)
    current = Mutex(Current(identity: identity, context: try TLSContext(identity, tickets: tickets)))
  }

  /// The identity whose certificate new connections get.
  public var identity: TLSIdentity { current.withLock { $0.identity } }

  /// Uses another certificate for new connections. Open ones keep theirs.
  ///
  /// - Returns: Whether the identity differs from the current one.
  /// - Throws: If OpenSSL refuses the identity. Then the old one stays.
  @discardableResult
  public func use(_ identity: TLSIdentity) throws(TLSFailure) -> Bool {
    guard !identity.isSame(as: self.identity) else { return false }
    let context = try TLSContext(identity, tickets: tickets)
    current.withLock { $0 = Current(identity: identity, context: context) }
    return true
  }

  /// The session of a new connection.
  ///
  /// - Parameter observer: gets the result of the handshake, and the reason if the session fails, on the
  ///   connection's loop.
  public func session(observer: (@Sendable (TLSEvent) -> Void)? = nil) -> TLSSession {
    TLSSession(current.withLock { $0.context }, observer: observer)
  }
}
