// Sets and reads integer socket options.

import CLinux
import Glibc

/// Socket options with a number for a value (setsockopt(2), getsockopt(2)).
enum SocketOption {
  /// Sets the options of every connection of a server, on the listening socket: Linux makes a connection's
  /// socket by copying the listener's, so that no option costs a call per connection.
  ///
  /// A refused option is no reason to refuse clients.
  static func setForServer(_ number: Int32) {
    // Responses are written whole, so there is nothing to wait for.
    set(number, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    // Detects a peer that is gone: probes after 60 s of silence, then every 10 s, three times. Unacknowledged
    // data ends the connection after 30 s.
    set(number, SOL_SOCKET, SO_KEEPALIVE, 1)
    set(number, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60)
    set(number, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
    set(number, Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
    set(number, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 30_000)
    // Otherwise the kernel stores up to 4 MiB of responses for each client that does not read them.
    set(number, SOL_SOCKET, SO_SNDBUF, 131_072)
  }

  static func set(_ number: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    _ = setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// The value of an option; nil when the system refuses.
  static func get(_ number: Int32, _ level: Int32, _ option: Int32) -> Int32? {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(number, level, option, &value, &size) == 0 ? value : nil
  }
}
