// The gateway's controls for the sandbox on its port.

public import HTTP
public import HTTPServer
public import JOSE
import Platform

/// A gateway on the sandbox's port, as its controls see it.
public struct GatewayLink: Sendable {
  /// Its wall clock.
  let clock: SandboxClock
  /// Makes it forget the access tokens that it keeps.
  let forgetTokens: @Sendable () -> Void
  /// Tells it that its wall clock was moved by so many seconds.
  let clockMoved: @Sendable (Int64) -> Void
  /// For how long it does not ask an upstream, named as in faults.
  let pauses: @Sendable () -> [(of: String, remaining: Duration)]
  /// Makes it ask all upstreams again.
  let endPauses: @Sendable () -> Void
  /// Has it answer a request to approve an installation.
  let approve: @Sendable (borrowing Request, inout Exchange) -> Void
  /// The admin token that the sandbox made for it, if it did.
  let adminToken: Secret?
  /// The identity provider whose users it takes, if it does.
  let users: SandboxUsers?
  /// Its hook for events of calls, if it has the sandbox's.
  let dialing: Dialing?
  /// The apps that it attests at the moment.
  let attested: @Sendable () -> AttestedApps

  /// Links a gateway.
  ///
  /// - Parameters:
  ///   - clock: The gateway's wall clock, which moves with `"everything":true`.
  ///   - forgetTokens: Makes the gateway forget the access tokens that it keeps.
  ///   - clockMoved: Tells the gateway that its clock was moved by so many seconds; less than zero is back.
  ///   - pauses: For how long the gateway does not ask an upstream, named as in faults.
  ///   - endPauses: Makes the gateway ask all upstreams again.
  ///   - approve: Has the gateway answer a request to approve an installation.
  ///   - adminToken: The admin token that the sandbox made for the gateway. The demo page opens the operator's page with it.
  ///   - users: The identity provider whose users the gateway takes.
  ///   - dialing: The gateway's hook for events of calls.
  ///   - attested: The apps that the gateway attests at the moment.
  public init(
    clock: SandboxClock, forgetTokens: @escaping @Sendable () -> Void,
    clockMoved: @escaping @Sendable (Int64) -> Void,
    pauses: @escaping @Sendable () -> [(of: String, remaining: Duration)],
    endPauses: @escaping @Sendable () -> Void,
    approve: @escaping @Sendable (borrowing Request, inout Exchange) -> Void, adminToken: Secret? = nil,
    users: SandboxUsers? = nil, dialing: Dialing? = nil,
    attested: @escaping @Sendable () -> AttestedApps = { .sample }
  ) {
    self.clock = clock
    self.forgetTokens = forgetTokens
    self.clockMoved = clockMoved
    self.pauses = pauses
    self.endPauses = endPauses
    self.approve = approve
    self.adminToken = adminToken
    self.users = users
    self.dialing = dialing
    self.attested = attested
  }

  /// Sets how far its clock is ahead of this machine's, and tells it.
  func setClock(ahead seconds: Int64) {
    let way = seconds.subtractingClamped(clock.offset)
    guard way != 0 else { return }
    clock.offset = seconds
    clockMoved(way)
  }
}
