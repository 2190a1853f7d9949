// The settings for listeners, TLS, the admin interface, logging, limits and the store.

public import Callers
public import Gate
public import JOSE
public import TLS

extension Configuration {
  /// The public listener.
  public struct Listen: Sendable {
    /// An IPv4 or IPv6 address, as text, without brackets.
    public package(set) var host: String
    /// The port, 0–65535; 0 lets the system pick.
    public package(set) var port: UInt16
    /// Certificate and key, if the server speaks TLS itself.
    public package(set) var tls: TLS?
    /// Peers whose `X-Forwarded-For` is believed.
    public package(set) var trustedProxies: [CIDR]
    /// How many entries of `X-Forwarded-For`, from the right, trusted proxies wrote; 0 ignores the field.
    public package(set) var forwardedHops: Int
    /// Whether another process may hold the same port.
    public package(set) var sharePort: Bool
  }

  /// The listener's identity.
  public struct TLS: Sendable {
    /// The chain, the server's own certificate first, and the key that belongs to it.
    public let identity: TLSIdentity
    /// Whether browsers use `https` for subdomains, too.
    public let hstsSubdomains: Bool
  }

  /// What operators use.
  public struct Admin: Sendable {
    /// The operators' own listener, if there is one.
    public package(set) var listener: Listener?
    /// The Bearer token: demanded on the public port (without one nothing is served there), and on the operators'
    /// own listener unless that is on loopback.
    public package(set) var token: Secret?
    /// The operators with tokens of their own.
    public package(set) var operators: [ConfiguredOperator]
    /// The issuer of operators' JWTs; nil for none.
    public package(set) var jwt: OperatorIssuer?
    /// The runbook's address, to which links add `#section`: a URL, or a path on this server.
    public package(set) var runbooks: String

    /// Whether operators have names. Then a listener on loopback asks for a token, too.
    public var namesOperators: Bool { !operators.isEmpty || jwt != nil }

    /// An address to listen on.
    public struct Listener: Sendable, Hashable {
      /// An IP address as text, without brackets.
      public let host: String
      /// The port; 0 lets the system pick.
      public let port: UInt16
      /// Whether the address is reachable from this machine only.
      public let isLoopback: Bool
    }
  }

  /// The limits of one client, and of all together.
  public struct Limits: Sendable, Hashable {
    /// Connections at once.
    public package(set) var connections: Int
    /// Bytes of a request's line and fields.
    public package(set) var headerBytes: Int
    /// Bytes of a request's content.
    public package(set) var contentBytes: Int
    /// From a request's first byte to the end of its fields.
    public package(set) var headerTimeout: Duration
    /// From a request's first byte to its last.
    public package(set) var requestTimeout: Duration
    /// Between two requests on one connection.
    public package(set) var idleTimeout: Duration
    /// From SIGTERM to the end of accepting connections.
    public package(set) var drainDelay: Duration
    /// From the end of accepting to the end of the process.
    public package(set) var drainTimeout: Duration
  }

  /// Where state is kept.
  public enum Store: Sendable {
    /// In this process; gone with it.
    case memory
    /// In a file.
    case sqlite(path: String)
    /// In a database that several instances share; the URL may hold a password.
    case postgres(url: Secret)
  }
}
