// Says on a terminal what to try first on a server that has just started.

import Glibc

/// What `serve` prints on a terminal below its listening line.
enum Banner {
  /// The lines, each at most 80 columns with a usual address.
  ///
  /// - Parameter hasOperators: Whether operators use this address, with their token.
  static func text(at address: String, isSandbox: Bool, hasOperators: Bool) -> String {
    let style = Style(STDOUT_FILENO)
    var lines = [
      isSandbox ? ("Try it", "\(address)/") : ("Check", "curl -i \(address)/readyz"),
      ("Token", "curl \(isSandbox ? "" : "-u USERNAME:PASSWORD ")\(address)/access"),
      ("Reference", "\(address)/docs"),
    ]
    if hasOperators { lines.append(("Operators", "\(address)/admin/")) }
    lines.append(("End", "Ctrl-C"))
    return lines.map { "  \(style.column($0, width: 11, .strong))\($1)\n" }.joined() + "\n"
  }
}
