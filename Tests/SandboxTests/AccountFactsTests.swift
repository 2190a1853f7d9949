// Tests of how the emulator reads the facts of a real account and responds like it.

import HTTP
import JSON
import Testing

@testable import Sandbox

/// The required contents of a facts file, and how the emulator responds with it.
@Suite struct AccountFactsTests {
  static let text = """
    {"callback":{"status":202,"content_type":"application/json","content":"{\\"id\\":\\"a\\"}","fields":\
    {"retry-after":"7","Server":"nginx"},"trace_id":"t","duration_ms":{"dns":1,"tcp":2.5,"tls":0,"first_byte":9}},\
    "token":{"expires_in":1799,"scope":"callback:write contacts:read"}}
    """

  private func lines(_ text: String) -> [String] {
    do throws(AccountFacts.Malformed) {
      _ = try AccountFacts(parsing: Array(text.utf8))
      return []
    } catch {
      return error.lines("facts.json")
    }
  }

  @Test func `what a drill has written is read`() throws {
    let facts = try AccountFacts(parsing: Array(Self.text.utf8))
    #expect(facts.status == 202 && facts.contentType == "application/json" && facts.content == #"{"id":"a"}"#)
    #expect(facts.retryAfter == "7")
    #expect(facts.expiresIn == 1799 && facts.scopes == ["callback:write", "contacts:read"])
  }

  @Test func `what was not known may be null or left out`() throws {
    let facts = try AccountFacts(
      parsing: Array(
        #"{"callback":{"status":204,"content_type":null,"content":null},"token":{"expires_in":null,"scope":"a"}}"#
          .utf8))
    #expect(
      facts.status == 204 && facts.contentType == nil && facts.content.isEmpty && facts.expiresIn == nil)
    #expect(facts.reply.content.isEmpty && facts.reply.fields["Content-Type"] == nil)
  }

  @Test(
    arguments: [
      ("", ":1:1: the text is empty"),
      ("{\n  \"callback\": {,\n", ":2:16: a member name in double quotes is missing"),
      ("{\"é\": x}", ":1:7: a value is missing"), ("{}x", ":1:3: something follows the value"),
      ("talkdesk:\n  account: acme\n", ":1:2: a value is missing"), ("[]", ": the file is not a JSON object"),
      ("{}", ": callback: is missing\n: token: is missing"),
      (#"{"callback":[],"token":1}"#, ": callback: is not an object\n: token: is not an object"),
    ])
  func `a wrong file is reported with its place`(text: String, problems: String) {
    #expect(lines(text) == problems.split(separator: "\n").map { "facts.json\($0)" })
  }

  @Test(
    arguments: [
      (#""status":202"#, #""status":199"#, "callback.status"),
      (#""status":202"#, #""status":600"#, "callback.status"),
      (#""status":202"#, #""status":"202""#, "callback.status"), (#""status":202,"#, "", "callback.status"),
      (#""application/json""#, "1", "callback.content_type"),
      (#""application/json""#, #""a\r\nb""#, "callback.content_type"),
      (#""application/json""#, #""""#, "callback.content_type"),
      (#""trace_id":"t""#, #""trace_id":1"#, "callback.trace_id"),
      (#""content":"{\"id\":\"a\"}""#, #""content":{}"#, "callback.content"),
      (#""retry-after":"7""#, #""retry-after":7"#, "callback.fields.retry-after"),
      (#""Server":"nginx""#, #""Server":"\u0000""#, "callback.fields.Server"),
      (#""dns":1"#, #""dns":-1"#, "callback.duration_ms.dns"),
      (#""dns":1"#, #""dns":"1""#, "callback.duration_ms.dns"),
      (#""dns":1"#, #""ping":1"#, "callback.duration_ms.ping"),
      (#""expires_in":1799"#, #""expires_in":0"#, "token.expires_in"),
      (#""expires_in":1799"#, #""expires_in":86401"#, "token.expires_in"),
      (#""expires_in":1799,"#, "", "token.expires_in"),
      (#""callback:write contacts:read""#, #""""#, "token.scope"),
      (#""callback:write contacts:read""#, "null", "token.scope"),
      (#""callback:write contacts:read""#, #""a  b""#, "token.scope"),
      (#""token":{"#, #""token":{"access_token":"canary","#, "token.access_token"),
      (#"{"callback":{"#, #"{"kind":1,"callback":{"#, "kind"),
      (#""status":202"#, #""status":202,"stat us":1"#, "callback.stat?us"),
    ])
  func `each member is checked and named`(old: String, new: String, path: String) {
    let changed = Self.text.replacing(old, with: new)
    #expect(changed != Self.text)
    let lines = lines(changed)
    #expect(lines.count == 1 && lines[0].hasPrefix("facts.json: \(path): "), "\(lines)")
    #expect(!lines.joined().contains("canary"))
  }

  @Test func `all mistakes are reported at once`() {
    #expect(lines(#"{"callback":{"status":1,"content":1},"token":{"expires_in":"1","scope":1}}"#).count == 4)
  }

  // MARK: The emulator with facts

  private func facts(_ changes: [(String, String)] = []) throws -> AccountFacts {
    var text = Self.text
    for (old, new) in changes { text = text.replacing(old, with: new) }
    return try AccountFacts(parsing: Array(text.utf8))
  }

  @Test func `the emulator answers like the account`() async throws {
    try await RunningEmulator.run(facts: facts()) { emulator in
      let reply = try #require(try await emulator.askToken()).json
      #expect(reply["expires_in"] == 1799 && reply["scope"] == "callback:write contacts:read")
      let token = try #require(reply["access_token"]?.string)
      let answer = try #require(try await emulator.askCallback(token))
      #expect(answer.status == 202 && answer.fields["content-type"] == "application/json")
      #expect(answer.content == #"{"id":"a"}"# && answer.fields["retry-after"] == "7")
      let callbacks = try await emulator.journal("callbacks")
      #expect(callbacks["rings"] == ["+14155550100": 1])
      let unknown = try #require(try await emulator.askToken(scope: "visual-sessions:execute"))
      #expect(unknown.status == 401, "the account did not show that scope")
    }
  }

  @Test func `an account that refuses rings no phone, and a wrong request gets its own refusal`() async throws
  {
    try await RunningEmulator.run(facts: facts([("202", "403")])) { emulator in
      let token = try await emulator.token()
      #expect(try await emulator.askCallback(token)?.status == 403)
      #expect(try await emulator.askCallback(token, body: "{}")?.status == 400)
      #expect(try await emulator.askCallback("x")?.status == 401)
      let callbacks = try await emulator.journal("callbacks")
      #expect(callbacks["rings"] == [:] && callbacks["arrivals"] == 3)
    }
  }

  @Test func `a token of which the account did not tell the life has none told here`() async throws {
    try await RunningEmulator.run(facts: facts([("1799", "null")])) { emulator in
      let reply = try #require(try await emulator.askToken()).json
      #expect(reply["expires_in"] == nil)
      let token = try #require(reply["access_token"]?.string)
      #expect(try await emulator.askCallback(token)?.status == 202)
    }
  }

  @Test func `a fault goes before the facts`() async throws {
    try await RunningEmulator.run(facts: facts()) { emulator in
      try await emulator.fault(#"{"endpoint":"token","expires_in":30}"#)
      try await emulator.fault(#"{"endpoint":"callback","status":422}"#)
      let reply = try #require(try await emulator.askToken()).json
      #expect(reply["expires_in"] == 30)
      let token = try #require(reply["access_token"]?.string)
      #expect(try await emulator.askCallback(token)?.status == 422)
      #expect(try await emulator.askCallback(token)?.status == 202)
    }
  }
}
