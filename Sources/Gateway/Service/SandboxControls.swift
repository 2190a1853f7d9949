// The controls of the server for the sandbox on its port.

import Admin
import Delivery
public import HTTP
public import HTTPServer
import Serving
import Store
import Tokens

/// The controls of a running server that only the sandbox uses.
public struct SandboxControls: Sendable {
  /// Forgets the access tokens that the server keeps.
  public let forgetTokens: @Sendable () -> Void
  /// Adapts the server after its clock was moved by so many seconds; less than zero is back.
  public let clockMoved: @Sendable (Int64) -> Void
  /// Answers a request to approve an installation: `{"user_code"}`.
  public let approveInstallation: @Sendable (borrowing Request, inout Exchange) -> Void
}

extension SandboxControls {
  /// The controls of a server.
  init(_ runtime: Runtime, _ administration: Administration) {
    let forgetTokens = { @Sendable in
      runtime.tokens.forgetTokens()
      runtime.desks.forgetTokens()
      runtime.push?.forgetTokens()
    }
    self.init(
      forgetTokens: forgetTokens,
      clockMoved: { seconds in
        // By the new time the tokens have expired, or are not valid yet.
        forgetTokens()
        // What was used at a later time would refuse requests until that time comes.
        guard seconds < 0 else { return }
        runtime.ledger.forgetMemory()
        runtime.callbacks.brakes.forget()
      },
      approveInstallation: { administration.approveInSandbox($0, &$1) })
  }
}
