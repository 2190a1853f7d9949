// Connects the sandbox's controls to the gateway on the same port.

public import HTTP
public import HTTPServer
public import JOSE
import Platform

/// The sandbox's access to a gateway on the same port.
public struct GatewayLink: Sendable {
  let clock: SandboxClock
  /// Makes the gateway forget its saved access tokens.
  let forgetTokens: @Sendable () -> Void
  /// Tells the gateway by how many seconds its wall clock was moved.
  let clockMoved: @Sendable (Int64) -> Void
  /// The upstreams to which the gateway has paused requests, named as in faults, and the time left.
  let pauses: @Sendable () -> [(of: String, remaining: Duration)]
  /// Ends all pauses, so that the gateway sends requests to every upstream again.
  let endPauses: @Sendable () -> Void
  /// Lets the gateway respond to a request to approve an installation.
  let approve: @Sendable (borrowing Request, inout Exchange) -> Void
  /// The admin token that the sandbox made for the gateway, if any.
  let adminToken: Secret?
  /// The identity provider whose users the gateway accepts, if any.
  let users: SandboxUsers?
  /// The gateway's webhook for call events, if the sandbox made one.
  let dialing: Dialing?
  /// The apps whose attestations the gateway currently checks.
  let attested: @Sendable () -> AttestedApps

  /// Links a gateway.
  ///
  /// - Parameters:
  ///   - clock: The gateway's wall clock, which moves with `"everything":true`.
  ///   - forgetTokens: Makes the gateway forget its saved access tokens.
  ///   - clockMoved: Tells the gateway by how many seconds its clock was moved; negative means back.
  ///   - pauses: The upstreams to which the gateway has paused requests, named as in faults, and the time
  ///     left.
  ///   - endPauses: Ends all pauses, so that the gateway sends requests to every upstream again.
  ///   - approve: Lets the gateway respond to a request to approve an installation.
  ///   - adminToken: The admin token that the sandbox made for the gateway. The demo page opens the
  ///     operator's page with it.
  ///   - users: The identity provider whose users the gateway accepts.
  ///   - dialing: The gateway's webhook for call events.
  ///   - attested: The apps whose attestations the gateway currently checks.
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

  /// Sets how far the gateway's clock is ahead of this machine's, in seconds, and tells the gateway.
  func setClock(ahead seconds: Int64) {
    let way = seconds.subtractingClamped(clock.offset)
    guard way != 0 else { return }
    clock.offset = seconds
    clockMoved(way)
  }
}
