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

  @Test func `a header that an app built wrong is told apart from another scheme`() {
    func mistake(_ text: String) -> String { Credentials.mistake(in: Array(text.utf8).span) }
    let texts = [
      "Digest x", "eyJ.eyJ.c2ln", "Basic !!!", "Bearer", "DPoP", "Bearer Bearer canary-token",
      "DPoP Bearer canary-token",
      "bearer [object Object]", "Bearer canary token",
    ]
    let other = mistake("Digest x")
    #expect(mistake("eyJ.eyJ.c2ln") == other && mistake("Bearerx y") == other && mistake("") == other)
    #expect(mistake("Bearer").contains("no token after Bearer"))
    #expect(mistake("DPoP").contains("no token after DPoP"))
    for text in [
      "Bearer Bearer canary-token", "bearer  BEARER canary-token", "DPoP Bearer canary-token",
      "Bearer Bearer",
    ] {
      #expect(mistake(text).contains("twice"), "\(text)")
    }
    #expect(mistake("Bearer [object Object]").contains("[object Object]"))
    #expect(mistake("Bearer canary token").contains("space"))
    for text in texts { #expect(!mistake(text).contains("canary")) }
  }

  @Test(arguments: ["undefined", "null", "Null", "(null)", "nil", "None"])
  func `a word that stands for no value is no key`(_ text: String) {
    #expect(Credentials.placeholder(Array(text.utf8).span) == text.lowercased())
  }

  @Test(arguments: ["", "undefined1", "nul", "canary-key"])
  func `anything else may be a key`(_ text: String) {
    #expect(Credentials.placeholder(Array(text.utf8).span) == nil)
  }
}
