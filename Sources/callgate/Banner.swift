// Prints on a terminal what to try first on a server that has just started.

import API
import Glibc
import JOSE

/// The text that `serve` prints on a terminal below its listening line.
enum Banner {
  /// Where the operator's page is.
  enum Operators {
    /// The page is at the public address and needs an operator's token. The token is `madeToken` if the
    /// sandbox made it.
    case here(madeToken: Secret?)
    /// The page is at the admin listener, `HOST:PORT`.
    case listener(String)
    /// Neither a token nor a listener is configured.
    case nowhere
  }

  /// The lines, each at most 80 columns with a usual address.
  ///
  /// - Parameters:
  ///   - isOpen: Whether the server accepts requests without credentials.
  ///   - operators: Where operators find their page.
  static func text(at address: String, isSandbox: Bool, isOpen: Bool, operators: Operators) -> String {
    let style = Style(STDOUT_FILENO)
    let curl = isOpen ? "curl" : "curl -u USERNAME:PASSWORD"
    var lines = isSandbox ? [] : [("Check", "curl -i \(address)/readyz")]
    lines.append(("Token", "\(curl) \(address)/access"))
    if isSandbox {
      lines += [
        ("Callback", #"\#(curl) --json '{"contact_phone_number":"+14155550101"}' \"#),
        ("", "  \(address)/calls/callback"),
        ("Page", "\(address)/"),
      ]
    }
    lines.append(("Reference", "\(address)/docs"))
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
    let title =
      isSandbox ? "  callgate \(Version.current): emulated Talkdesk, no real calls are made\n\n" : ""
    return title + lines.map { "  \((style.column($0, width: 11, .strong) + $1).text)\n" }.joined() + "\n"
  }
}
