// Determines from libcurl's error codes which step of a failed connection failed: DNS, proxy, certificate or
// another.

import CCurl
import Glibc
import HTTP

/// Maps libcurl's error codes, and its other values of a transfer, to the failed check.
struct CurlDiagnosis {
  /// The values that libcurl reports for a failed transfer.
  struct Evidence {
    var code: CURLcode
    /// Whether an octet of the request may have left. If so, the connection was established, and there is
    /// nothing to diagnose.
    var sent: Bool
    /// Whether there is a connection: to the proxy if there is one, else to the server.
    var connected: Bool
    /// Whether the request goes through a proxy.
    var proxied: Bool
    /// Whether the connection to that proxy uses TLS.
    var proxySpeaksTLS: Bool
    /// `errno` of the last connection that failed.
    var systemError: Int32
    /// OpenSSL's verification results, of the server and of the proxy; 0 means success, or that nothing was
    /// verified.
    var verification: Int
    var proxyVerification: Int
    /// The proxy's status for the tunnel; 0 if it sent none.
    var tunnelStatus: Int
  }

  /// The failed check; nil if the request may have been sent, or if the code says nothing about connecting.
  static func diagnosis(_ evidence: Evidence) -> TransportDiagnosis? {
    guard !evidence.sent else { return nil }
    let tunnelStands = evidence.proxied && (200..<300).contains(evidence.tunnelStatus)
    let atProxy = evidence.proxied && !tunnelStands
    let party: TransportDiagnosis.Party = atProxy ? .proxy : .server
    switch evidence.code {
    case CURLE_COULDNT_RESOLVE_PROXY: return .init(.proxy, .unknownName)
    case CURLE_COULDNT_RESOLVE_HOST: return .init(.server, .unknownName)

    case CURLE_COULDNT_CONNECT:
      return .init(evidence.proxied ? .proxy : .server, connecting(evidence.systemError))

    case CURLE_PROXY:
      return .init(.proxy, .tunnelFailed)

    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS:
      let tlsParty: TransportDiagnosis.Party = atProxy && evidence.proxySpeaksTLS ? .proxy : .server
      let result = tlsParty == .proxy ? evidence.proxyVerification : evidence.verification
      guard evidence.code == CURLE_PEER_FAILED_VERIFICATION else { return .init(tlsParty, .handshake) }
      return .init(tlsParty, .certificate(certificate(result)))

    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return .init(.server, .certificate(.otherKey))

    case CURLE_OPERATION_TIMEDOUT:
      guard evidence.connected else { return .init(party, .connectTimedOut) }
      return .init(party, atProxy ? .connectTimedOut : .handshakeTimedOut)

    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_AGAIN, CURLE_READ_ERROR:
      if evidence.proxied, evidence.tunnelStatus != 0, !tunnelStands {
        return .init(.proxy, .tunnelRefused(status: evidence.tunnelStatus))
      }
      return .init(party, .connectionBroken)

    default:
      return nil
    }
  }

  /// The cause of a failed connection (connect(2)).
  private static func connecting(_ error: Int32) -> TransportDiagnosis.Failure {
    switch error {
    case ECONNREFUSED: .connectionRefused
    case ETIMEDOUT: .connectTimedOut
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EACCES, EPERM, EADDRNOTAVAIL: .unreachable
    default: .connectionBroken
    }
  }

  /// The failure for a result of OpenSSL's verification (x509_vfy.h). If the chain is trusted, libcurl
  /// compared the names: the result is then 0, or still libcurl's initial 1.
  static func certificate(_ result: Int) -> CertificateFailure {
    switch result {
    case 0, 1, 62, 64: .wrongName
    case 9, 13: .notYetValid
    case 10, 14: .expired
    case 18: .selfSigned
    case 2, 19, 20, 21, 24, 27, 79: .unknownIssuer
    case 23: .revoked
    case 66, 67, 68: .weak
    default: .other(code: result)
    }
  }
}
