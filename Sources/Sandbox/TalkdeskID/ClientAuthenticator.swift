// Authenticates the client of a token request, by signed assertion or by client secret.

import HTTP
import JOSE
import Platform
import Texts

/// Authenticates the client of a token request, by a signed assertion or, if the client has a secret, by HTTP
/// Basic. A request with both is refused (RFC 6749 §2.3).
struct ClientAuthenticator: Sendable {
  /// The method with which a client authenticated, or tried to, with its OpenID Connect name.
  enum Method: String, Sendable {
    case privateKeyJWT = "private_key_jwt"
    case clientSecretBasic = "client_secret_basic"
    case none
  }

  /// The result of client authentication. The IDs are those that the request claims.
  struct Outcome: Sendable {
    var method: Method
    var keyID: String?
    var jwtID: String?
    /// The reason for a refusal; nil if the client is authenticated.
    var refusal: TokenRefusal?
  }

  /// The only value that `client_assertion_type` can have (RFC 7523 §2.2).
  static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  let clientID: String
  let clientSecret: Secret?
  private(set) var verifier: AssertionVerifier

  init(_ configuration: EmulatorConfiguration) {
    clientID = configuration.clientID
    clientSecret = configuration.clientSecret
    verifier = AssertionVerifier(clientID: configuration.clientID, keys: configuration.keys)
  }

  /// A copy that does not know the keys with these IDs.
  func forgetting(_ keyIDs: Set<String>) -> Self {
    var copy = self
    copy.verifier = AssertionVerifier(
      clientID: verifier.clientID, keys: verifier.keys.filter { !keyIDs.contains(exactly: $0.keyID) })
    return copy
  }

  /// A copy that checks assertions with a clock that is 2 s behind, without leeway.
  func withStrictClock() -> Self {
    var copy = self
    copy.verifier.isStrict = true
    return copy
  }

  /// Checks a request's client authentication. `isFirstUse` returns whether a `jti` is new, and remembers it.
  func authenticate(
    _ call: Call, _ form: Form, audience: String, now: UnixTime,
    isFirstUse: (AssertionVerifier.Verified) -> Bool
  ) -> Outcome {
    let usesAssertion = form["client_assertion"] != nil || form["client_assertion_type"] != nil
    if usesAssertion && !call.authorizations.isEmpty {
      return Outcome(
        method: .privateKeyJWT,
        refusal: .invalidRequest("the request uses more than one way of client authentication"))
    }
    if let named = form["client_id"], !named.hasSameBytes(as: clientID) {
      return Outcome(
        method: usesAssertion ? .privateKeyJWT : .none,
        refusal: .invalidClient("client_id is not a client of this account"))
    }
    if usesAssertion {
      return assertion(form, audience: audience, now: now, isFirstUse: isFirstUse)
    }
    guard !call.authorizations.isEmpty else {
      return Outcome(method: .none, refusal: .invalidClient("no client authentication included"))
    }
    return Outcome(method: .clientSecretBasic, refusal: basicRefusal(call))
  }

  private func assertion(
    _ form: Form, audience: String, now: UnixTime, isFirstUse: (AssertionVerifier.Verified) -> Bool
  ) -> Outcome {
    guard let type = form["client_assertion_type"], type.hasSameBytes(as: Self.assertionType) else {
      return Outcome(
        method: .privateKeyJWT, refusal: .invalidRequest("client_assertion_type is not the JWT bearer type"))
    }
    guard let assertion = form["client_assertion"] else {
      return Outcome(method: .privateKeyJWT, refusal: .invalidRequest("client_assertion is missing"))
    }
    let reading = verifier.read(assertion, audience: audience, now: now)
    let failure: AssertionFailure? =
      switch reading.result {
      case .failure(let failure): failure
      case .success(let verified): isFirstUse(verified) ? nil : .replayed
      }
    return Outcome(
      method: .privateKeyJWT, keyID: reading.keyID, jwtID: reading.jwtID,
      refusal: failure.map { .invalidClient($0.explanation) })
  }

  /// The refusal of the Basic credentials; nil if they are the client's. Talkdesk joins ID and secret as they
  /// are. RFC 6749 §2.3.1 form-encodes both first. The sandbox accepts either form.
  private func basicRefusal(_ call: Call) -> TokenRefusal? {
    guard let clientSecret else { return .invalidClient("this client does not authenticate by secret") }
    guard let credentials = call.credentials(scheme: "basic"),
      let pair = Base64.decode(credentials), let colon = pair.firstIndex(of: UInt8(ascii: ":"))
    else { return .invalidClient("the Authorization header holds no Basic credentials") }
    let (id, secret) = (pair[..<colon], pair[(colon + 1)...])
    let candidates = [(Array(id), Array(secret)), (Self.formDecoded(id), Self.formDecoded(secret))]
    let matches = candidates.contains { candidate in
      constantTimeEqual(candidate.0, Array(clientID.utf8))
        && clientSecret.isEqual(to: candidate.1)
    }
    return matches ? nil : .invalidClient("the client id or secret is wrong")
  }

  private static func formDecoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
    // A text that is not form-encoded was compared already.
    guard let decoded = try? Form.decode(text) else { return Array(text) }
    return Array(decoded.utf8)
  }
}
