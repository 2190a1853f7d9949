// The limits on connections, time and sizes that protect the server from its clients.

public import HTTP
import Platform

/// The limits for a server's clients. Each is the largest allowed value.
public struct ServerLimits: Sendable {
  /// Open connections. For one more, the server closes a connection whose client has finished writing and
  /// still waits for a response. If there is none, the new connection gets 503 and is closed.
  public var connections: Int
  /// Whether the server closes the connection whose client has been silent longest when there is one too
  /// many, instead of refusing the new one. Each loop knows only its own connections, so such a server runs
  /// on one loop.
  public var closesLongestSilent = false
  /// Connections whose filter has not finished its handshake, on all loops together; each loop has an equal
  /// share. Beyond that, the oldest is closed for a new one. The new one waits in the kernel's queue until
  /// the oldest has had `handshakeProtection`.
  public var handshakes: Int
  /// See `handshakes`.
  public var handshakeProtection: Duration
  /// The limits on the size of a request.
  public var message: MessageLimits
  /// The time from the first octet of a request to the end of its head. For the first request of a
  /// connection, it begins when the connection opens.
  public var headerTimeout: Duration
  /// The time from the same beginning to the request's last octet. It begins again when a deferred judgment
  /// accepts the head. This time and `headerTimeout` also begin again when the client has read responses that
  /// blocked the connection.
  public var requestTimeout: Duration
  /// The time from a response to the first octet of the next request.
  public var idleTimeout: Duration
  /// How long a response may make no progress because the client does not read.
  public var writeTimeout: Duration
  /// Octets that wait for clients that do not read, over all connections. Beyond that, the connection that
  /// has made no progress for longest is closed. Documents that all clients share do not count.
  public var unsentOctets: Int
  /// Octets of memory for unfinished requests, over all connections: heads, content, pipelined requests, and
  /// partial records of TLS. Beyond that, the connection that received its last octet longest ago is closed.
  public var unfinishedOctets: Int
  /// How long the server reads from a connection after its last response. Unread octets would make the
  /// kernel reset the connection, and the reset could destroy the response (RFC 9112 §9.6).
  public var lingerTimeout: Duration
  /// The most octets that the server reads in that time. Beyond that, it closes the connection.
  public var lingerBytes: Int

  /// Creates limits. The defaults are those of the configuration reference.
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

  /// The number of connections that fit a limit on descriptors. 256 descriptors are reserved for everything
  /// else, or half of all if there are few.
  public static func connections(fitting descriptors: Int) -> Int {
    max(descriptors - 256, descriptors / 2, 1)
  }

  /// The first descriptor number that clients must not use, given the limit on descriptors. The kernel gives
  /// the lowest free number, so a number that high means that all lower ones are in use. The rest is for
  /// upstream, files and Dispatch, which ends the process when it cannot open one.
  static func firstKeptDescriptor(of descriptors: Int) -> Int {
    max(descriptors - min(256, max(24, descriptors / 4)), 0)
  }
}
