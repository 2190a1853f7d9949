// Says on a terminal what to try first on a server that has just started.

import Glibc
import JOSE

/// What `serve` prints on a terminal below its listening line.
enum Banner {
  /// The lines, each at most 80 columns with a usual address.
  ///
  /// - Parameters:
  ///   - hasOperators: Whether operators use this address, with their token.
  ///   - adminToken: That token, if the sandbox made it.
  static func text(at address: String, isSandbox: Bool, hasOperators: Bool, adminToken: Secret?) -> String {
    let style = Style(STDOUT_FILENO)
    var lines = [
      isSandbox ? ("Try it", "\(address)/") : ("Check", "curl -i \(address)/readyz"),
      ("Token", "curl \(isSandbox ? "" : "-u USERNAME:PASSWORD ")\(address)/access"),
      ("Reference", "\(address)/docs"),
    ]
    if hasOperators { lines.append(("Operators", "\(address)/admin/")) }
    if let adminToken { lines.append(("", "admin token \(adminToken.exposedString())")) }
    lines.append(("End", "Ctrl-C"))
    return lines.map { "  \(style.column($0, width: 11, .strong))\($1)\n" }.joined() + "\n"
  }
}
