// Names the check that failed when a connection could not be made, for operators only.

/// The failed check of a connection, as codes for operators. No response depends on it.
public struct TransportDiagnosis: Hashable, Sendable {
  /// Whom it concerns.
  public enum Party: String, Sendable {
    /// The server the request is for.
    case server
    /// The proxy on the way to it.
    case proxy
  }

  /// The failed check.
  public enum Failure: Hashable, Sendable {
    /// The resolver says that there is no such name.
    case unknownName
    /// The resolver says nothing, or not in time.
    case resolver
    /// No program listens on the port (ECONNREFUSED).
    case connectionRefused
    /// The network has no way there.
    case unreachable
    /// The connection did not come about in time.
    case connectTimedOut
    /// The connection broke before TLS was up.
    case connectionBroken
    /// The certificate is not trusted.
    case certificate(CertificateFailure)
    /// TLS failed before or beside the certificate: no version or cipher in common, or no TLS at all.
    case handshake
    /// TLS was not up in time.
    case handshakeTimedOut
    /// The proxy answered CONNECT with this status. 407 requires a credential.
    case tunnelRefused(status: Int)
    /// The proxy made no connection, for another reason (SOCKS).
    case tunnelFailed
  }

  /// Whom it concerns.
  public var party: Party
  /// The failed check.
  public var failure: Failure

  /// Makes a diagnosis.
  public init(_ party: Party, _ failure: Failure) {
    self.party = party
    self.failure = failure
  }
}

/// Why a certificate is not trusted.
public enum CertificateFailure: Hashable, Sendable {
  /// Its time is over.
  case expired
  /// Its time has not come: as often as not it is this machine's clock that is wrong.
  case notYetValid
  /// It is its own issuer, and not among those trusted.
  case selfSigned
  /// Its issuer is not among those trusted, or the chain to one that is has a gap.
  case unknownIssuer
  /// It is for other names.
  case wrongName
  /// It has another key than the one that was expected.
  case otherKey
  /// Its key or its signature is too weak.
  case weak
  /// Its issuer has taken it back.
  case revoked
  /// Something else: OpenSSL's verification result (`X509_V_ERR_…`).
  case other(code: Int)
}
