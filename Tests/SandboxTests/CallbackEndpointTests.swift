// Tests of how the emulator judges a callback request: token, scope, content type and body.

import HTTP
import Platform
import Testing

@testable import Sandbox

@Suite struct CallbackEndpointTests {
  static let now: Int64 = 1_800_000_000
  static let base = "http://127.0.0.1:7000"

  private struct Fixture {
    let issuer: EmulatedTokenIssuer
    let endpoint: CallbackEndpoint

    init() throws {
      issuer = try EmulatedTokenIssuer()
      endpoint = CallbackEndpoint(issuer: issuer, phoneNumbers: nil)
    }

    func token(_ scopes: [String] = ["callback:write"], lifetime: Int64 = 600) throws -> String {
      try issuer.issue(
        issuer: base, audience: base, clientID: TestClient.id, scopes: scopes, lifetime: lifetime, now: now)
    }

    /// The status of the refusal, or 201.
    func status(
      _ authorizations: [String], types: [String] = ["application/json"], body: String = validCallback
    ) -> Int {
      let call = Call(
        method: .post, contentTypes: types, authorizations: authorizations, content: Array(body.utf8))
      switch endpoint.judge(call, audience: base, now: UnixTime(seconds: now)).result {
      case .success: return 201
      case .failure(let error): return error.status.code
      }
    }
  }

  @Test func `a good token and body make a call`() throws {
    let fixture = try Fixture()
    #expect(fixture.status(["Bearer \(try fixture.token())"]) == 201)
    #expect(fixture.status(["bearer \(try fixture.token())"]) == 201)
  }

  @Test func `a token that is missing, twice there or of another scheme is 401`() throws {
    let fixture = try Fixture()
    let token = try fixture.token()
    #expect(fixture.status([]) == 401)
    #expect(fixture.status([token]) == 401)
    #expect(fixture.status(["Basic \(token)"]) == 401)
    #expect(fixture.status(["Bearer \(token)", "Bearer \(token)"]) == 401)
    #expect(fixture.status(["Bearer  \(token)"]) == 401)
  }

  @Test func `an expired token is 401 and a strange one too`() throws {
    let fixture = try Fixture()
    #expect(fixture.status(["Bearer \(try fixture.token(lifetime: 0))"]) == 401)
    #expect(fixture.status(["Bearer \(try Fixture().token())"]) == 401)
    #expect(fixture.status(["Bearer x.y.z"]) == 401)
  }

  @Test func `a token without the scope is 403`() throws {
    let fixture = try Fixture()
    #expect(fixture.status(["Bearer \(try fixture.token(["visual-sessions:execute"]))"]) == 403)
    #expect(fixture.status(["Bearer \(try fixture.token([]))"]) == 403)
    #expect(fixture.status(["Bearer \(try fixture.token(["callback:writer"]))"]) == 403)
  }

  @Test func `another content type is 415`() throws {
    let fixture = try Fixture()
    let authorization = ["Bearer \(try fixture.token())"]
    for types in [[], ["text/plain"], ["application/x-www-form-urlencoded"], ["application/jsonx"]] {
      #expect(fixture.status(authorization, types: types) == 415)
    }
    #expect(fixture.status(authorization, types: ["application/json; charset=utf-8"]) == 201)
  }

  @Test func `the token is judged before the content`() throws {
    let fixture = try Fixture()
    #expect(fixture.status([], types: [], body: "") == 401)
    #expect(fixture.status(["Bearer \(try fixture.token(["x"]))"], types: [], body: "") == 403)
    #expect(fixture.status(["Bearer \(try fixture.token())"], types: [], body: "") == 415)
    #expect(fixture.status(["Bearer \(try fixture.token())"], body: "") == 400)
  }
}
