// `POST /_sandbox/attest`: what the phone of an app would send to prove that it is genuine.

import HTTP
import JSON
import Platform

extension ControlEndpoint {
  /// `POST /_sandbox/attest`: the member `attestation` that a phone would send. Of App Check, `challenge` and `client_data` count for
  /// nothing.
  static func attest(
    _ call: Call, _ issuer: AppCheckIssuer, _ clock: SandboxClock, _ gateway: GatewayLink?
  ) throws(ControlRefusal) -> JSONValue {
    let body = try ControlBody(
      call, members: ["type", "app"], optional: ["challenge", "client_data", "fault"])
    let type = try body.text("type", among: ["app_check"])
    let app = try body.text("app")
    guard (1...255).contains(app.utf8.count) else { throw body.refusal("app", "has 1 to 255 bytes") }
    var fault: AppCheckIssuer.Fault?
    if body.has("fault") {
      fault = AppCheckIssuer.Fault(
        rawValue: try body.text("fault", among: AppCheckIssuer.Fault.allCases.map(\.rawValue)))
    }
    do {
      let token = try issuer.token(
        app, of: gateway?.attested() ?? .sample, fault, now: (gateway?.clock ?? clock).unixTime.seconds)
      return ["type": .string(type), "token": .string(token)]
    } catch {
      throw ControlRefusal(
        status: .internalServerError, code: "internal", detail: "OpenSSL could not sign the token.")
    }
  }
}
