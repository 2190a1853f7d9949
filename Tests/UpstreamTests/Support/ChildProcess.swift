// Runs a command and waits for its end.

import Dispatch
import Glibc

/// Runs a command to its end.
enum ChildProcess {
  /// Runs a command found in PATH. Returns its exit status; nil if it did not start or was killed.
  static func run(_ arguments: [String], environment: [String: String] = [:]) async -> Int32? {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "child process").async {
        continuation.resume(returning: runAndWait(arguments, environment))
      }
    }
  }

  private static func runAndWait(_ arguments: [String], _ extra: [String: String]) -> Int32? {
    var variables: [String] = extra.map { "\($0.key)=\($0.value)" }
    var next = environ
    while let entry = next.pointee {
      let variable = String(cString: entry)
      if extra[String(variable.prefix { $0 != "=" })] == nil { variables.append(variable) }
      next += 1
    }
    var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    var envp: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
    defer { for pointer in argv + envp { free(pointer) } }
    var pid = pid_t()
    guard posix_spawnp(&pid, arguments[0], nil, nil, &argv, &envp) == 0 else { return nil }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 { guard errno == EINTR else { return nil } }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
  }
}
