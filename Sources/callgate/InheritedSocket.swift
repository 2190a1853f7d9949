// Takes over listening sockets from systemd, so that a restart refuses no connection.

import Glibc
import Platform

/// Listening sockets that systemd opened for this process (sd_listen_fds(3)). The sockets outlive a restart,
/// so that no connection is refused meanwhile.
enum InheritedSocket {
  /// The first descriptor systemd passes.
  private static let first: Int32 = 3

  /// The descriptors, if the variables are for this process; empty otherwise.
  ///
  /// Call this before anything is opened: another file would soon get the number of a descriptor that was
  /// announced but not passed.
  static func descriptors(_ environment: [String: String]) throws -> [Int32] {
    guard environment["LISTEN_PID"].flatMap(Int32.init) == getpid(),
      let count = environment["LISTEN_FDS"].flatMap(Int32.init), count > 0
    else { return [] }
    // The limit of open files bounds what can have been passed.
    let end = first.addingReportingOverflow(count)
    for descriptor in first..<(end.overflow ? .max : end.partialValue) {
      if let fault = ListeningSocket.fault(of: descriptor) {
        Output.message(
          "callgate: LISTEN_FDS: descriptor \(descriptor) \(fault). Pass only listening TCP sockets: in a socket unit, "
            + "each ListenStream= must name a port. An empty ListenStream= in a drop-in removes those before it."
        )
        throw ExitStatus.configuration.exit
      }
      // systemd passes the descriptor without close-on-exec. Programs that this process starts must not
      // inherit it.
      guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
        Output.message("callgate: LISTEN_FDS: \(SystemError(operation: "fcntl", code: errno))")
        throw ExitStatus.internal.exit
      }
    }
    return Array(first..<(first + count))
  }
}
