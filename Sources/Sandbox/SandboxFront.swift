// Puts the demo page and the emulator's controls in front of a gateway on the same port.

public import HTTP
public import HTTPServer
public import Platform

/// A gateway's handler with the sandbox in front: `/` is the demo client and `/_sandbox/` the emulator's
/// controls. Through its link, the controls reach the gateway's tokens, clock and installations. The gateway
/// handles every other request and every refusal.
public final class SandboxFront: RequestHandler {
  private let emulator: Emulator
  private let gateway: any RequestHandler
  private let address: IPAddress?
  private let link: GatewayLink

  /// - Parameters:
  ///   - address: The address on which the gateway listens, to recognize a `Host` that means this machine.
  ///   - link: The emulator's access to the gateway's tokens, clock and installations.
  public init(
    emulator: Emulator, gateway: any RequestHandler, listeningOn address: IPAddress? = nil, link: GatewayLink
  ) {
    self.emulator = emulator
    self.gateway = gateway
    self.address = address
    self.link = link
  }

  public func handle(_ request: borrowing Request, _ exchange: inout Exchange) {
    if isOwn(request) {
      emulator.handleOwnPath(request, listeningOn: address, gateway: link, &exchange)
    } else {
      gateway.handle(request, &exchange)
    }
  }

  public func judge(_ request: borrowing Request, _ exchange: inout Exchange) {
    if !isOwn(request) { gateway.judge(request, &exchange) }
  }

  /// Whether the emulator handles a request. At `/` the gateway responds to methods other than GET and HEAD.
  private func isOwn(_ request: borrowing Request) -> Bool {
    emulator.ownsPath(of: request)
      && (request.method == .get || request.method == .head || !request.pathIs("/"))
  }

  public func refusal(_ failure: RequestFailure, of request: inout RefusedRequest) -> Response {
    gateway.refusal(failure, of: &request)
  }
}
