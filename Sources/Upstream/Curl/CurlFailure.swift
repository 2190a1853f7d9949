// Translates libcurl's error codes into the reasons that the rest of the server uses.

import CCurl
import HTTP

/// Maps libcurl's codes to this project's reasons. Only codes decide, never texts.
enum CurlFailure {
  /// CURLE_TOO_LARGE, since 8.6.
  private static let tooLarge = CURLcode(rawValue: 100)
  /// CURLE_ECH_REQUIRED, since 8.8.
  private static let echRequired = CURLcode(rawValue: 101)

  /// The reason for a code other than CURLE_OK.
  ///
  /// - Parameters:
  ///   - sent: Whether an octet of the request may have left. Before that, a lost connection counts as one
  ///     that was never established.
  ///   - connected: Whether the connection itself was established, so that a timeout happened during TLS.
  static func reason(_ code: CURLcode, sent: Bool, connected: Bool) -> TransportError.Reason {
    switch code {
    case CURLE_URL_MALFORMAT, CURLE_NOT_BUILT_IN:
      .invalidURL

    // The scheme was checked, so this code means a response that does not begin with HTTP/1.x.
    case CURLE_UNSUPPORTED_PROTOCOL:
      sent ? .malformedResponse : .invalidURL

    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      .nameResolution

    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_NO_CONNECTION_AVAILABLE, CURLE_PROXY,
      CURLE_FAILED_INIT, CURLE_LOGIN_DENIED, CURLE_AUTH_ERROR:
      .connect

    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND,
      CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED, echRequired:
      .tls

    // The transfer thread enforces the deadline; this is libcurl's timeout for connecting.
    case CURLE_OPERATION_TIMEDOUT:
      sent ? .timedOut : connected ? .tls : .connect

    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND,
      CURLE_SSL_SHUTDOWN_FAILED, CURLE_AGAIN, CURLE_READ_ERROR, CURLE_HTTP2_STREAM:
      sent ? .connectionLost : .connect

    // `CurlEasy.begin` has refused to send a request again. If it refused a late start, `CurlEasy.outcome`
    // has already reported a timeout.
    case CURLE_ABORTED_BY_CALLBACK:
      sent ? .connectionLost : .connect

    case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2, CURLE_CHUNK_FAILED:
      sent ? .malformedResponse : .connect

    // For a field line longer than its own limit of 100 KiB, libcurl reports "out of memory", in newer
    // versions "too large".
    case CURLE_FILESIZE_EXCEEDED, CURLE_OUT_OF_MEMORY, tooLarge:
      sent ? .responseTooLarge : .connect

    // Codes of protocols and options that are not in use, and codes newer than this table.
    default:
      sent ? .connectionLost : .connect
    }
  }
}
