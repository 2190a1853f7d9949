// A listening TCP socket: opens a port and accepts connections.

import CLinux
import Glibc

/// A listening TCP socket, non-blocking.
public struct ListeningSocket: ~Copyable, Sendable {
  /// The descriptor, to register with an event loop.
  public let descriptor: Descriptor

  /// Takes ownership of a socket that is already bound and listening, for example an inherited one.
  public init(owning descriptor: consuming Descriptor) throws(SystemError) {
    let number = descriptor.number
    guard fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) == 0 else {
      throw SystemError(operation: "fcntl", code: errno)
    }
    guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else { throw SystemError(operation: "fcntl", code: errno) }
    SocketOption.setForServer(number)
    self.descriptor = descriptor
  }

  /// Binds and listens (bind(2), listen(2)). An IPv6 wildcard accepts IPv4 connections too.
  ///
  /// - Parameter sharesPort: SO_REUSEPORT: several sockets of one user may listen on the port, and the kernel
  ///   spreads connections over them. It also hides that another server uses the port.
  public init(address: SocketAddress, sharesPort: Bool, backlog: Int32 = 4096) throws(SystemError) {
    let descriptor = try Self.bound(address, sharesPort: sharesPort)
    SocketOption.setForServer(descriptor.number)
    guard listen(descriptor.number, backlog) == 0 else { throw SystemError(operation: "listen", code: errno) }
    self.descriptor = descriptor
  }

  private static func bound(_ address: SocketAddress, sharesPort: Bool) throws(SystemError) -> Descriptor {
    let number = callgate_stream_socket(address.family)
    guard number >= 0 else { throw SystemError(operation: "socket", code: errno) }
    let descriptor = Descriptor(owning: number)
    var on: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    // A restart must not wait for connections of the last run that linger in TIME_WAIT.
    guard setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, size) == 0 else {
      throw SystemError(operation: "setsockopt", code: errno)
    }
    if sharesPort, setsockopt(number, SOL_SOCKET, SO_REUSEPORT, &on, size) != 0 {
      throw SystemError(operation: "setsockopt", code: errno)
    }
    if address.family == AF_INET6 {
      var off: Int32 = 0
      guard setsockopt(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &off, size) == 0 else {
        throw SystemError(operation: "setsockopt", code: errno)
      }
    }
    guard address.withSockaddr({ bind(number, $0, $1) }) == 0 else {
      throw SystemError(operation: "bind", code: errno)
    }
    return descriptor
  }

  /// The address to bind instead of a given one: `0.0.0.0` instead of `::` if the kernel has no IPv6,
  /// otherwise the same.
  public static func bindable(_ address: SocketAddress) -> SocketAddress {
    guard address.address == IPAddress(v6High: 0, low: 0) else { return address }
    let number = callgate_stream_socket(AF_INET6)
    guard number < 0 else {
      _ = Descriptor(owning: number)
      return address
    }
    return errno == EAFNOSUPPORT ? SocketAddress(IPAddress(v4: 0), port: address.port) : address
  }

  /// Throws if the address is in use. Binds without SO_REUSEPORT, which would hide another server on the
  /// port, and releases the address at once.
  public static func probe(_ address: SocketAddress) throws(SystemError) {
    _ = try bound(address, sharesPort: false)
  }

  /// The address the socket listens on, with the port the system chose (getsockname(2)).
  public borrowing func boundAddress() throws(SystemError) -> SocketAddress {
    let number = descriptor.number
    let (result, address) = SocketAddress.filled { getsockname(number, $0, $1) }
    guard result == 0 else { throw SystemError(operation: "getsockname", code: errno) }
    guard let address else { throw SystemError(operation: "getsockname", code: EAFNOSUPPORT) }
    return address
  }

  /// The result of an accept.
  public enum Accepted: ~Copyable, Sendable {
    case connection(StreamSocket, peer: SocketAddress)
    /// No connection waits. Connections that died while they waited are skipped.
    case none
    case failed(SystemError)
  }

  /// Accepts one waiting connection (accept4(2)).
  public borrowing func accept() -> Accepted {
    let number = descriptor.number
    while true {
      let (result, peer) = SocketAddress.filled { callgate_accept4(number, $0, $1) }
      guard result < 0 else {
        let socket = StreamSocket(owning: Descriptor(owning: result))
        // A socket that is neither IPv4 nor IPv6, perhaps an inherited one, has no peer address to report.
        return .connection(socket, peer: peer ?? SocketAddress(IPAddress(v4: 0), port: 0))
      }
      switch errno {
      case EAGAIN: return .none
      // The connection died in the queue (accept(2) lists the network errors to treat like this): accept the
      // next one.
      case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
        ENETUNREACH:
        continue
      case let code: return .failed(SystemError(operation: "accept", code: code))
      }
    }
  }

  /// Another descriptor of the same socket (dup(2)), so that several loops can wait on it.
  public borrowing func duplicate() throws(SystemError) -> ListeningSocket {
    let number = fcntl(descriptor.number, F_DUPFD_CLOEXEC, 0)
    guard number >= 0 else { throw SystemError(operation: "fcntl", code: errno) }
    return try ListeningSocket(owning: Descriptor(owning: number))
  }
}
