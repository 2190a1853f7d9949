// The settings for listeners, TLS, the admin interface, limits and the store.

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
    /// Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted.
    public package(set) var trustedProxies: [CIDR]
    /// How many entries of these fields, from the right, trusted proxies wrote; 0 ignores the fields.
    public package(set) var forwardedHops: Int
    /// Whether another process may listen on the same port.
    public package(set) var sharePort: Bool
  }

  /// The TLS settings of the public listener.
  public struct TLS: Sendable {
    /// The chain, the server's own certificate first, and the key that belongs to it.
    public let identity: TLSIdentity
    /// Whether browsers must use `https` for subdomains too (HSTS with `includeSubDomains`).
    public let hstsSubdomains: Bool
  }

  /// The admin interface, for operators.
  public struct Admin: Sendable {
    /// The operators' own listener, if there is one.
    public package(set) var listener: Listener?
    /// The admin token. Without a token or named operators, the public port does not serve the admin
    /// interface. The operators' own listener requires a token too, unless it is on loopback and no operators
    /// have names.
    public package(set) var token: Secret?
    /// The operators with tokens of their own.
    public package(set) var operators: [ConfiguredOperator]
    /// The issuer of operators' JWTs; nil for none.
    public package(set) var jwt: OperatorIssuer?
    /// The runbook's address, to which links add `#section`: a URL, or a path on this server.
    public package(set) var runbooks: String

    /// Whether operators have names. If so, a listener on loopback requires a token too.
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

  /// The limits for clients, and the times of a shutdown.
  public struct Limits: Sendable, Hashable {
    /// The maximum number of open connections.
    public package(set) var connections: Int
    /// The maximum size of a request's line and fields, in bytes.
    public package(set) var headerBytes: Int
    /// The maximum size of a request's content, in bytes.
    public package(set) var contentBytes: Int
    /// The maximum time from a request's first byte to the end of its fields.
    public package(set) var headerTimeout: Duration
    /// The maximum time from a request's first byte to its last.
    public package(set) var requestTimeout: Duration
    /// The maximum time between two requests on one connection.
    public package(set) var idleTimeout: Duration
    /// The time from SIGTERM until the server stops accepting connections.
    public package(set) var drainDelay: Duration
    /// The maximum time from that moment until the process ends.
    public package(set) var drainTimeout: Duration
  }

  /// Where the server stores its state.
  public enum Store: Sendable {
    /// In memory: lost when the process ends.
    case memory
    /// In an SQLite file.
    case sqlite(path: String)
    /// In a database that several instances share; the URL may contain a password.
    case postgres(url: Secret)
  }
}
