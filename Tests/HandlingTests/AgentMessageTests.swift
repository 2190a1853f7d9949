// Tests of one message from an AI agent: its protocol version, and how it is refused.

import API
import Configuration
import HTTP
import JSON
import Testing

@testable import Handling

@Suite struct AgentMessageTests {
  private static let tools: AgentTools = {
    var mcp = Configuration.MCP()
    mcp.tools = [.availability, .requestCallback]
    return AgentTools(mcp, texts: [])
  }()
  private static let meta =
    #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#

  private static func head(_ version: String? = nil, _ method: String? = nil, _ name: String? = nil)
    -> AgentHead
  {
    func value(_ text: String?) -> AgentHead.Value { text.map { AgentHead.value(Array($0.utf8)) } ?? .absent }
    var head = AgentHead()
    (head.version, head.method, head.name) = (value(version), value(method), value(name))
    return head
  }

  /// The status and code of a refusal; nil for a message that is not refused.
  private static func refusal(_ body: String, _ head: AgentHead = AgentHead()) throws -> (
    Status, Int64?, JSONValue?
  )? {
    guard case .answer(let response) = AgentMessage(Array(body.utf8), head, tools) else { return nil }
    let document = try JSONValue(parsing: response.content)
    return document["error"].map { (response.status, $0["code"]?.int, document["id"]) }
  }

  private static func request(_ method: String, _ params: String = "{\(meta)}") -> String {
    #"{"jsonrpc":"2.0","id":7,"method":"\#(method)","params":\#(params)}"#
  }

  @Test(arguments: [
    "", "{", "nul", #"{"id":1,"id":2}"#,
    String(repeating: "[", count: 33) + String(repeating: "]", count: 33),
  ])
  func `what is no JSON is -32700 without an id`(_ body: String) throws {
    let refused = try #require(try Self.refusal(body))
    #expect(refused == (.badRequest, -32700, .null))
  }

  @Test(arguments: [
    "[]", "[{}]", "1", "null", #"{"jsonrpc":"2.0"}"#, #"{"jsonrpc":"2.1","id":1,"method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":1e3,"method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":1,"method":2}"#,
    #"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    #"{"jsonrpc":"2.0","id":"\#(String(repeating: "x", count: 256))","method":"ping"}"#,
  ])
  func `what is no request is -32600 without an id`(_ body: String) throws {
    let refused = try #require(try Self.refusal(body))
    #expect(refused == (.badRequest, -32600, .null))
  }

  @Test(arguments: ["tools/call", "notifications/cancelled", "anything"])
  func `a message without an id is a notification, whatever its method`(_ method: String) {
    let body = #"{"jsonrpc":"2.0","method":"\#(method)","params":5}"#
    guard case .answer(let response) = AgentMessage(Array(body.utf8), AgentHead(), Self.tools) else {
      Issue.record("it was read as a request")
      return
    }
    #expect(response.status == .accepted && response.content.isEmpty)
  }

  @Test
  func `initialize answers the client's version where it is served, and the newest of its era elsewhere`()
    throws
  {
    for (asked, answered) in [
      ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"),
      ("2024-11-05", "2024-11-05"), ("2026-07-28", "2025-11-25"), ("2099-01-01", "2025-11-25"),
      ("", "2025-11-25"),
    ] {
      let body = Self.request("initialize", #"{"protocolVersion":"\#(asked)","capabilities":{}}"#)
      for version in [nil, "2026-07-28", "2099-01-01"] {
        guard
          case .answer(let response) = AgentMessage(Array(body.utf8), Self.head(version), Self.tools)
        else {
          Issue.record("initialize with \(asked) calls a tool")
          continue
        }
        let result = try JSONValue(parsing: response.content)["result"]
        #expect(result?["protocolVersion"]?.string == answered)
        #expect(result?["resultType"] == nil)
      }
    }
  }

  @Test func `a modern request is refused in the order of the specification`() throws {
    let (version, method) = ("2026-07-28", "tools/list")
    let future = Self.meta.replacing("2026-07-28", with: "2099-01-01")
    for (body, head, expected) in [
      (Self.request(method, "{}"), Self.head(version, method), (Status.badRequest, Int64(-32602))),
      (Self.request(method), Self.head(), (.badRequest, -32020)),
      (Self.request(method), Self.head("2025-11-25", method), (.badRequest, -32020)),
      (Self.request(method), Self.head(version, "ping"), (.badRequest, -32020)),
      (Self.request(method, "{\(future)}"), Self.head(version, method), (.badRequest, -32020)),
      (Self.request(method, "{\(future)}"), Self.head("2099-01-01", method), (.badRequest, -32022)),
      (Self.request("ping"), Self.head(version, "ping"), (.notFound, -32601)),
      (Self.request("initialize"), Self.head(version, "initialize"), (.notFound, -32601)),
      (
        Self.request(method, #"{"cursor":"a",\#(Self.meta)}"#), Self.head(version, method),
        (.badRequest, -32602)
      ),
    ] {
      let refused = try #require(try Self.refusal(body, head), "\(body) passed")
      #expect((refused.0, refused.1) == (expected.0, expected.1), "\(body)")
      #expect(refused.2 == 7)
    }
    #expect(try Self.refusal(Self.request(method), Self.head(version, method)) == nil)
  }

  @Test func `the name of a tool is compared with its header, also in base64`() throws {
    let body = Self.request("tools/call", #"{"name":"availability",\#(Self.meta)}"#)
    for name in ["availability", "=?base64?YXZhaWxhYmlsaXR5?="] {
      #expect(try Self.refusal(body, Self.head("2026-07-28", "tools/call", name)) == nil)
    }
    for name in [
      nil, "Availability", "=?base64?YXZhaWxhYmlsaXR5?", "=?base64?YXZhaWxhYmlsaXR?=", "=?base64??=", "=?=",
    ] {
      #expect(try Self.refusal(body, Self.head("2026-07-28", "tools/call", name))?.1 == -32020)
    }
  }

  @Test func `an older client gets 200 for errors of its request, and 400 for a version that is not served`()
    throws
  {
    for (body, head, expected) in [
      (Self.request("prompts/list", "{}"), Self.head(), (Status.ok, Int64(-32601))),
      (Self.request("server/discover", "{}"), Self.head("2025-06-18"), (.ok, -32601)),
      (Self.request("tools/list", "[1]"), Self.head(), (.ok, -32602)),
      (Self.request("tools/call", #"{"name":"cancel_callback"}"#), Self.head(), (.ok, -32602)),
      (Self.request("tools/call", #"{"name":"availability","arguments":"x"}"#), Self.head(), (.ok, -32602)),
      (Self.request("ping", "{}"), Self.head("2099-01-01"), (.badRequest, -32022)),
    ] {
      let refused = try #require(try Self.refusal(body, head), "\(body) passed")
      #expect((refused.0, refused.1) == (expected.0, expected.1), "\(body)")
    }
    for version in [nil, "2025-03-26", "2025-11-25", "2024-11-05"] {
      #expect(try Self.refusal(Self.request("ping", "{}"), Self.head(version)) == nil)
    }
  }

  @Test func `a version is repeated only if it looks like one`() throws {
    for (version, shown) in [
      ("2099-01-01", "2099-01-01"), ("a b", "invalid"), ("", "invalid"),
      (String(repeating: "9", count: 33), "invalid"),
      (String(repeating: "9", count: 32), String(repeating: "9", count: 32)),
    ] {
      #expect(AgentProtocol.shown(version) == shown)
    }
  }
}
