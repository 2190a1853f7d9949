// Checks whether a descriptor that another program passed is a listening TCP socket.

import Glibc

extension ListeningSocket {
  /// The reason why a descriptor is not a listening TCP socket, with its kind or address; nil if it is one.
  public static func fault(of descriptor: Int32) -> String? {
    guard fcntl(descriptor, F_GETFD) >= 0 else { return "is not open" }
    guard let family = option(SO_DOMAIN, of: descriptor), let kind = option(SO_TYPE, of: descriptor) else {
      return "is a file, not a socket"
    }
    guard family == AF_INET || family == AF_INET6 else {
      return family == AF_UNIX ? "is a Unix socket" : "is a socket of address family \(family)"
    }
    let address = SocketAddress.filled { getsockname(descriptor, $0, $1) }.1.map { " at \($0)" } ?? ""
    guard kind == Int32(SOCK_STREAM.rawValue), option(SO_PROTOCOL, of: descriptor) == Int32(IPPROTO_TCP)
    else {
      return "is not a TCP socket, but another kind\(address)"
    }
    guard option(SO_ACCEPTCONN, of: descriptor) == 1 else {
      return "is a TCP socket\(address) that does not listen"
    }
    return nil
  }

  private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
  }
}
