// Says on a terminal what to try first on a server that has just started.

import Glibc
import JOSE

/// What `serve` prints on a terminal below its listening line.
enum Banner {
  /// Where the operator's page is.
  enum Operators {
    /// At the public address, with their token: this one, if the sandbox made it.
    case here(madeToken: Secret?)
    /// At the admin listener, which is `HOST:PORT`.
    case listener(String)
    /// Neither a token nor a listener is configured.
    case nowhere
  }

  /// The lines, each at most 80 columns with a usual address.
  ///
  /// - Parameters:
  ///   - operators: Where operators find their page.
  static func text(at address: String, isSandbox: Bool, operators: Operators) -> String {
    let style = Style(STDOUT_FILENO)
    var lines = [
      isSandbox ? ("Try it", "\(address)/") : ("Check", "curl -i \(address)/readyz"),
      ("Token", "curl \(isSandbox ? "" : "-u USERNAME:PASSWORD ")\(address)/access"),
      ("Reference", "\(address)/docs"),
    ]
    switch operators {
    case .here(let madeToken):
      lines.append(("Operators", "\(address)/admin/"))
      if let madeToken { lines.append(("", "admin token \(madeToken.exposedString())")) }
    case .listener(let listener): lines.append(("Operators", "http://\(listener)/admin/"))
    case .nowhere where isSandbox:
      lines.append(("Operators", "set CALLGATE_ADMIN_TOKEN to use \(address)/admin/"))
    case .nowhere: break
    }
    lines.append(("End", "Ctrl-C"))
    return lines.map { "  \((style.column($0, width: 11, .strong) + $1).text)\n" }.joined() + "\n"
  }
}
