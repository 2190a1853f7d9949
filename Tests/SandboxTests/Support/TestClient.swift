// An OAuth client for the tests, with a key and assertions that a test can alter.

import HTTP
import JOSE
import JSON
import Platform

@testable import Sandbox

/// A client of the emulator, played by a test: a key, and assertions that are valid until the test changes
/// them.
struct TestClient {
  static let id = "0123456789abcdef0123456789abcdef"
  static let tokenURL = "http://127.0.0.1:7000/oauth/token"

  var key: PrivateKey
  var algorithm: SignatureAlgorithm
  var keyID = "key-1"

  init(_ algorithm: SignatureAlgorithm = .ES256) throws {
    key = try PrivateKey.generate(for: algorithm)
    self.algorithm = algorithm
  }

  var registration: RegisteredKey {
    RegisteredKey(keyID: keyID, algorithms: [algorithm], publicKey: key.publicKey)
  }

  var verifier: AssertionVerifier { AssertionVerifier(clientID: Self.id, keys: [registration]) }

  func configuration(
    secret: Secret? = nil, scopes: [String] = ["callback:write", "visual-sessions:execute"],
    phoneNumbers: [String]? = nil, facts: AccountFacts? = nil
  ) -> EmulatorConfiguration {
    EmulatorConfiguration(
      clientID: Self.id, keys: [registration], clientSecret: secret, grantedScopes: scopes,
      phoneNumbers: phoneNumbers, facts: facts)
  }

  /// A signed assertion. `header` and `claims` replace members; nil removes one.
  func assertion(
    now: Int64, audience: String = tokenURL, jwtID: String = Identifier.random(),
    header changedHeader: [String: JSONValue?] = [:], claims changedClaims: [String: JSONValue?] = [:]
  ) throws -> String {
    var header: JSONObject = [
      "alg": .string(algorithm.rawValue), "kid": .string(keyID), "typ": "JWT",
    ]
    for (name, value) in changedHeader { header[name] = value }
    var claims: JSONObject = [
      "iss": .string(Self.id), "sub": .string(Self.id), "aud": .string(audience), "jti": .string(jwtID),
      "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 300)),
    ]
    for (name, value) in changedClaims { claims[name] = value }
    return try sign(header: header, payload: JSONValue.object(claims).serialized())
  }

  /// A compact JWS put together by hand: the library refuses to sign a header that lies about the algorithm.
  func sign(header: JSONObject, payload: [UInt8]) throws -> String {
    let input =
      Base64URL.encode(JSONValue.object(header).serialized()) + "." + Base64URL.encode(payload)
    let signature = try Signer(key: key, algorithm: algorithm).sign(Array(input.utf8))
    return input + "." + Base64URL.encode(signature)
  }

  /// The content of a token request.
  static func form(assertion: String, scope: String? = "callback:write") -> String {
    var form =
      "grant_type=client_credentials&client_assertion_type="
      + "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=" + assertion
    if let scope { form += "&scope=" + scope.replacing(" ", with: "+").replacing(":", with: "%3A") }
    return form
  }

  /// A token request.
  static func call(form: String) -> Call {
    Call(
      method: .post, contentTypes: ["application/x-www-form-urlencoded"], content: Array(form.utf8))
  }
}

/// A valid callback body.
let validCallback = """
  {"talkdesk_phone_number":"+18005550199","contact_phone_number":"+14155550100","context":{"fields":[\
  {"name":"issue","display_name":"Issue","tooltip_text":"Issue","data_type":"text","value":""}]}}
  """
