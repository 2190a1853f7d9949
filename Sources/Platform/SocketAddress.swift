// An IP address with a port, and its conversion to and from the kernel's form.

import Glibc

/// An address and a port, of a listening socket or of a peer.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
  public let address: IPAddress
  /// The port; 0 lets the system choose when listening.
  public let port: UInt16

  public init(_ address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }

  /// Makes a socket address from a literal address, in brackets or not, or from `localhost` (127.0.0.1). Nil
  /// for anything else: names are resolved elsewhere, never by accident.
  public init?(host: String, port: UInt16) {
    if host == "localhost" {
      self.init(IPAddress(v4: 0x7F00_0001), port: port)
      return
    }
    let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    guard let address = IPAddress(bare) else { return nil }
    self.init(address, port: port)
  }

  /// `192.0.2.1:80` or `[2001:db8::1]:80`.
  public var description: String {
    address.version == .v4 ? "\(address):\(port)" : "[\(address)]:\(port)"
  }

  var family: Int32 { address.version == .v4 ? AF_INET : AF_INET6 }

  /// Calls a function with the address in the kernel's form.
  func withSockaddr<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    switch address.version {
    case .v4:
      var raw = sockaddr_in()
      raw.sin_family = sa_family_t(AF_INET)
      raw.sin_port = port.bigEndian
      raw.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.low).bigEndian
      return withUnsafeBytes(of: &raw) {
        body(
          $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    case .v6:
      var raw = sockaddr_in6()
      raw.sin6_family = sa_family_t(AF_INET6)
      raw.sin6_port = port.bigEndian
      raw.sin6_addr = address.in6
      return withUnsafeBytes(of: &raw) {
        body(
          $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(MemoryLayout<sockaddr_in6>.size))
      }
    }
  }

  /// Runs a system call that fills in an address in the kernel's form. The address is nil if the call fails,
  /// or if the family is neither IPv4 nor IPv6.
  static func filled(by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32)
    -> (result: Int32, address: SocketAddress?)
  {
    var storage = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
    }
    guard result >= 0 else { return (result, nil) }
    switch Int32(storage.sin6_family) {
    case AF_INET6:
      return (result, SocketAddress(IPAddress(storage.sin6_addr), port: UInt16(bigEndian: storage.sin6_port)))
    case AF_INET:
      let v4 = withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in.self) }
      return (
        result,
        SocketAddress(
          IPAddress(v4: UInt32(bigEndian: v4.sin_addr.s_addr)), port: UInt16(bigEndian: v4.sin_port))
      )
    default:
      return (result, nil)
    }
  }
}
