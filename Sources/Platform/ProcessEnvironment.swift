// Reads the environment variables and the working directory of this process.

import CLinux
import Glibc

/// The environment that this process was started in.
public enum ProcessEnvironment {
  /// The environment variables. If a name occurs twice, the first one counts, as for getenv(3).
  public static func variables() -> [String: String] {
    var variables: [String: String] = [:]
    var next = callgate_environment()
    while let pointer = next, let entry = pointer.pointee {
      let parts = String(cString: entry).utf8.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2, let name = String(parts[0]), variables[name] == nil {
        variables[name] = String(parts[1])
      }
      next = pointer + 1
    }
    return variables
  }

  /// The working directory; empty if it has been removed.
  public static func workingDirectory() -> String {
    guard let path = getcwd(nil, 0) else { return "" }
    defer { free(path) }
    return String(cString: path)
  }
}
