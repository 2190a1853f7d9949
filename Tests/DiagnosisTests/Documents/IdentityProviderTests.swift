// Tests that the callers and rules in Examples/samples/identity-providers accept the tokens of those providers.

import Callers
import Foundation
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// The sample for the section "Your identity provider" of docs/build/integrate.md. The tokens have the form
/// that each provider documents; the keys are generated here.
@Suite struct IdentityProviderTests {
  /// A provider's token.
  struct Shape: Sendable, CustomTestStringConvertible {
    /// The provider's caller ID in the sample.
    let provider: String
    /// Members of the header beside `alg`.
    let header: JSONObject
    /// Members of the published key.
    let key: JSONObject
    let claims: String
    /// The claim with the roles.
    let role: String
    var testDescription: String { provider }
  }

  private static let shapes = [
    // https://learn.microsoft.com/en-us/entra/identity-platform/access-token-claims-reference
    Shape(
      provider: "entra", header: ["typ": "JWT", "kid": "k1"], key: ["use": "sig", "x5t": "k1"],
      claims: """
        {"aud":"6e74172b-be56-4843-9ff4-e66a39bb12e3",
         "iss":"https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
         "aio":"AXQAi/8IAAAA","azp":"6e74172b-be56-4843-9ff4-e66a39bb12e3","azpacr":"0","name":"Abe Lincoln",
         "oid":"690222be-ff1a-4d56-abd1-7e4f7d38e474","preferred_username":"abeli@example.com","rh":"0.ARoA",
         "roles":["Callback.Request"],"scp":"access_as_user","sub":"HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ",
         "tid":"72f988bf-86f1-41af-91ab-2d7cd011db47","uti":"fqiBqXLPj0eQa82S-IYFAA","ver":"2.0"}
        """, role: "roles"),
    // https://auth0.com/docs/secure/tokens/access-tokens/access-token-profiles, the profile of RFC 9068
    Shape(
      provider: "auth0", header: ["typ": "at+jwt", "kid": "k1"], key: ["use": "sig", "alg": "RS256"],
      claims: """
        {"iss":"https://tenant.auth0.com/","sub":"auth0|6553da60a54af58e29493993",
         "aud":["https://calls.example.com","https://tenant.auth0.com/userinfo"],"client_id":"K1AUPhZq8mRi0Q0pjhkfu1D7y6KjDQja",
         "jti":"9ZnXlJVaEsq8YqKxv6bnOn","scope":"openid profile","permissions":["callback:request"]}
        """, role: "permissions"),
    // https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-id-token.html
    Shape(
      provider: "cognito", header: ["kid": "k1"], key: ["use": "sig", "alg": "RS256"],
      claims: """
        {"sub":"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee","cognito:groups":["callers"],"email_verified":true,
         "iss":"https://cognito-idp.us-east-1.amazonaws.com/us-east-1_EXAMPLE","cognito:username":"ann",
         "origin_jti":"aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee","aud":"1example23456789","event_id":"e","token_use":"id",
         "auth_time":1700000000,"jti":"aaaaaaaa-bbbb-cccc-dddd-ffffffffffff","email":"ann@example.com"}
        """, role: "cognito:groups"),
    // https://www.keycloak.org/docs/latest/server_admin/, with an audience mapper
    Shape(
      provider: "keycloak", header: ["typ": "JWT", "kid": "k1"], key: ["use": "sig", "alg": "RS256"],
      claims: """
        {"jti":"d58f5dc8-fd8f-462b-8a19-716f8f83985b","iss":"https://keycloak.example.com/realms/shop",
         "aud":["callgate","account"],"sub":"36fa0f91-f94d-4a0c-afed-6b7d952e47da","typ":"Bearer","azp":"app",
         "sid":"2a88c258-f73a-4103-b862-e1fbd8f4e04e","acr":"1","allowed-origins":["https://shop.example"],
         "realm_access":{"roles":["offline_access","callback"]},"resource_access":{"account":{"roles":["view-profile"]}},
         "scope":"email profile","email_verified":true,"preferred_username":"ann"}
        """, role: "realm_access"),
    // https://firebase.google.com/docs/auth/admin/verify-id-tokens, with a custom claim
    Shape(
      provider: "firebase", header: ["typ": "JWT", "kid": "k1"], key: ["use": "sig", "alg": "RS256"],
      claims: """
        {"iss":"https://securetoken.google.com/shop-1","aud":"shop-1","auth_time":1700000000,
         "user_id":"x7Q2","sub":"x7Q2","email":"ann@example.com","email_verified":true,"role":"customer",
         "firebase":{"identities":{"email":["ann@example.com"]},"sign_in_provider":"password"}}
        """, role: "role"),
    // https://developer.okta.com/docs/api/openapi/okta-oauth/guides/overview/, of a custom authorization server
    Shape(
      provider: "okta", header: ["kid": "k1"], key: ["use": "sig", "alg": "RS256"],
      claims: """
        {"ver":1,"jti":"AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE","iss":"https://shop.okta.com/oauth2/default",
         "aud":"api://default","sub":"ann@example.com","cid":"nmdP1fcyvdVO11AL7ECm","uid":"00uid4BxXw6I6TV4m0g3",
         "scp":["openid","callback"]}
        """, role: "scp"),
    // https://developers.google.com/identity/openid-connect/openid-connect, of a Workspace account
    Shape(
      provider: "google", header: ["typ": "JWT", "kid": "k1"], key: ["use": "sig", "alg": "RS256"],
      claims: """
        {"iss":"https://accounts.google.com","azp":"1234987819200.apps.googleusercontent.com",
         "aud":"1234987819200.apps.googleusercontent.com","sub":"10769150350006150715113082367",
         "at_hash":"HK6E_P6Dh8Y93mRNtsDB1Q","hd":"shop.example","email":"ann@shop.example","email_verified":true}
        """, role: "hd"),
  ]

  private static func configuration() throws -> String {
    try String(
      contentsOf: Checkout.root.appending(path: "Examples/samples/identity-providers/callgate.yaml"),
      encoding: .utf8)
  }

  private static let provider = Result { try TokenFixture(.RS256) }

  private func report(_ shape: Shape, without names: [String] = []) async throws -> DoctorReport {
    let clock = ManualTime()
    var claims = try #require(try JSONValue(parsing: Array(shape.claims.utf8)).object)
    for name in names { claims[name] = nil }
    let provider = try Self.provider.get()
    let token = try provider.token(header: shape.header, claims, at: clock)
    return try await TokenFixture.report(
      token, try Self.configuration(),
      provider.publishing([["kty": "RSA", "use": "enc", "alg": "RSA-OAEP"]], shape.key),
      clock)
  }

  @Test(arguments: shapes) func `the page's caller accepts the provider's token`(shape: Shape) async throws {
    let report = try await report(shape)
    #expect(report.failed == [])
    #expect(report.findings.filter { $0.check == "rule" }.count == 1, "its rule about roles was checked")
    #expect(report.findings.last?.found.hasSuffix("caller \(shape.provider)") == true)
  }

  @Test(arguments: shapes) func `and the page's rule refuses the token without the role`(shape: Shape)
    async throws
  {
    #expect(try await report(shape, without: [shape.role]).failed == ["rule", "answer"])
  }

  @Test func `Cognito's access token has no aud, and is refused for it`() async throws {
    let cognito = try #require(Self.shapes.first { $0.provider == "cognito" })
    #expect(try await report(cognito, without: ["aud"]).failed == ["audience", "answer"])
  }

  @Test func `each caller of the page has a token here, and a row in its table`() throws {
    let callers = try Fixture.load(Self.configuration(), environment: [:], for: .explain).configuration
      .callers
    #expect(Set(callers.map(\.id)) == Set(Self.shapes.map(\.provider)))
  }
}
