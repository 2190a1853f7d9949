// Tests of which token responses are accepted.

import JSON
import TestSupport
import Testing

@testable import Talkdesk
@testable import Tokens

@Suite struct TokenReplyTests {
  private func read(_ text: String, scope: String = "callback:write") throws(UnusableReply) -> TokenReply {
    try TokenReply(parsing: Array(text.utf8), requestedScope: scope)
  }

  @Test func `Talkdesk's reply is read`() throws {
    let reply = try read(
      #"{"access_token":"eyJ.x-_~+/=","token_type":"Bearer","expires_in":600,"scope":"callback:write","sid":1}"#
    )
    #expect(String(decoding: reply.token, as: UTF8.self) == "eyJ.x-_~+/=")
    #expect(reply.lifetime == .seconds(600))
    #expect(reply.scope == "callback:write" && reply.statesScope)
  }

  @Test(arguments: [
    ("600", 600_000), ("\"599\"", 599_000), ("599.75", 599_750), ("\"12.5\"", 12_500), ("6e2", 600_000),
    ("1", 1000),
    ("86400", 86_400_000), ("86401", 86_400_000), ("1e300", 86_400_000), ("99999999999999999999", 86_400_000),
  ])
  func `a lifetime is a number in any dress, a day at most`(value: String, milliseconds: Int) throws {
    #expect(
      try read(#"{"access_token":"t","expires_in":\#(value)}"#).lifetime == .milliseconds(milliseconds))
  }

  @Test(arguments: [
    "null", "true", "\"\"", "\"soon\"", "\"nan\"", "\"inf\"", "\"0x10\"", "\"+5\"", "[600]", "{}", "\"6e2\"",
    "\" 5\"",
  ])
  func `a lifetime that is no number is not known`(value: String) throws {
    #expect(try read(#"{"access_token":"t","expires_in":\#(value)}"#).lifetime == nil)
  }

  @Test func `an absent lifetime is not known`() throws {
    #expect(try read(#"{"access_token":"t"}"#).lifetime == nil)
  }

  @Test(arguments: ["0", "-1", "\"0\"", "\"-600\"", "0.99", "-0.0"])
  func `a token that is expired on arrival is refused`(value: String) {
    #expect(throws: UnusableReply.expired) { try read(#"{"access_token":"t","expires_in":\#(value)}"#) }
  }

  @Test(arguments: ["\"bearer\"", "\"BEARER\"", "\"Bearer\"", "null"])
  func `Bearer is Bearer in any case`(type: String) throws {
    let reply = try read(#"{"access_token":"t","token_type":\#(type)}"#)
    #expect(reply.scope == "callback:write" && !reply.statesScope)
  }

  @Test(arguments: ["\"mac\"", "\"\"", "\"Bearer \"", "\"DPoP\"", "1", "[\"Bearer\"]"])
  func `another type of token is refused`(type: String) {
    #expect(throws: UnusableReply.tokenType) { try read(#"{"access_token":"t","token_type":\#(type)}"#) }
  }

  @Test(arguments: [
    ("\"callback:write\"", "callback:write"), ("\"a callback:write  b\"", "a callback:write b"),
    ("[\"a\",\"callback:write\"]", "a callback:write"), ("null", "callback:write"),
    ("\"callback:write \\u0001x\"", "callback:write"),
  ])
  func `a scope that holds the one asked for will do`(value: String, scope: String) throws {
    #expect(try read(#"{"access_token":"t","scope":\#(value)}"#).scope == scope)
  }

  @Test(arguments: ["\"\"", "\"account:read\"", "\"callback:writer\"", "\"CALLBACK:WRITE\"", "[]", "7", "{}"])
  func `a scope that lacks the one asked for is named`(value: String) {
    #expect(throws: UnusableReply.scope(missing: "callback:write")) {
      try read(#"{"access_token":"t","scope":\#(value)}"#)
    }
  }

  @Test func `each of several scopes is needed`() throws {
    #expect(throws: UnusableReply.scope(missing: "b")) {
      try read(#"{"access_token":"t","scope":"a c"}"#, scope: "a b")
    }
    #expect(try read(#"{"access_token":"t","scope":"b a"}"#, scope: "a b").scope == "b a")
  }

  @Test(arguments: ["", " ", "\r\n\t"])
  func `success without content does not count as success`(content: String) {
    #expect(throws: UnusableReply.empty) { try read(content) }
  }

  @Test(arguments: [
    "<html>ok</html>", "null", "[]", "\"t\"", "{", #"{"access_token":"t"} x"#,
    #"{"access_token":"a","access_token":"b"}"#, "\u{0}",
  ])
  func `content that is no object is refused`(content: String) {
    #expect(throws: UnusableReply.notJSON) { try read(content) }
  }

  @Test(arguments: ["{}", #"{"access_token":""}"#, #"{"access_token":null}"#, #"{"access_token":5}"#])
  func `a reply without a token is refused`(content: String) {
    #expect(throws: UnusableReply.noToken) { try read(content) }
  }

  @Test(arguments: ["a b", "a\\nb", "a\\r\\nX: y", "\\u0000", "ä", "\\u007f", " a"])
  func `a token that would break a field is refused`(token: String) {
    #expect(throws: UnusableReply.malformedToken) { try read(#"{"access_token":"\#(token)"}"#) }
  }

  @Test func `a token has 8192 octets at most`() throws {
    let longest = String(repeating: "t", count: 8192)
    #expect(try read(#"{"access_token":"\#(longest)"}"#).token.count == 8192)
    #expect(throws: UnusableReply.malformedToken) { try read(#"{"access_token":"\#(longest)t"}"#) }
  }

  @Test(
    arguments: [
      (#"{"error":"invalid_client","error_description":"no such kid"}"#, "invalid_client", "no such kid"),
      (#"{"error":7}"#, nil, nil), ("<html>Bad gateway</html>", nil, nil), ("", nil, nil), ("[]", nil, nil),
    ] as [(String, String?, String?)])
  func `a refusal's words are read where it has any`(content: String, code: String?, description: String?) {
    let refusal = TokenReply.refusal(Array(content.utf8))
    #expect(refusal.code == code)
    #expect(refusal.description == description)
  }
}

@Suite struct StrangeNumberTests {
  @Test func `every number in a reply of Talkdesk ID is read or refused, and no life is beyond a day`() throws
  {
    let text = #"{"access_token":"t","token_type":"Bearer","expires_in":600,"scope":["a"],"error":"e"}"#
    for content in try StrangeNumbers.documents(like: text, more: ["error_description"]) {
      _ = TokenReply.refusal(Array(content.utf8))
      do {
        let reply = try TokenReply(parsing: Array(content.utf8), requestedScope: "a")
        #expect(reply.lifetime ?? .seconds(1) <= TokenReply.longestLife)
      } catch {
        // Most of these replies are refused.
      }
    }
  }

  @Test func `every number in a rejection of a callback is read`() throws {
    let text = #"{"code":"1","message":"m","description":"d","fields":[{"name":"n","description":"d"}]}"#
    var read: [Int: Int] = [:]
    for content in try StrangeNumbers.documents(like: text) {
      read[CallbackRejection.read(Array(content.utf8)).count, default: 0] += 1
      _ = CallbackRejection.error(in: Array(content.utf8))
    }
    #expect(Set(read.keys) == [0, 1])
  }
}
