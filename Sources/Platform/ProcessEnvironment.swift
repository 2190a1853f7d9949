// Reads the environment variables and the working directory of this process.

import CLinux
import Glibc

/// What this process was started with.
public enum ProcessEnvironment {
  /// Its variables. Of a name that stands there twice the first counts, as for getenv(3).
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

  /// The working directory; empty where it has been removed.
  public static func workingDirectory() -> String {
    guard let path = getcwd(nil, 0) else { return "" }
    defer { free(path) }
    return String(cString: path)
  }
}
