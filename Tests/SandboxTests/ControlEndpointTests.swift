// Tests of the `/_sandbox/` endpoints, which control the emulator.

import HTTP
import JOSE
import JSON
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Sandbox

/// One emulator's controls, as a client sees them.
private final class Console {
  var state = EmulatorState(keyIDs: ["old", "new"])
  let clock = SandboxClock(ManualTime())
  /// The gateway on the same port, if a test sets one.
  var gateway: GatewayLink?

  private static let attesters: Attesters = {
    do { return try Attesters() } catch { preconditionFailure("\(error)") }
  }()

  func ask(
    _ method: HTTP.Method, _ name: String, _ content: String = "", isForeign: Bool = false,
    hasOrigin: Bool = false, meansThisMachine: Bool = true
  )
    -> Reply
  {
    var call = Call(method: method, content: Array(content.utf8))
    (call.isOfForeignPage, call.hasForeignOrigin) = (isForeign, isForeign && hasOrigin)
    call.meansThisMachine = meansThisMachine
    do throws(ControlRefusal) {
      return try ControlEndpoint.answer(
        call, path: "/_sandbox/" + name, state: &state, clock: clock, gateway: gateway,
        attesters: Self.attesters)
    } catch {
      return error.reply(instance: "request-1")
    }
  }
}

/// A gateway that records what the controls do with it.
private final class LinkedGateway: Sendable {
  let clock = SandboxClock(ManualTime())
  let forgotten = Mutex(0)
  let moves = Mutex<[Int64]>([])
  let pauses = Mutex<[(of: String, remaining: Duration)]>([("token", .seconds(30)), ("hook", .seconds(600))])

  var link: GatewayLink {
    GatewayLink(
      clock: clock, forgetTokens: { [self] in forgotten.withLock { $0 += 1 } },
      clockMoved: { [self] seconds in moves.withLock { $0.append(seconds) } },
      pauses: { [self] in pauses.withLock { $0 } }, endPauses: { [self] in pauses.withLock { $0 = [] } },
      approve: { _, _ in },
      adminToken: Secret("canary-admin-token"), users: try? SandboxUsers())
  }
}

@Suite(.serialized) struct ControlEndpointTests {
  @Test func `a fault is queued, listed and forgotten`() throws {
    let console = Console()
    #expect(console.ask(.post, "faults", #"{"endpoint":"token","status":503}"#).status == .created)
    let list = try JSONValue(parsing: console.ask(.get, "faults").content)
    #expect(list == ["faults": [["endpoint": "token", "times": 1, "status": 503]], "count": 1])
    #expect(console.ask(.delete, "faults").status == .noContent)
    #expect(console.state.faults.waiting.isEmpty)
  }

  @Test
  func
    `the gateway's pauses are listed with their ends by its clock, and ended without a fault being forgotten`()
    throws
  {
    let console = Console()
    let alone = console.ask(.get, "pauses")
    #expect(alone.status == .notFound)
    console.gateway = LinkedGateway().link
    #expect(console.ask(.post, "faults", #"{"endpoint":"token","status":503}"#).status == .created)
    let now = console.gateway!.clock.unixTime.seconds
    #expect(
      try JSONValue(parsing: console.ask(.get, "pauses").content) == [
        ["of": "token", "until": .string(UnixTime(seconds: now + 30).rfc3339)],
        ["of": "hook", "until": .string(UnixTime(seconds: now + 600).rfc3339)],
      ])
    #expect(console.ask(.delete, "pauses").status == .noContent)
    #expect(try JSONValue(parsing: console.ask(.get, "pauses").content) == [])
    #expect(console.state.faults.waiting.count == 1)
    #expect(console.ask(.post, "pauses").status == .methodNotAllowed)
  }

  @Test func `a user's JWT has the claims that are asked for, and its own`() throws {
    let console = Console()
    console.gateway = LinkedGateway().link
    let users = try #require(console.gateway?.users)
    let now = console.gateway!.clock.unixTime.seconds
    let reply = console.ask(.post, "jwt", #"{"sub":"ann","claims":{"tier":"gold","groups":["a"]}}"#)
    #expect(reply.status == .ok)
    let text = try #require(try JSONValue(parsing: reply.content)["jwt"]?.string)
    let jws = try JWS.Compact(parsing: Array(text.utf8))
    #expect(jws.verify(with: users.key))
    #expect(
      try JSONValue(parsing: jws.payload) == [
        "iss": .string(SandboxUsers.issuer), "aud": .string(SandboxUsers.audience), "sub": "ann",
        "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 3600)), "tier": "gold",
        "groups": ["a"],
      ])
  }

  @Test(arguments: [
    (#"{}"#, "sub"), (#"{"sub":1}"#, "sub"), (#"{"sub":"a","claims":[]}"#, "claims"),
    (#"{"sub":"a","exp":1}"#, "exp"),
    (#"{"sub":"a","claims":{"iss":"x"}}"#, "claims.iss"),
    (#"{"sub":"a","claims":{"aud":"x"}}"#, "claims.aud"),
    (#"{"sub":"a","claims":{"iat":1}}"#, "claims.iat"), (#"{"sub":"a","claims":{"exp":1}}"#, "claims.exp"),
    (#"{"sub":"a","claims":{"sub":"x"}}"#, "claims.sub"),
  ])
  func `a JWT without a subject, or with claims of the sandbox's, is refused`(body: String, member: String)
    throws
  {
    let console = Console()
    console.gateway = LinkedGateway().link
    let reply = console.ask(.post, "jwt", body)
    #expect(reply.status == .unprocessableContent)
    #expect(try JSONValue(parsing: reply.content)["fields"]?.array?.first?["name"]?.string == member)
    #expect(console.ask(.get, "jwt").status == .methodNotAllowed)
    console.gateway = nil
    #expect(console.ask(.post, "jwt", #"{"sub":"ann"}"#).status == .notFound)
  }

  @Test func `an unknown member is 422 and named`() throws {
    let console = Console()
    let reply = console.ask(.post, "faults", #"{"endpoint":"token","stauts":503}"#)
    #expect(reply.status == .unprocessableContent)
    #expect(reply.fields["Content-Type"] == "application/problem+json")
    let problem = try JSONValue(parsing: reply.content)
    #expect(problem["type"] == "urn:callgate:problem:invalid_request")
    #expect(problem["status"] == 422)
    #expect(problem["code"] == "invalid_request")
    #expect(problem["instance"] == "request-1")
    #expect(problem["message"] == problem["title"])
    #expect(problem["fields"]?.array?.first?["name"] == "stauts")
    #expect(console.state.faults.waiting.isEmpty)
  }

  @Test func `content that is not JSON is 400`() throws {
    let console = Console()
    let reply = console.ask(.post, "faults", #"{"endpoint":"token""#)
    #expect(reply.status == .badRequest)
    #expect(try JSONValue(parsing: reply.content)["code"] == "invalid_json")
  }

  @Test func `the thousand and first fault is refused`() {
    let console = Console()
    for _ in 0..<1000 { #expect(console.ask(.post, "faults", #"{"endpoint":"token"}"#).status == .created) }
    #expect(console.ask(.post, "faults", #"{"endpoint":"token"}"#).status == .unprocessableContent)
  }

  @Test(arguments: ["faults", "exchanges", "callbacks"])
  func `a site whose name was made to point here neither looks nor changes`(name: String) {
    let console = Console()
    for method in [HTTP.Method.get, .delete] {
      let reply = console.ask(method, name, meansThisMachine: false)
      #expect(reply.status == .forbidden)
    }
    #expect(
      console.ask(.post, name, #"{"endpoint":"token"}"#, meansThisMachine: false).status == .forbidden)
    #expect(console.state.faults.waiting.isEmpty)
  }

  @Test(arguments: [false, true])
  func `a page of another site may link and not change`(hasOrigin: Bool) {
    let console = Console()
    func status(_ method: HTTP.Method, _ name: String, _ content: String = "") -> Status {
      console.ask(method, name, content, isForeign: true, hasOrigin: hasOrigin).status
    }
    #expect(status(.post, "faults", #"{"endpoint":"token"}"#) == .forbidden)
    #expect(status(.delete, "callbacks") == .forbidden)
    #expect(status(.get, "faults") == (hasOrigin ? .forbidden : .ok))
    #expect(console.ask(.post, "faults", #"{"endpoint":"token"}"#).status == .created)
  }

  @Test(arguments: [
    ("faults", HTTP.Method.put, "GET, POST, DELETE"), ("exchanges", .post, "GET, DELETE"),
    ("callbacks", .post, "GET, DELETE"),
  ])
  func `another method is 405 and the right ones are named`(name: String, method: HTTP.Method, allow: String)
  {
    let console = Console()
    let reply = console.ask(method, name)
    #expect(reply.status == .methodNotAllowed)
    #expect(reply.fields["Allow"] == allow)
  }

  @Test(arguments: ["", "fault", "faults/", "callbacks/1", "demo.html"])
  func `anything else is 404`(name: String) {
    let console = Console()
    #expect(console.ask(.get, name).status == .notFound)
  }

  @Test func `the demo page gets the admin token that the sandbox made, on the gateway's port only`() throws {
    let console = Console()
    #expect(try JSONValue(parsing: console.ask(.get, "operator").content) == ["admin_token": .null])
    console.gateway = LinkedGateway().link
    #expect(
      try JSONValue(parsing: console.ask(.get, "operator").content) == ["admin_token": "canary-admin-token"])
    #expect(console.ask(.get, "operator", meansThisMachine: false).status == .forbidden)
  }

  @Test func `tokens are forgotten where there is a gateway, and only by DELETE`() throws {
    let console = Console()
    #expect(console.ask(.delete, "token").status == .notFound)
    let gateway = LinkedGateway()
    console.gateway = gateway.link
    #expect(console.ask(.delete, "token").status == .noContent)
    #expect(console.ask(.get, "token").status == .methodNotAllowed)
    #expect(gateway.forgotten.withLock { $0 } == 1)
  }

  @Test func `the clock is set, shown and set right again`() throws {
    let console = Console()
    let before = console.clock.unixTime.seconds
    let reply = console.ask(.post, "clock", #"{"offset_seconds":-600}"#)
    #expect(reply.status == .ok)
    #expect(try JSONValue(parsing: reply.content)["offset_seconds"] == -600)
    #expect(console.clock.unixTime.seconds == before - 600)
    #expect(try JSONValue(parsing: console.ask(.get, "clock").content)["offset_seconds"] == -600)
    #expect(console.ask(.delete, "clock").status == .noContent)
    #expect(console.clock.unixTime.seconds == before)
  }

  @Test func `everything moves the gateway along, and each response says how far`() throws {
    let console = Console()
    let gateway = LinkedGateway()
    console.gateway = gateway.link
    func move(_ content: String) throws -> [Int?] {
      let shown = try JSONValue(parsing: console.ask(.post, "clock", content).content)
      return [shown["offset_seconds"]?.int, shown["gateway_offset_seconds"]?.int].map { $0.map(Int.init) }
    }
    #expect(try move(#"{"offset_seconds":34560000,"everything":true}"#) == [34_560_000, 34_560_000])
    #expect(gateway.clock.unixTime == console.clock.unixTime)
    #expect(try move(#"{"offset_seconds":-34560000,"everything":true}"#) == [-34_560_000, -34_560_000])
    #expect(try move(#"{"offset_seconds":-34560000,"everything":true}"#) == [-34_560_000, -34_560_000])
    // Without `everything`, the gateway's clock does not move.
    #expect(try move(#"{"offset_seconds":86400}"#) == [86_400, -34_560_000])
    #expect(try move(#"{"offset_seconds":60,"everything":false}"#) == [60, -34_560_000])
    let shown = try JSONValue(parsing: console.ask(.get, "clock").content)
    #expect(shown["time"]?.string == console.clock.unixTime.rfc3339)
    #expect(shown["gateway_time"]?.string == gateway.clock.unixTime.rfc3339)
    #expect(console.ask(.delete, "clock").status == .noContent)
    #expect((console.clock.offset, gateway.clock.offset) == (0, 0))
    #expect(gateway.moves.withLock { $0 } == [34_560_000, -69_120_000, 34_560_000])
  }

  @Test func `without a gateway on the port not everything moves`() throws {
    let console = Console()
    let reply = console.ask(.post, "clock", #"{"offset_seconds":600,"everything":true}"#)
    #expect(reply.status == .notFound)
    #expect(console.clock.offset == 0)
    #expect(
      try JSONValue(parsing: console.ask(.get, "clock").content).object?.members.map(\.name)
        == ["offset_seconds", "time"])
  }

  @Test(arguments: [34_560_001, -34_560_001])
  func `more than 400 days are refused`(seconds: Int) throws {
    let console = Console()
    let gateway = LinkedGateway()
    console.gateway = gateway.link
    let reply = console.ask(.post, "clock", #"{"offset_seconds":\#(seconds),"everything":true}"#)
    #expect(reply.status == .unprocessableContent)
    #expect(try JSONValue(parsing: reply.content)["fields"]?.array?.first?["name"] == "offset_seconds")
    #expect((console.clock.offset, gateway.clock.offset) == (0, 0))
  }

  @Test(arguments: [
    ("clock", #"{"offset_seconds":86401}"#, "offset_seconds"),
    ("clock", #"{"offset_seconds":86401,"everything":false}"#, "offset_seconds"),
    ("clock", #"{"everything":true}"#, "offset_seconds"),
    ("clock", #"{"offset_seconds":1,"everything":1}"#, "everything"),
    ("clock", #"{"offset_seconds":1,"everything":null}"#, "everything"),
    ("clock", #"{"offset_seconds":"1"}"#, "offset_seconds"),
    ("clock", "{}", "offset_seconds"), ("clock", #"{"offset_seconds":1,"x":1}"#, "x"), ("clock", "[]", ""),
    ("keys", #"{"key_id":"none","accepted":true}"#, "key_id"), ("keys", #"{"key_id":"old"}"#, "accepted"),
    ("keys", #"{"key_id":"old","accepted":1}"#, "accepted"),
  ])
  func `a wrong clock or key is 422 and named`(name: String, content: String, member: String) throws {
    let reply = Console().ask(.post, name, content)
    #expect(reply.status == .unprocessableContent)
    #expect(try JSONValue(parsing: reply.content)["fields"]?.array?.first?["name"]?.string == member)
  }

  @Test func `a key is retired and taken back`() throws {
    let console = Console()
    func shown(_ reply: Reply) throws -> JSONValue { try JSONValue(parsing: reply.content) }
    let both: JSONValue = [
      "keys": [["key_id": "old", "accepted": true], ["key_id": "new", "accepted": true]]
    ]
    #expect(try shown(console.ask(.get, "keys")) == both)
    let one: JSONValue = [
      "keys": [["key_id": "old", "accepted": false], ["key_id": "new", "accepted": true]]
    ]
    #expect(try shown(console.ask(.post, "keys", #"{"key_id":"old","accepted":false}"#)) == one)
    #expect(console.state.retiredKeys == ["old"])
    #expect(try shown(console.ask(.post, "keys", #"{"key_id":"old","accepted":true}"#)) == both)
  }

  @Test func `the journal is shown and emptied`() throws {
    let console = Console()
    #expect(try JSONValue(parsing: console.ask(.get, "exchanges").content) == ["exchanges": [], "count": 0])
    let empty: JSONValue = ["callbacks": [], "rings": [:], "count": 0, "refused": [], "arrivals": 0]
    #expect(try JSONValue(parsing: console.ask(.head, "callbacks").content) == empty)
    console.state.journal.record(JournalTests.callback(.accepted, "+14155550100"))
    #expect(try JSONValue(parsing: console.ask(.get, "callbacks").content)["count"] == 1)
    #expect(console.ask(.delete, "callbacks").status == .noContent)
    #expect(try JSONValue(parsing: console.ask(.get, "callbacks").content) == empty)
  }

  @Test func `every number in a body is taken or refused`() throws {
    for (name, body) in [
      (
        "faults",
        #"{"endpoint":"token","status":503,"delay_ms":1,"times":1,"retry_after":1,"body":{},"drop":false,"expires_in":1}"#
      ),
      ("clock", #"{"offset_seconds":1,"everything":true}"#), ("keys", #"{"key_id":"old","accepted":true}"#),
    ] {
      let console = Console()
      console.gateway = LinkedGateway().link
      for content in try StrangeNumbers.documents(like: body) {
        #expect(
          [.ok, .created, .noContent, .unprocessableContent, .badRequest].contains(
            console.ask(.post, name, content).status))
      }
    }
  }
}
