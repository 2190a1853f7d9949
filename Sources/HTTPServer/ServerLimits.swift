// The limits on connections, time and sizes that protect the server from its clients.

public import HTTP
import Platform

/// The limits for a server's clients. Each is the largest allowed value.
public struct ServerLimits: Sendable {
  /// Open connections. One more is answered 503 and closed.
  public var connections: Int
  /// Whether for one connection more the one is closed whose client has kept silent longest, instead of refusing the new one.
  /// Each loop knows its own connections only, so a server that does this runs on one loop.
  public var closesLongestSilent = false
  /// Connections whose filter has not agreed with its client yet, on all loops together, each loop having its share. Beyond
  /// that the oldest is closed for a new one; the new one waits in the kernel's queue until the oldest has had
  /// `handshakeProtection`.
  public var handshakes: Int
  /// See `handshakes`.
  public var handshakeProtection: Duration
  /// How much of a request is taken.
  public var message: MessageLimits
  /// From the first octet of a request, or from the connection's beginning for its first request, to the end of the head.
  public var headerTimeout: Duration
  /// From the first octet of a request to its last.
  public var requestTimeout: Duration
  /// From an answer to the first octet of the next request.
  public var idleTimeout: Duration
  /// How long an answer may make no progress because the client does not read.
  public var writeTimeout: Duration
  /// Octets that wait for clients that do not read, over all connections. Beyond that, the connection without progress for longest is
  /// closed. Documents that all clients share do not count.
  public var unsentOctets: Int
  /// Octets of memory for requests that have not come whole, over all connections: heads, content, pipelined requests, and what TLS
  /// holds of a record. Beyond that, the connection that received its last octet longest ago is closed.
  public var unfinishedOctets: Int
  /// How long and how far a connection is read on after its last answer, so that unread octets do not make the kernel
  /// reset the connection and the reset does not wipe the answer out (RFC 9112 §9.6).
  public var lingerTimeout: Duration
  /// See `lingerTimeout`.
  public var lingerBytes: Int

  /// Makes limits; the defaults are those of the configuration reference.
  public init(
    connections: Int = 20_000, handshakes: Int = 512, handshakeProtection: Duration = .seconds(1),
    headerBytes: Int = 16_384, contentBytes: Int = 65_536,
    headerTimeout: Duration = .seconds(10), requestTimeout: Duration = .seconds(30),
    idleTimeout: Duration = .seconds(95), writeTimeout: Duration = .seconds(30), unsentOctets: Int = 16 << 20,
    unfinishedOctets: Int = 16 << 20, lingerTimeout: Duration = .seconds(2), lingerBytes: Int = 1 << 20
  ) {
    self.connections = connections
    self.handshakes = handshakes
    self.handshakeProtection = handshakeProtection
    message = MessageLimits(headerBytes: headerBytes, contentBytes: contentBytes)
    self.headerTimeout = headerTimeout
    self.requestTimeout = requestTimeout
    self.idleTimeout = idleTimeout
    self.writeTimeout = writeTimeout
    self.unsentOctets = unsentOctets
    self.unfinishedOctets = unfinishedOctets
    self.lingerTimeout = lingerTimeout
    self.lingerBytes = lingerBytes
  }

  /// How many connections fit a limit on descriptors: 256 are kept back for everything else, or half of them where there
  /// are few.
  public static func connections(fitting descriptors: Int) -> Int {
    max(descriptors - 256, descriptors / 2, 1)
  }

  /// The first descriptor number that clients must not use, of so many. The kernel gives the lowest free
  /// number, so a number that high means that so many are in use, by anyone. The rest is for upstream, files
  /// and Dispatch, which ends the process when it cannot open one.
  static func firstKeptDescriptor(of descriptors: Int) -> Int {
    max(descriptors - min(256, max(24, descriptors / 4)), 0)
  }
}
