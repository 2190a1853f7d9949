// Endpoints that make what a phone would send to prove that its app is genuine (`POST /_sandbox/attest`) or
// which number it has (`POST /_sandbox/number-proof`).

import HTTP
import JOSE
import JSON
import Platform
import Trust

/// The issuers of attestations and number proofs in the sandbox.
struct Attesters: Sendable {
  let appCheck = AppCheckIssuer()
  let play = PlayIntegrityIssuer()
  let numbers = NumberProofIssuer()
  let phones: PhoneMaker

  init() throws(KeyError) { phones = try PhoneMaker() }
}

extension ControlEndpoint {
  /// `POST /_sandbox/attest`: makes the `attestation` member that a phone would send. App Check ignores
  /// `challenge` and `client_data`. For the other types, the challenge is the fifth line of `client_data`
  /// unless the body has `challenge`.
  static func attest(
    _ call: Call, _ attesters: Attesters, _ clock: SandboxClock, _ gateway: GatewayLink?
  ) throws(ControlRefusal) -> JSONValue {
    let body = try ControlBody(
      call, members: ["type", "app"], optional: ["challenge", "client_data", "fault", "ios", "phone"])
    let type = AttestationType(
      rawValue: try body.text("type", among: AttestationType.allCases.map(\.rawValue)))
    let app = try body.text("app")
    guard (1...255).contains(app.utf8.count) else { throw body.refusal("app", "has 1 to 255 bytes") }
    let now = (gateway?.clock ?? clock).unixTime.seconds
    let apps = gateway?.attested() ?? .sample
    switch type {
    case .appAttest:
      let (clientData, challenge) = try signed(body)
      let system = body.has("ios") ? try body.integer("ios", within: 14...27) : 27
      let phone = body.has("phone") ? try body.text("phone") : nil
      let fault: PhoneMaker.Fault? = try fault(body)
      return try made {
        try attesters.phones.attestation(
          app, of: apps, on: phone, clientData: clientData, challenge: challenge, system: system, fault,
          now: now)
      }
    case .playIntegrity:
      let (clientData, challenge) = try signed(body)
      let fault: PlayIntegrityIssuer.Fault? = try fault(body)
      return try made {
        try attesters.play.attestation(
          app, of: apps, clientData: clientData, challenge: challenge, fault, now: now)
      }
    case .appCheck, nil:
      let fault: AppCheckIssuer.Fault? = try fault(body)
      return try made {
        let token = try attesters.appCheck.token(app, of: apps, fault, now: now)
        return ["type": "app_check", "token": .string(token)]
      }
    }
  }

  /// `POST /_sandbox/number-proof`: makes the proof that a phone would send with a callback to its number.
  static func proveNumber(
    _ call: Call, _ attesters: Attesters, _ clock: SandboxClock, _ gateway: GatewayLink?
  ) throws(ControlRefusal) -> JSONValue {
    let body = try ControlBody(call, members: ["phone"], optional: ["fault"])
    let phone = try body.text("phone")
    guard (1...32).contains(phone.utf8.count) else { throw body.refusal("phone", "has 1 to 32 bytes") }
    let fault: NumberProofIssuer.Fault? = try fault(body)
    let now = (gateway?.clock ?? clock).unixTime.seconds
    let project = (gateway?.attested() ?? .sample).numberProject
    return try made {
      ["number_proof": .string(try attesters.numbers.proof(of: phone, in: project, fault, now: now))]
    }
  }

  /// The data that a phone signs, and the challenge in it.
  private static func signed(_ body: ControlBody) throws(ControlRefusal) -> (String, challenge: String) {
    let clientData = try body.text("client_data")
    guard !body.has("challenge") else { return (clientData, try body.text("challenge")) }
    let lines = clientData.split(separator: "\n", omittingEmptySubsequences: false)
    return (clientData, lines.count > 4 ? String(lines[4]) : "")
  }

  private static func fault<Fault: RawRepresentable<String> & CaseIterable>(
    _ body: ControlBody
  ) throws(ControlRefusal) -> Fault? {
    guard body.has("fault") else { return nil }
    return Fault(rawValue: try body.text("fault", among: Fault.allCases.map(\.rawValue)))
  }

  private static func made(_ make: () throws -> JSONValue) throws(ControlRefusal) -> JSONValue {
    do { return try make() } catch {
      throw ControlRefusal(
        status: .internalServerError, code: "internal", detail: "OpenSSL could not make the attestation.")
    }
  }
}
