// Names the check that failed when a connection could not be made, for operators only.

/// The failed check of a connection, as codes for operators. No response depends on it.
public struct TransportDiagnosis: Hashable, Sendable {
  /// The server or the proxy.
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
    /// The resolver did not respond, or not in time.
    case resolver
    /// No program listens on the port (ECONNREFUSED).
    case connectionRefused
    /// The connection could not leave this machine or reach the host: no route, a network or host that is
    /// down, or a firewall that refuses.
    case unreachable
    /// The connection was not made in time.
    case connectTimedOut
    /// The connection broke before the TLS handshake was complete.
    case connectionBroken
    /// The certificate is not trusted.
    case certificate(CertificateFailure)
    /// TLS failed for a reason other than the certificate: no version or cipher in common, or no TLS at all.
    case handshake
    /// The TLS handshake was not complete in time.
    case handshakeTimedOut
    /// The proxy answered CONNECT with this status. 407 requires a credential.
    case tunnelRefused(status: Int)
    /// The proxy made no connection for another reason (SOCKS).
    case tunnelFailed
  }

  /// The server or proxy that the failure concerns.
  public var party: Party
  public var failure: Failure

  public init(_ party: Party, _ failure: Failure) {
    self.party = party
    self.failure = failure
  }
}

/// Why a certificate is not trusted.
public enum CertificateFailure: Hashable, Sendable {
  /// The certificate has expired.
  case expired
  /// The certificate is not valid yet. Often, this machine's clock is wrong.
  case notYetValid
  /// The certificate is its own issuer, and not trusted.
  case selfSigned
  /// The issuer is not trusted, or the chain to a trusted issuer is incomplete.
  case unknownIssuer
  /// The certificate is for other names.
  case wrongName
  /// The certificate has another key than expected.
  case otherKey
  /// The certificate's key or signature is too weak.
  case weak
  /// The issuer has revoked the certificate.
  case revoked
  /// Something else: OpenSSL's verification result (`X509_V_ERR_…`).
  case other(code: Int)
}
