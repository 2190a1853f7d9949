// Tests of how the emulator judges a token request.

import HTTP
import JOSE
import Platform
import Testing

@testable import Sandbox

@Suite struct TokenEndpointTests {
  static let now: Int64 = 1_800_000_000

  private func judge(
    _ call: Call, _ configuration: EmulatorConfiguration, isFirstUse: Bool = true
  ) -> TokenEndpoint.Judgement {
    TokenEndpoint(configuration).judge(
      call, audience: TestClient.tokenURL, now: UnixTime(seconds: Self.now), isFirstUse: { _ in isFirstUse })
  }

  private func refusal(_ judgement: TokenEndpoint.Judgement) -> String {
    switch judgement.result {
    case .success: "granted"
    case .failure(let refusal): "\(refusal.status.code) \(refusal.error)"
    }
  }

  @Test func `a scope that is asked for is what is granted`() throws {
    let client = try TestClient()
    let form = TestClient.form(assertion: try client.assertion(now: Self.now, jwtID: "one"))
    let judgement = judge(TestClient.call(form: form), client.configuration())
    #expect(judgement.result == .success(.init(scopes: ["callback:write"])))
    #expect(judgement.client.method == .privateKeyJWT)
    #expect(judgement.client.keyID == "key-1")
    #expect(judgement.client.jwtID == "one")
    #expect(judgement.requestedScope == "callback:write")
  }

  @Test func `without a scope all are granted`() throws {
    let client = try TestClient()
    let form = TestClient.form(assertion: try client.assertion(now: Self.now), scope: nil)
    let judgement = judge(TestClient.call(form: form), client.configuration())
    #expect(judgement.result == .success(.init(scopes: ["callback:write", "visual-sessions:execute"])))
  }

  @Test func `scopes come back once each, in the client's order`() throws {
    let client = try TestClient()
    let form = TestClient.form(
      assertion: try client.assertion(now: Self.now),
      scope: "visual-sessions:execute callback:write callback:write")
    let judgement = judge(TestClient.call(form: form), client.configuration())
    #expect(judgement.result == .success(.init(scopes: ["callback:write", "visual-sessions:execute"])))
  }

  @Test func `a scope that is not granted is 401 invalid_scope`() throws {
    let client = try TestClient()
    let form = TestClient.form(
      assertion: try client.assertion(now: Self.now), scope: "callback:write contacts:read")
    #expect(refusal(judge(TestClient.call(form: form), client.configuration())) == "401 invalid_scope")
  }

  @Test(arguments: ["callback:write  visual-sessions:execute", " callback:write", "a\"b", "a\\b", "é"])
  func `a scope that is not a list of scopes is 400 invalid_scope`(scope: String) throws {
    let client = try TestClient()
    let escaped = scope.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let form =
      TestClient.form(assertion: try client.assertion(now: Self.now), scope: nil) + "&scope=" + escaped
    #expect(refusal(judge(TestClient.call(form: form), client.configuration())) == "400 invalid_scope")
  }

  @Test func `a replayed assertion is refused`() throws {
    let client = try TestClient()
    let form = TestClient.form(assertion: try client.assertion(now: Self.now))
    let judgement = judge(TestClient.call(form: form), client.configuration(), isFirstUse: false)
    #expect(refusal(judgement) == "401 invalid_client")
    #expect(judgement.client.refusal?.explanation == AssertionFailure.replayed.explanation)
  }

  @Test func `a refused assertion does not use up its id`() throws {
    let client = try TestClient()
    let form = TestClient.form(assertion: try client.assertion(now: Self.now - 600))
    var asked = 0
    _ = TokenEndpoint(client.configuration()).judge(
      TestClient.call(form: form), audience: TestClient.tokenURL, now: UnixTime(seconds: Self.now),
      isFirstUse: { _ in
        asked += 1
        return true
      })
    #expect(asked == 0)
  }

  @Test func `the client id may be sent and has to be the client's`() throws {
    let client = try TestClient()
    let form = { TestClient.form(assertion: try client.assertion(now: Self.now)) }
    let right = judge(
      TestClient.call(form: try form() + "&client_id=" + TestClient.id), client.configuration())
    #expect(refusal(right) == "granted")
    let wrong = judge(TestClient.call(form: try form() + "&client_id=other"), client.configuration())
    #expect(refusal(wrong) == "401 invalid_client")
  }

  @Test(arguments: [
    ("", "400 invalid_request"),
    ("grant_type=", "400 invalid_request"),
    ("grant_type=password", "400 unsupported_grant_type"),
    ("grant_type=client_credentials", "401 invalid_client"),
    ("grant_type=client_credentials&grant_type=client_credentials", "400 invalid_request"),
    ("grant_type=client%credentials", "400 invalid_request"),
    ("grant_type=client_credentials&client_assertion=a.b.c", "400 invalid_request"),
    (
      "grant_type=client_credentials&client_assertion_type="
        + "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Asaml2-bearer&client_assertion=a.b.c",
      "400 invalid_request"
    ),
    (
      "grant_type=client_credentials&client_assertion_type="
        + "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer",
      "400 invalid_request"
    ),
    (
      "grant_type=client_credentials&client_assertion_type="
        + "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=a.b.c",
      "401 invalid_client"
    ),
  ])
  func `a request that is not right is refused in OAuth's words`(form: String, expected: String) throws {
    #expect(refusal(judge(TestClient.call(form: form), try TestClient().configuration())) == expected)
  }

  @Test(arguments: [
    [], ["application/json"], ["multipart/form-data"],
    ["application/x-www-form-urlencoded", "application/x-www-form-urlencoded"],
  ])
  func `content that is not a form is 415`(types: [String]) throws {
    let client = try TestClient()
    var call = TestClient.call(form: TestClient.form(assertion: try client.assertion(now: Self.now)))
    call.contentTypes = types
    #expect(refusal(judge(call, client.configuration())) == "415 invalid_request")
  }

  @Test func `a charset beside the content type is fine`() throws {
    let client = try TestClient()
    var call = TestClient.call(form: TestClient.form(assertion: try client.assertion(now: Self.now)))
    call.contentTypes = ["Application/X-WWW-Form-Urlencoded; charset=UTF-8"]
    #expect(refusal(judge(call, client.configuration())) == "granted")
  }

  @Test func `two ways of authentication at once are refused`() throws {
    let client = try TestClient()
    var call = TestClient.call(form: TestClient.form(assertion: try client.assertion(now: Self.now)))
    call.authorizations = ["Basic YTpi"]
    #expect(refusal(judge(call, client.configuration())) == "400 invalid_request")
  }
}
