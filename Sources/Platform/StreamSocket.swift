// A connected TCP socket: reads, writes and shuts down without blocking.

import CLinux
import Glibc

/// One end of a TCP connection, non-blocking.
public struct StreamSocket: ~Copyable, Sendable {
  /// The result of a read or a write.
  public enum Transfer: Sendable, Equatable {
    /// The number of bytes that were read or written; 0 from a read means that the other end has finished.
    case bytes(Int)
    /// Nothing can be read or written now.
    case wouldBlock
    /// The connection is broken.
    case failed(SystemError)
  }

  /// The descriptor, to register with an event loop.
  public let descriptor: Descriptor

  /// Takes ownership of a connected, non-blocking socket.
  public init(owning descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// Connects to an address, and waits for the connection (connect(2)). For tests only: the wait would block
  /// an event loop.
  public init(connectedTo address: SocketAddress) throws(SystemError) {
    let number = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw SystemError(operation: "socket", code: errno) }
    let descriptor = Descriptor(owning: number)
    let result = address.withSockaddr { connect(number, $0, $1) }
    guard result == 0 else { throw SystemError(operation: "connect", code: errno) }
    guard fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) == 0 else {
      throw SystemError(operation: "fcntl", code: errno)
    }
    self.descriptor = descriptor
  }

  /// Reads into an array, overwriting it from its start; at most its `count` (recv(2)).
  public borrowing func receive(into buffer: inout [UInt8]) -> Transfer {
    let number = descriptor.number
    let count = buffer.withUnsafeMutableBytes { recv(number, $0.baseAddress, $0.count, 0) }
    if count >= 0 { return .bytes(count) }
    return Self.transfer(failed: "recv", errno)
  }

  /// Writes as much of an array as the socket accepts, from an offset on (send(2), without SIGPIPE).
  public borrowing func send(_ bytes: [UInt8], from offset: Int = 0) -> Transfer {
    precondition(offset <= bytes.count, "an offset within the bytes")
    let number = descriptor.number
    let count = bytes.withUnsafeBytes {
      Glibc.send(number, $0.baseAddress.map { $0 + offset }, $0.count - offset, Int32(MSG_NOSIGNAL))
    }
    if count >= 0 { return .bytes(count) }
    return Self.transfer(failed: "send", errno)
  }

  /// Sends FIN, because nothing more will be written. Reading is still possible (shutdown(2)).
  public borrowing func finishWriting() { _ = shutdown(descriptor.number, Int32(SHUT_WR)) }

  /// Makes closing reset the connection instead of finishing it (SO_LINGER of 0).
  public borrowing func resetOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    _ = setsockopt(descriptor.number, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  private static func transfer(failed operation: String, _ code: Int32) -> Transfer {
    code == EAGAIN || code == EINTR ? .wouldBlock : .failed(SystemError(operation: operation, code: code))
  }
}
