// The settings of the libcurl transport.

/// The settings of a `CurlTransport`.
public struct TransportSettings: Sendable {
  /// The authorities to trust, in place of the system's bundle; used for an https proxy too.
  public var authorities: Authorities?
  /// Whether a server on this machine (`localhost`, 127.0.0.0/8, ::1) must prove its name, too. False for a
  /// process that queries the server beside it by an address that no certificate names. Without `pinnedKey`,
  /// a server elsewhere must always prove its name.
  public var verifiesLoopback: Bool
  /// The public key that a server must have, in place of a trusted chain and a matching name. Form:
  /// `sha256//` and the Base64 of the SHA-256 of its SubjectPublicKeyInfo, as in curl. For a server whose
  /// certificate is known.
  public var pinnedKey: String?
  /// The proxy between this process and the Internet. Nil uses the environment variables when the transport
  /// is made, as curl does; `.direct` uses no proxy.
  public var proxies: ProxySettings?
  /// The value of `User-Agent` for requests that have none.
  public var userAgent: String
  /// The time limit for name resolution, connecting and the TLS handshake together, within a request's own
  /// timeout.
  public var connectTimeout: Duration
  /// The maximum number of transfers to one path of a host at once. Others wait in an `AdmissionQueue`. So an
  /// endpoint that hangs does not block the others of its host. Not used with `multiplexing`.
  public var transfersPerPath: Int
  /// The settings of the one HTTP/2 connection to each host that all requests share; nil sends HTTP/1.1.
  public var multiplexing: Multiplexing?
  /// The maximum number of transfers that wait for one path, or with `multiplexing` for one host.
  public var waitingPerPath: Int
  /// The maximum number of connections in the pool, used and idle. Beyond it, the oldest idle one is closed.
  public var pooledConnections: Int
  /// The time for which a connection may lie idle and still be used. Shorter than the 60 s after which common
  /// load balancers close theirs, so that a request seldom meets a connection that is just being closed.
  public var idleTimeout: Duration
  /// The time for which TLS sessions are resumed. After that, new sessions begin, and their chains are
  /// verified again. Sessions are resumed only with the same host, port and checks, and never with early
  /// data.
  public var sessionLifetime: Duration
  /// The maximum size of status line, fields and trailers together, in octets, interim responses included.
  public var maximumHeaderLength: Int
  /// The size of libcurl's receive buffer of each transfer, in octets; nil for the usual 16 KiB. If it is
  /// set, the send buffer for TLS has 16 KiB instead of 64 KiB.
  public var bufferLength: Int?

  /// Makes settings; the defaults suit two upstream hosts.
  public init(
    authorities: Authorities? = nil, verifiesLoopback: Bool = true, pinnedKey: String? = nil,
    proxies: ProxySettings? = nil,
    userAgent: String = "callgate",
    connectTimeout: Duration = .seconds(3), transfersPerPath: Int = 64,
    multiplexing: Multiplexing? = nil,
    waitingPerPath: Int = 4096, pooledConnections: Int = 256, idleTimeout: Duration = .seconds(45),
    sessionLifetime: Duration = .seconds(3600),
    maximumHeaderLength: Int = 32 * 1024, bufferLength: Int? = nil
  ) {
    precondition(transfersPerPath > 0 && waitingPerPath >= 0 && pooledConnections > 0)
    self.authorities = authorities
    self.verifiesLoopback = verifiesLoopback
    self.pinnedKey = pinnedKey
    self.proxies = proxies
    self.userAgent = userAgent
    self.connectTimeout = connectTimeout
    self.transfersPerPath = transfersPerPath
    self.multiplexing = multiplexing
    self.waitingPerPath = waitingPerPath
    self.pooledConnections = pooledConnections
    self.idleTimeout = idleTimeout
    self.sessionLifetime = sessionLifetime
    self.maximumHeaderLength = maximumHeaderLength
    self.bufferLength = bufferLength
  }
}

/// HTTP/2 over TLS, with one connection to each host that all requests share (RFC 9113).
///
/// The setting applies to a whole transport, because libcurl limits the connections of a multi handle, not
/// those of a transfer. Without that limit, libcurl opens another connection whenever the server allows fewer
/// streams than there are requests.
///
/// A stream that the server refuses (REFUSED_STREAM, or GOAWAY with a lower stream) was not processed. A
/// request that may be repeated is then sent once more, on a new connection. libcurl does not report why it
/// begins again, so every other request fails as sent.
public struct Multiplexing: Hashable, Sendable {
  /// The maximum number of requests to one host at once, whatever their paths; the server may allow fewer.
  public var streams: Int
  /// The time for which sent data may stay unacknowledged before the connection is closed.
  public var silence: Duration

  public init(streams: Int = 500, silence: Duration = .seconds(20)) {
    precondition(streams > 0 && silence >= .milliseconds(1))
    self.streams = streams
    self.silence = silence
  }
}

/// Certificates of the authorities to trust.
public enum Authorities: Sendable, Hashable {
  /// A file of certificates as PEM, which libcurl reads.
  case file(String)
  /// The certificates themselves, as PEM.
  case pem([UInt8])
}
