// Tells systemd when the server is ready, reloading or stopping.

import Glibc

/// The service manager that gets notifications of the process's state (sd_notify(3)): systemd, for a unit of
/// `Type=notify`.
///
/// Each notification is one datagram to the socket in `NOTIFY_SOCKET`.
public struct ServiceManager: Sendable {
  /// The states that are reported.
  public enum News: Sendable, Hashable {
    /// Requests are accepted, after the start or after a reload.
    case ready
    /// The configuration is being reloaded.
    case reloading
    /// Shutdown has begun: running requests are being finished.
    case stopping
  }

  /// The socket's path, or its name after a NUL if it is abstract (unix(7)).
  private let name: [UInt8]

  /// The manager that the environment names.
  ///
  /// - Returns: Nil if `NOTIFY_SOCKET` is missing or empty.
  /// - Throws: `EINVAL` or `ENAMETOOLONG` if the value cannot be the name of a Unix socket.
  public init?(environment: [String: String]) throws(SystemError) {
    guard let text = environment["NOTIFY_SOCKET"], !text.isEmpty else { return nil }
    var name = Array(text.utf8)
    switch name[0] {
    case UInt8(ascii: "/"): break
    case UInt8(ascii: "@"): name[0] = 0
    default: throw SystemError(operation: "NOTIFY_SOCKET", code: EINVAL)
    }
    guard name.count > 1, !name.dropFirst().contains(0) else {
      throw SystemError(operation: "NOTIFY_SOCKET", code: EINVAL)
    }
    // A path ends with a NUL, for which there must be room.
    guard name.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else {
      throw SystemError(operation: "NOTIFY_SOCKET", code: ENAMETOOLONG)
    }
    self.name = name
  }

  /// Notifies the manager without waiting. If the manager does not read its socket and the socket is full,
  /// this throws `EAGAIN`, and the notification is lost.
  public func tell(_ news: News) throws(SystemError) {
    let number = socket(
      AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { throw SystemError(operation: "socket", code: errno) }
    let descriptor = Descriptor(owning: number)
    let text = Self.text(news)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    // An abstract name ends with its given length; a path ends with the NUL that is there already.
    let size = MemoryLayout.offset(of: \sockaddr_un.sun_path)! + name.count + (name[0] == 0 ? 0 : 1)
    let count = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor.number, text, text.count, Int32(MSG_NOSIGNAL), $0, socklen_t(size))
      }
    }
    guard count == text.count else { throw SystemError(operation: "sendto", code: errno) }
  }

  /// The lines of a datagram.
  private static func text(_ news: News) -> [UInt8] {
    switch news {
    case .ready: return Array("READY=1".utf8)
    case .stopping: return Array("STOPPING=1".utf8)
    case .reloading:
      // With `Type=notify-reload`, systemd distinguishes this reload from an earlier one by the time on
      // CLOCK_MONOTONIC.
      var time = timespec()
      _ = clock_gettime(CLOCK_MONOTONIC, &time)
      // Any number: the time since the system started.
      let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
      return Array("RELOADING=1\nMONOTONIC_USEC=\(microseconds)".utf8)
    }
  }
}
