// Looks up a host name on a thread of its own, because the system's resolver can block for half a minute.

import Dispatch
import Glibc
import Platform

/// Asks the system's resolver for a name's addresses.
///
/// `getaddrinfo` blocks as long as the resolver does, half a minute with a dead name server, and cannot be
/// canceled. So it runs on a thread of its own, and no thread ever waits for it. libcurl's own resolver
/// threads are joined in `curl_multi_remove_handle`, which would hold up every other transfer.
enum NameLookup {
  /// A function that finds a name's addresses and calls `done` once, from any thread. Tests pass their own.
  typealias Function =
    @Sendable (_ name: String, _ done: @escaping @Sendable (NameCache.Result) -> Void) -> Void

  /// Starts a lookup; `done` is called once, on the lookup's thread.
  @Sendable static func start(_ name: String, done: @escaping @Sendable (NameCache.Result) -> Void) {
    // A serial queue gets a thread even when every thread of the shared pool is blocked.
    DispatchQueue(label: "callgate.lookup").async { done(addresses(of: name)) }
  }

  /// The addresses in the order the system wants them tried (RFC 6724).
  private static func addresses(of name: String) -> NameCache.Result {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(name, nil, &hints, &list)
    let error = errno
    guard code == 0 else { return .failure(failure(code, error)) }
    defer { freeaddrinfo(list) }

    var found: [IPAddress] = []
    var next = list
    while let entry = next {
      if let address = IPAddress(entry.pointee.ai_addr), !found.contains(address) { found.append(address) }
      next = entry.pointee.ai_next
    }
    guard !found.isEmpty else {
      return .failure(LookupFailure(isTemporary: false, detail: "the name has no IP address"))
    }
    return .success(found)
  }

  /// EAI_NODATA: the name exists but has no address. netdb.h defines it only for GNU programs.
  private static let noData: Int32 = -5

  private static func failure(_ code: Int32, _ error: Int32) -> LookupFailure {
    let words = code == EAI_SYSTEM ? strerror(error).map { UnsafePointer($0) } : gai_strerror(code)
    let isFinal = code == EAI_NONAME || code == noData
    return LookupFailure(
      isTemporary: !isFinal, detail: words.map { String(cString: $0) } ?? "the resolver failed")
  }
}

extension IPAddress {
  /// The address in a socket address; nil for another family, and for a link-local one whose zone would be
  /// lost.
  fileprivate init?(_ pointer: UnsafeMutablePointer<sockaddr>?) {
    guard let pointer else { return nil }
    switch Int32(pointer.pointee.sa_family) {
    case AF_INET:
      let bits = pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_addr.s_addr }
      self.init(v4: UInt32(bigEndian: bits))
    case AF_INET6:
      let address = pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { $0.pointee }
      guard address.sin6_scope_id == 0 else { return nil }
      let (high, low) = withUnsafeBytes(of: address.sin6_addr) { octets in
        (octets.loadUnaligned(as: UInt64.self), octets.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      }
      self.init(v6High: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
    default:
      return nil
    }
  }
}
