// Takes over a listening socket from systemd, so that a restart refuses no connection.

import Glibc
import Platform

/// A listening socket that systemd opened for this process (sd_listen_fds(3)): it outlives a restart, so that no
/// connection is refused meanwhile.
enum InheritedSocket {
  /// The first descriptor systemd passes.
  private static let first: Int32 = 3

  /// The descriptor, if the variables are for this process. Of several it takes the first.
  ///
  /// Call it before anything is opened: another file would soon get the number of a descriptor that was
  /// announced but not passed.
  static func descriptor(_ environment: [String: String]) throws -> Int32? {
    guard environment["LISTEN_PID"].flatMap(Int32.init) == getpid(),
      let count = environment["LISTEN_FDS"].flatMap(Int32.init), count > 0
    else { return nil }
    var listens: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard unsafe getsockopt(first, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens == 1 else {
      Output.message(
        "callgate: LISTEN_FDS: descriptor \(first) is not a listening socket; unset LISTEN_FDS to open one")
      throw ExitStatus.configuration.exit
    }
    // systemd passes it without: a program that this one may start has no business with it.
    guard fcntl(first, F_SETFD, FD_CLOEXEC) == 0 else {
      Output.message("callgate: LISTEN_FDS: \(SystemError(operation: "fcntl", code: errno))")
      throw ExitStatus.internal.exit
    }
    return first
  }
}
