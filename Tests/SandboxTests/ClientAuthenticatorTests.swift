// Tests of how the emulator authenticates an OAuth client by its secret.

import HTTP
import JOSE
import Platform
import Testing

@testable import Sandbox

@Suite struct ClientAuthenticatorTests {
  private func authenticate(_ authorizations: [String], secret: String?) throws -> ClientAuthenticator.Outcome
  {
    let configuration = EmulatorConfiguration(
      clientID: "client:1", keys: [], clientSecret: secret.map { Secret($0) })
    var call = TestClient.call(form: "")
    call.authorizations = authorizations
    return ClientAuthenticator(configuration).authenticate(
      call, try Form(decoding: []), audience: TestClient.tokenURL, now: UnixTime(seconds: 0),
      isFirstUse: { _ in true })
  }

  private static func basic(_ pair: String) -> String { "Basic " + Base64.encode(Array(pair.utf8)) }

  @Test func `the secret proves the client`() throws {
    let plain = EmulatorConfiguration(clientID: "client", keys: [], clientSecret: Secret("s:e cret"))
    var call = TestClient.call(form: "")
    for authorization in [
      Self.basic("client:s:e cret"), "bASIC " + Base64.encode(Array("client:s:e cret".utf8)),
    ] {
      call.authorizations = [authorization]
      let outcome = ClientAuthenticator(plain).authenticate(
        call, try Form(decoding: []), audience: "", now: UnixTime(seconds: 0), isFirstUse: { _ in true })
      #expect(outcome.refusal == nil)
      #expect(outcome.method == .clientSecretBasic)
    }
  }

  @Test func `id and secret may be form-encoded as RFC 6749 has it`() throws {
    #expect(try authenticate([Self.basic("client%3A1:s%3Ae+cret")], secret: "s:e cret").refusal == nil)
  }

  @Test(arguments: [
    "client%3A1:wrong", "client%3A2:secret", ":secret", "client%3A1:", "client%3A1", "client:1:secret", "",
  ])
  func `a wrong pair is refused`(pair: String) throws {
    let outcome = try authenticate([Self.basic(pair)], secret: "secret")
    #expect(outcome.refusal?.error == "invalid_client")
    #expect(outcome.refusal?.status == .unauthorized)
  }

  @Test(arguments: [["Basic"], ["Basic !!!"], ["Bearer abc"], ["Basic YTpi", "Basic YTpi"]])
  func `an Authorization that is not Basic is refused`(authorizations: [String]) throws {
    #expect(try authenticate(authorizations, secret: "secret").refusal?.error == "invalid_client")
  }

  @Test func `without a configured secret Basic is refused`() throws {
    #expect(try authenticate([Self.basic("client%3A1:")], secret: nil).refusal?.error == "invalid_client")
  }
}
