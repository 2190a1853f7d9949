// A loopback port that accepts no more connections, so that connecting to it hangs.

import Glibc

/// A loopback port whose connection queue is full: new connections hang, as if their packets were lost.
final class FullListener {
  let port: Int
  private var descriptors: [Int32] = []

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    descriptors.append(listener)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let fillers = (0..<2).map { _ in
      socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    }
    descriptors += fillers
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        guard bind(listener, pointer, length) == 0, listen(listener, 0) == 0,
          getsockname(listener, pointer, &length) == 0
        else { return false }
        for filler in fillers { connect(filler, pointer, length) }
        return true
      }
    }
    guard isListening else { throw RawUpstream.Failure(call: "listen", errno: errno) }
    port = Int(UInt16(bigEndian: address.sin_port))
    // The queue is full once the only connection that fits is established.
    var entry = pollfd(fd: fillers[0], events: Int16(POLLOUT), revents: 0)
    poll(&entry, 1, 1000)
  }

  deinit { for descriptor in descriptors { close(descriptor) } }
}
