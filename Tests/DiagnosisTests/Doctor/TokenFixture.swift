// A user's token, the provider that signs it, and what `callgate doctor --token` says about it.

import HTTP
import JOSE
import JSON
import Platform
import TestSupport

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// An identity provider with one key.
struct TokenFixture {
  let signer: Signer
  let key: JSONObject

  init(_ algorithm: SignatureAlgorithm = .ES256, keyID: String = "k1") throws {
    let key = try PrivateKey.generate(for: algorithm)
    signer = try Signer(key: key, algorithm: algorithm)
    var jwk = key.publicKey.jwk()
    jwk["kid"] = .string(keyID)
    self.key = jwk
  }

  /// A provider that publishes the given keys, and its own key last.
  func publishing(_ others: [JSONValue] = [], _ members: JSONObject = [:]) -> KeyProvider {
    var own = key
    for (name, value) in members.members { own[name] = value }
    let set: JSONValue = ["keys": .array(others + [.object(own)])]
    return KeyProvider([.success(InboundResponse(status: 200, fields: [:], content: set.serialized()))])
  }

  /// A token with these claims, issued a minute ago and valid for an hour.
  func token(
    header: JSONObject = ["kid": "k1", "typ": "JWT"], _ claims: JSONObject, at clock: ManualTime
  ) throws -> [UInt8] {
    var claims = claims
    claims["iat"] = claims["iat"] ?? .number(JSONNumber(clock.unixTime.seconds - 60))
    claims["exp"] = claims["exp"] ?? .number(JSONNumber(clock.unixTime.seconds + 3600))
    return Array(try JWS.sign(header: header, payload: claims.serialized(), with: signer).utf8)
  }

  /// The report on a token.
  static func report(
    _ token: [UInt8], app: String? = nil, _ yaml: String, _ transport: any HTTPTransport, _ clock: ManualTime
  ) async throws -> DoctorReport {
    let configuration = try Fixture.load(yaml, for: .check).configuration
    return await TokenExamination.report(
      on: token, app: app, configuration, transport: transport, clock: clock)
  }
}

extension DoctorReport {
  /// The checks that failed, in order.
  var failed: [String] { findings.filter { $0.status == .fail }.map(\.check) }
}
