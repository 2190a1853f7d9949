// Tests of how the `Authorization` header is read.

import JOSE
import Testing

@testable import Callers

@Suite struct CredentialsTests {
  private func basic(_ text: String) -> (String, String)? {
    guard case .basic(let pair)? = Credentials(Array(text.utf8).span) else { return nil }
    return (
      String(decoding: pair.octets[pair.name], as: UTF8.self),
      String(decoding: pair.octets[pair.password], as: UTF8.self)
    )
  }

  @Test func `Basic carries a name and a password, which may hold colons`() throws {
    let encoded = Base64.encode(Array("user:pa:ss".utf8))
    let credentials = try #require(basic("Basic \(encoded)"))
    #expect(credentials == ("user", "pa:ss"))
    #expect(try #require(basic("bAsIc   \(encoded)")) == ("user", "pa:ss"))
  }

  @Test func `Bearer carries a token`() throws {
    let value = Array("bearer   abc.def".utf8)
    guard case .bearer(let token)? = Credentials(value.span) else {
      Issue.record("not a bearer credential")
      return
    }
    #expect(Array(value[token]) == Array("abc.def".utf8))
  }

  @Test(arguments: [
    "", "Basic", "Basic ", "Basic !!!", "Basic dXNlcg==", "Basic dXNlcjpwYXNz x", "Digest abc", "Bearer",
  ])
  func `anything else is no credential`(text: String) {
    let credentials = Credentials(Array(text.utf8).span)
    if credentials != nil { Issue.record("taken for a credential: \(text)") }
  }
}
