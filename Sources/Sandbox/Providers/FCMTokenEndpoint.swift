// Checks requests to Google's emulated token endpoint.

import HTTP
import JOSE
import JSON
import Platform
import Texts

/// `POST /fcm/token`: an access token for the assertion of a service account (RFC 7523 §2.1). Pure.
enum FCMTokenEndpoint {
  /// The scope that an access token needs to send push notifications.
  static let scope = "https://www.googleapis.com/auth/firebase.messaging"
  /// How long a token lives, in seconds.
  static let lifetime: Int64 = 3600
  private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

  /// The scopes that an account may have.
  private static let scopes = [scope, PlayIntegrityIssuer.scope, AppCheckIssuer.scope]

  /// Checks a POST and returns the scopes for the access token.
  ///
  /// - Parameter audience: The required `aud`: the token URL that received the request.
  static func check(
    _ call: Call, _ account: FCMAccount?, audience: String, now: UnixTime
  ) throws(TokenRefusal) -> [String] {
    guard call.hasContent(ofType: "application/x-www-form-urlencoded") else {
      throw .invalidRequest("The content type is not application/x-www-form-urlencoded.")
    }
    let form: Form
    do {
      form = try Form(decoding: call.content)
    } catch {
      throw .invalidRequest("The content is not a form.")
    }
    guard form["grant_type"]?.hasSameBytes(as: grantType) == true else {
      throw .unsupportedGrantType("Invalid grant_type.")
    }
    guard let assertion = form["assertion"] else { throw .invalidRequest("Missing parameter: assertion.") }
    return try check(assertion, account, audience: audience, now: now.seconds)
  }

  private static func check(
    _ assertion: String, _ account: FCMAccount?, audience: String, now: Int64
  ) throws(TokenRefusal) -> [String] {
    let token: JWS.Compact
    let claims: JSONValue
    do {
      token = try JWS.Compact(parsing: Array(assertion.utf8))
      claims = try JSONValue(parsing: token.payload)
    } catch {
      throw invalidGrant("Invalid JWT.")
    }
    // Without an account or its key, nobody can have signed the assertion.
    guard let account, token.header["alg"] == "RS256", token.header["kid"] == .string(account.keyID),
      let signer = try? account.signer.get(), token.verify(with: signer.key.publicKey, algorithm: .RS256)
    else { throw invalidGrant("Invalid JWT Signature.") }
    guard claims["iss"] == .string(FCMAccount.clientEmail) else {
      throw invalidGrant("Invalid grant: account not found.")
    }
    guard claims["aud"] == .string(audience) else { throw invalidGrant("Invalid JWT: wrong audience.") }
    guard let issued = claims["iat"]?.int(in: 0...(1 << 40)),
      let expires = claims["exp"]?.int(in: 0...(1 << 40)),
      issued <= now + AssertionVerifier.clockSkew, now < expires, issued < expires,
      expires - issued <= lifetime
    else {
      throw invalidGrant(
        "Invalid JWT: token must be a short-lived token and in a reasonable timeframe. Check iat and exp.")
    }
    let asked = claims["scope"]?.string?.split(separator: " ") ?? []
    let granted = scopes.filter { asked.contains(Substring($0)) }
    guard !granted.isEmpty else { throw .malformedScope("Invalid OAuth scope.") }
    return granted
  }

  private static func invalidGrant(_ explanation: String) -> TokenRefusal {
    TokenRefusal(status: .badRequest, error: "invalid_grant", explanation: explanation)
  }
}
