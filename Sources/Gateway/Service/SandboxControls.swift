// The controls of the server for the sandbox on its port.

public import HTTP
public import HTTPServer

/// The controls of a running server that only the sandbox uses.
public struct SandboxControls: Sendable {
  /// Forgets the access tokens that the server keeps.
  public let forgetTokens: @Sendable () -> Void
  /// Adapts the server after its clock was moved by so many seconds; less than zero is back.
  public let clockMoved: @Sendable (Int64) -> Void
  /// Answers a request to approve an installation: `{"user_code"}`.
  public let approveInstallation: @Sendable (borrowing Request, inout Exchange) -> Void
}
