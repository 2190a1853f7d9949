// Tests of the request that `callgate test-call` sends, and of its report on each response.

import HTTP
import JOSE
import JSON
import Platform
import Synchronization
import Testing
import Upstream

@testable import Callbacks
@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport
@testable import Sandbox

/// What a test call sends, how it judges each response, and what it saves. The network here is a script,
/// except in the last tests.
@Suite struct DrillTests {
  private static let contact = "+14155550123"
  private static let own = "+18005550199"
  /// Shaped like an account's token: the Base64 of a header, a claim and a signature.
  private static let token = "eyJhbGciOiJFUzI1NiJ9.eyJjaWQiOiJjYW5hcnkifQ.c2lnbmF0dXJlLWNhbmFyeQ"

  private final class Network: HTTPTransport {
    typealias Answer = @Sendable (OutboundRequest) throws(TransportError) -> InboundResponse
    private let answer: Answer
    private let sent = Mutex<[OutboundRequest]>([])
    var callbacks: [OutboundRequest] { sent.withLock { $0.filter { $0.url.hasSuffix("/calls/callback") } } }
    var exchanges: [OutboundRequest] { sent.withLock { $0.filter { $0.url.hasSuffix("/oauth/token") } } }

    init(_ answer: @escaping Answer) { self.answer = answer }

    func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
      sent.withLock { $0.append(request) }
      return try answer(request)
    }
  }

  private static func reply(_ status: Int, _ content: String = "", _ fields: Fields = [:]) -> InboundResponse
  {
    InboundResponse(status: status, fields: fields, content: Array(content.utf8))
  }

  private static func tokenReply(
    _ expiresIn: Int? = 599, scope: String? = "callback:write"
  ) -> InboundResponse {
    let life = expiresIn.map { #","expires_in":\#($0)"# } ?? ""
    let scope = scope.map { #","scope":"\#($0)""# } ?? ""
    return reply(200, #"{"access_token":"\#(token)","token_type":"Bearer"\#(life)\#(scope)}"#)
  }

  private static func configuration(
    _ yaml: String? = nil, _ changes: [String: String?] = ["TD_PHONE_NUMBER": own]
  ) throws -> Configuration {
    try Fixture.load(yaml, environment: Fixture.changed(changes), for: .token).configuration
  }

  /// A test call to an account that responds to callbacks like this.
  private func drill(
    _ yaml: String? = nil, token: InboundResponse = tokenReply(), answer: @escaping Network.Answer
  ) async throws -> (report: DrillReport, network: Network) {
    let network = Network { request throws(TransportError) in
      request.url.hasSuffix("/oauth/token") ? token : try answer(request)
    }
    let drill = try Drill(Self.configuration(yaml), phone: Self.contact)
    return (await drill.run(transport: network, clock: SystemClock()), network)
  }

  private func text(_ report: DrillReport) -> String {
    report.lines.map { "\($0.name): \($0.text)\n" }.joined() + report.closing.joined(separator: "\n")
  }

  private func facts(_ report: DrillReport) throws -> JSONValue {
    try JSONValue(parsing: try #require(report.facts))
  }

  // MARK: Before anything is sent

  @Test func `it says what will ring, from where and on which account, with numbers masked`() throws {
    let drill = try Drill(Self.configuration(), phone: Self.contact)
    #expect(
      drill.announcement() == [
        "Talkdesk will ring +*********23. This is a real call.",
        "It comes from +*********99, on account acme (region us).",
        "Your rules, safety limits and pauses do not apply to it.",
      ])
    #expect(
      drill.announcement(showingNumber: true) == [
        "Talkdesk will ring +14155550123. This is a real call.", drill.announcement()[1],
        drill.announcement()[2],
      ])
    let elsewhere = try Self.configuration(
      nil, ["TD_PHONE_NUMBER": Self.own, "TD_TOKEN_URL": "http://127.0.0.1:9/oauth/token"])
    #expect(
      try Drill(elsewhere, phone: Self.contact).announcement()[1]
        == "It comes from +*********99, on the account at 127.0.0.1.")
  }

  @Test(arguments: [
    ("+19005550123", "begins with +1900, a range that is refused by default"),
    ("+999123456789", "is in no numbering plan, so no phone can have it"),
    ("+123456", "is too short for a number of its country"),
  ])
  func `a number in the refused ranges is refused with the reason, whatever the rules say`(
    phone: String, reason: String
  ) throws {
    let rules = "rules:\n  - { name: all, kind: numbers, allow: [\"+1\"], default_deny: false }"
    #expect(throws: Drill.Obstacle.refusedNumber(reason: reason)) {
      try Drill(Self.configuration(rules), phone: phone)
    }
    let words = "Callgate does not call this number: it \(reason). Nothing was sent."
    #expect("\(Drill.Obstacle.refusedNumber(reason: reason))" == words)
  }

  @Test func `without a Talkdesk number there is nothing to call from, and an app's number will do`() throws {
    #expect(throws: Drill.Obstacle.noTalkdeskNumber) {
      try Drill(Self.configuration(nil, ["TD_PHONE_NUMBER": nil]), phone: Self.contact)
    }
    let apps = "apps: { a: {}, b: { talkdesk_phone_numbers: [\"+18005550142\"] } }"
    let drill = try Drill(Self.configuration(apps, [:]), phone: Self.contact)
    #expect(drill.announcement()[1].contains("+*********42"))
    let both = try Drill(Self.configuration(apps), phone: Self.contact)
    #expect(both.announcement()[1].contains("+*********99"), "the server's own number goes first")
  }

  @Test func `the mistake in a number is reported without the number`() throws {
    #expect(Drill.fault(inPhone: Self.contact) == nil)
    let fault = try #require(Drill.fault(inPhone: "2125550142"))
    #expect(fault.contains("Begin with +") && !fault.contains("2125550142"))
  }

  // MARK: What is sent

  @Test func `one request goes out, with what the server would send`() async throws {
    let (report, network) = try await drill { _ throws(TransportError) in Self.reply(201, "{}") }
    #expect(report.verdict == .accepted)
    let sent = try #require(network.callbacks.first)
    #expect(network.callbacks.count == 1 && network.exchanges.count == 1)
    #expect(sent.url == "https://api.talkdeskapp.com/calls/callback")
    #expect(sent.method == .post && sent.reuse == .never)
    #expect(sent.fields["Authorization"] == "Bearer " + Self.token)
    #expect(sent.fields["Content-Type"] == "application/json")
    let body = try JSONValue(parsing: Array(sent.content))
    #expect(
      body == ["talkdesk_phone_number": .string(Self.own), "contact_phone_number": .string(Self.contact)])
    let terms = CallbackTerms(app: nil, try Self.configuration())
    let asked = Array(#"{"contact_phone_number":"\#(Self.contact)"}"#.utf8)
    #expect(body == (try JSONValue(parsing: CallbackRequest(parsing: asked, terms: terms).content)))
  }

  @Test(arguments: [
    ("callback:write", "callback:write"), ("visual-sessions:execute", "callback:write"),
    ("visual-sessions:execute callback:write", "visual-sessions:execute callback:write"),
  ])
  func `the token is asked for as the server asks for callbacks`(scope: String, asked: String) async throws {
    let yaml = "talkdesk: { scope: \"\(scope)\" }"
    let (report, network) = try await drill(yaml, token: Self.tokenReply(scope: asked)) {
      _ throws(TransportError) in Self.reply(201)
    }
    let form = String(decoding: try #require(network.exchanges.first).content, as: UTF8.self)
    let escaped = asked.replacing(":", with: "%3A").replacing(" ", with: "+")
    #expect(form.split(separator: "&").contains("scope=\(escaped)"), "\(form)")
    #expect(text(report).contains("scopes: \(asked)"))
  }

  @Test func `the phone rings only after the announcement`() async throws {
    let order = Mutex<[String]>([])
    let network = Network { request throws(TransportError) in
      order.withLock { $0.append(request.url.hasSuffix("/oauth/token") ? "token" : "callback") }
      return request.url.hasSuffix("/oauth/token") ? Self.tokenReply() : Self.reply(201)
    }
    _ = await (try Drill(Self.configuration(), phone: Self.contact)).run(
      transport: network, clock: SystemClock()
    ) { order.withLock { $0.append("told") } }
    #expect(order.withLock { $0 } == ["token", "told", "callback"])
  }

  // MARK: What each answer means

  @Test(
    arguments: [
      (200, "accepted", "rings once an agent accepts it"), (201, "accepted", "rings once"),
      (202, "accepted", "rings once"), (204, "accepted", "rings once"),
      (400, "refused", "Talkdesk rejected the request. No call was requested"),
      (401, "refused", "rejected the token. No call was requested"),
      (403, "refused", "callback:write"), (415, "refused", "No call was requested"),
      (422, "refused", "+*********99 is a number of this account"),
      (429, "refused", "Talkdesk is limiting requests (429). No call was requested.\nWait 7 s"),
      (404, "unavailable", "TD_API_URL"), (409, "unavailable", "No call was requested"),
      (503, "unavailable", "Talkdesk is unavailable (503). No call was requested.\nWait 7 s"),
      (500, "unavailable", "the phone may ring"),
      (502, "unavailable", "Do not repeat the test call right away"),
      (302, "unavailable", "the phone may ring"),
      (408, "unavailable", "the phone may ring"),
    ])
  func `each status has its end and its words, and is never asked twice`(
    status: Int, verdict: String, words: String
  ) async throws {
    let (report, network) = try await drill { _ throws(TransportError) in
      Self.reply(status, "{}", ["Content-Type": "application/json", "Retry-After": "7"])
    }
    #expect("\(report.verdict)" == verdict)
    #expect(text(report).contains(words), "\(text(report))")
    #expect(network.callbacks.count == 1)
    #expect(try facts(report)["callback"]?["status"] == .number(JSONNumber(Int64(status))))
    #expect(report.lines.map(\.name) == ["status", "body", "header", "token", "scopes"])
  }

  @Test(
    arguments: [
      (TransportError(.timedOut, sent: true, detail: ""), true),
      (TransportError(.connectionLost, sent: true, detail: ""), true),
      (TransportError(.malformedResponse, sent: true, detail: ""), true),
      (TransportError(.nameResolution, sent: false, detail: ""), false),
      (
        TransportError(.connect, sent: false, detail: "", diagnosis: .init(.server, .connectionRefused)),
        false
      ),
      (
        TransportError(.tls, sent: false, detail: "", diagnosis: .init(.server, .certificate(.expired))),
        false
      ),
    ])
  func `a lost response is reported as unknown, and an unsent request as not sent`(
    error: TransportError, isUnknown: Bool
  ) async throws {
    let (report, network) = try await drill { _ throws(TransportError) in throw error }
    #expect(report.verdict == .unavailable)
    #expect(network.callbacks.count == 1)
    #expect(report.facts == nil)
    #expect(text(report).contains("the phone may ring") == isUnknown)
    #expect(text(report).contains("No call was requested") != isUnknown)
    #expect(report.lines[0].text.hasPrefix("none: "))
    #expect(report.lines.map(\.name) == ["status", "time", "token", "scopes"])
  }

  @Test func `an answer that broke off counts by its status, and its content is not made up`() async throws {
    let (report, _) = try await drill { _ throws(TransportError) in
      throw TransportError(
        .connectionLost, sent: true, detail: "", head: Self.reply(201, "", ["Content-Type": "text/html"]))
    }
    #expect(report.verdict == .accepted)
    #expect(text(report).contains("body: incomplete\n"))
    #expect(try facts(report)["callback"]?["content"] == .null)
  }

  @Test(
    arguments: [
      (401, #"{"error":"invalid_client"}"#, "refused", "status 401, error invalid_client"),
      (400, #"{"error":"invalid_scope"}"#, "refused", "status 400"), (403, "", "refused", "status 403"),
      (429, "", "unavailable", "limits the rate"), (404, "", "unavailable", "is the account name right"),
      (200, #"{"access_token":"x","scope":"contacts:read"}"#, "refused", "lacks the scope callback:write"),
      (200, "", "unavailable", "no content"),
    ])
  func `without a token nothing is sent`(
    status: Int, content: String, verdict: String, words: String
  ) async throws {
    let (report, network) = try await drill(token: Self.reply(status, content)) {
      _ throws(TransportError) in Self.reply(201)
    }
    #expect("\(report.verdict)" == verdict)
    #expect(network.callbacks.isEmpty)
    #expect(report.facts == nil && report.lines.isEmpty)
    #expect(text(report).contains(words) && text(report).contains("No callback was sent"), "\(text(report))")
  }

  // MARK: What is printed and saved

  @Test func `the facts are what the account answered`() async throws {
    let (report, _) = try await drill(token: Self.tokenReply(1799, scope: "callback:write contacts:read")) {
      _ throws(TransportError) in
      var reply = Self.reply(
        202, #"{ "id" : "a" }"#,
        [
          "content-type": "application/json; charset=utf-8", "platform-tid": "0af7-1", "Server": "nginx",
          "x-ratelimit-limit": "60", "Set-Cookie": "session=canary", "Authorization": "Bearer canary",
          "X-Secret": "canary", "Vary": "a", "vary": "b",
        ])
      reply.timing = TransferTiming(
        nameResolution: .microseconds(1400), connecting: .microseconds(12_600), handshake: .milliseconds(31),
        firstByte: .milliseconds(210))
      return reply
    }
    #expect(
      try facts(report) == [
        "callback": [
          "status": 202, "content_type": "application/json; charset=utf-8", "content": #"{ "id" : "a" }"#,
          "fields": ["Server": "nginx", "X-RateLimit-Limit": "60"], "trace_id": "0af7-1",
          "duration_ms": ["dns": 1, "tcp": 13, "tls": 31, "first_byte": 210],
        ], "token": ["expires_in": 1799, "scope": "callback:write contacts:read"],
      ])
    #expect(report.facts?.last == 0x0A)
    #expect(
      report.lines.map { "\($0.name): \($0.text)" } == [
        "status: 202, application/json; charset=utf-8", #"body: { "id" : "a" }"#, "header: Server: nginx",
        "header: X-RateLimit-Limit: 60", "dropped: Set-Cookie, Authorization, X-Secret, Vary",
        "trace id: 0af7-1",
        "time: dns 1 ms, tcp 13 ms, tls 31 ms, first byte 210 ms", "token: expires in 1799 s",
        "scopes: callback:write contacts:read",
      ])
  }

  private func kept(_ fields: Fields) async throws -> (fields: JSONValue?, report: DrillReport) {
    let (report, _) = try await drill { _ throws(TransportError) in Self.reply(403, "", fields) }
    return (try facts(report)["callback"]?["fields"], report)
  }

  @Test func `trace ids are kept by their names, and nothing that is named like a credential`() async throws {
    let id = "Root=1-67891233-abcdef012345678912345678"
    let (kept, report) = try await kept([
      "x-amzn-trace-id": id, "CF-RAY": "8f0a1b2c3d4e5f60-LIS", "X-Correlation-Id": "14155550123-1700000000",
      "b3": "80f198ee56343ba8-e457b5a2e4d86bd1-1", "x-amz-cf-id": "Gq==", "uber-trace-id": Self.token,
      "X-Amz-Security-Token": "canary", "X-Trace-Key": "canary",
      "x-request-id": String(repeating: "a", count: 128),
      "x-long-trace": String(repeating: "a", count: 129), "x-odd-trace": "caf\u{E9}",
      "x-trace-4155550123": "1",
      "platform-tid": "no trace id, for its spaces",
    ])
    #expect(
      kept == [
        "x-amzn-trace-id": .string(id), "CF-RAY": "8f0a1b2c3d4e5f60-LIS",
        "X-Correlation-Id": "*********23-1700000000", "b3": "80f198ee56343ba8-e457b5a2e4d86bd1-1",
        "x-amz-cf-id": "Gq==", "uber-trace-id": "<token>",
        "x-request-id": .string(String(repeating: "a", count: 128)), "x-trace-********23": "1",
        "platform-tid": "no trace id, for its spaces",
      ])
    #expect(
      text(report).contains("dropped: X-Amz-Security-Token, X-Trace-Key, x-long-trace, x-odd-trace\n"),
      "\(text(report))")
    #expect(throws: Never.self) { try AccountFacts(parsing: try #require(report.facts)) }
  }

  @Test func `32 fields with trace ids are kept, and not one more`() async throws {
    var fields = Fields()
    for number in 0..<33 { fields.append("x-trace-\(number)", "a") }
    let (kept, report) = try await kept(fields)
    #expect(kept?.object?.members.count == 32)
    #expect(text(report).contains("dropped: x-trace-32\n"))
  }

  @Test(
    arguments: [
      (
        #"Bearer realm="canary", error="invalid_token", error_description="It, \"expired\"", scope=a"#,
        #"Bearer error="invalid_token", error_description="It, \"expired\"", scope=a"#
      ),
      ("Bearer canary==", "Bearer"), ("bearer", "bearer"),
      (
        #"Basic realm="a, error=canary", Bearer error="invalid_token""#,
        #"Basic, Bearer error="invalid_token""#
      ),
      ("canarycanarycanarycanary, Digest nonce=canary, ERROR=x", "?, Digest error=x"),
      (
        #"Bearer error_description="call +14155550123 at 1700000000""#,
        #"Bearer error_description="call +*********23 at ********00""#
      ),
    ])
  func `of WWW-Authenticate the scheme and the error are kept`(value: String, wanted: String) async throws {
    let (kept, report) = try await kept(["WWW-Authenticate": value])
    #expect(kept == ["WWW-Authenticate": .string(wanted)])
    #expect(!text(report).contains("canary"))
  }

  @Test func `times and limits stay, but for the numbers of the drill`() async throws {
    let kept = try await kept([
      "X-RateLimit-Reset": "1700000000", "RateLimit-Reset": "14155550123", "RateLimit": "limit=10000000",
      "Via": "1700000000",
    ]).fields
    #expect(
      kept == [
        "RateLimit": "limit=10000000", "RateLimit-Reset": "*********23", "Via": "********00",
        "X-RateLimit-Reset": "1700000000",
      ])
  }

  @Test func `the trace id and the scope hold no number of the drill and no token`() async throws {
    let (report, _) = try await drill(token: Self.tokenReply(scope: "callback:write of:18005550199")) {
      _ throws(TransportError) in
      Self.reply(201, "", ["platform-tid": "1700000000-14155550123-\(Self.token)"])
    }
    #expect(try facts(report)["callback"]?["trace_id"] == "1700000000-*********23-<token>")
    #expect(try facts(report)["token"]?["scope"] == "callback:write of:*********99")
    #expect(text(report).contains("trace id: 1700000000-*********23-<token>\n"))
    #expect(text(report).contains("scopes: callback:write of:*********99\n"))
  }

  @Test func `a scope that Talkdesk did not name is shown as requested`() async throws {
    let (report, _) = try await drill(token: Self.tokenReply(scope: nil)) { _ throws(TransportError) in
      Self.reply(201)
    }
    #expect(text(report).contains("scopes: callback:write (as requested; Talkdesk named none)\n"))
    #expect(try facts(report)["token"]?["scope"] == "callback:write")
  }

  @Test func `what is not there is null, and the sandbox takes it`() async throws {
    let (report, _) = try await drill(token: Self.tokenReply(nil)) { _ throws(TransportError) in
      Self.reply(204)
    }
    #expect(
      try facts(report) == [
        "callback": ["status": 204, "content_type": .null, "content": "", "fields": [:], "trace_id": .null],
        "token": ["expires_in": .null, "scope": "callback:write"],
      ])
    #expect(text(report).contains("body: none\n"))
    #expect(text(report).contains("token: Talkdesk did not say when it expires\n"))
    let read = try AccountFacts(parsing: try #require(report.facts))
    #expect(read.status == 204 && read.expiresIn == nil && read.contentType == nil)
  }

  @Test(
    arguments: [
      // The response's content, and the part of it that is saved.
      (#"{"to":"+14155550123","of":"+18005550199"}"#, #"{"to":"+*********23","of":"+*********99"}"#),
      (#"{"to":"\u002B1415555\u0030123"}"#, #"{"to":"+*********23"}"#),
      (#"{"to":14155550123,"n":1,"f":0.25}"#, #"{"to":99999999923,"n":1,"f":0.25}"#),
      (#"{"+14155550123":{"a":["tel:(415) 555-0123"]}}"#, #"{"+*********23":{"a":["tel:(***) ***-**23"]}}"#),
      (#"{"id":"00000000014155550123abcdef"}"#, #"{"id":"*******00*********23abcdef"}"#),
      ("<p>+44 20 7946 0958 for 14155550123</p>", "<p>+** ** **** **58 for *********23</p>"),
      (#"{"sent":"Bearer \#(token)"}"#, #"{"sent":"Bearer <token>"}"#),
      ("you sent \(token).", "you sent <token>."),
      (#"{ "at" : "2026-11-22T06:00:30Z" }"#, #"{ "at" : "2026-11-22T06:00:30Z" }"#),
    ])
  func `numbers and the token are in neither the print nor the facts`(
    content: String, kept: String
  ) async throws {
    let (report, _) = try await drill { _ throws(TransportError) in
      Self.reply(422, content, ["Location": "/calls/+14155550123?token=\(Self.token)"])
    }
    #expect(try facts(report)["callback"]?["content"] == .string(kept))
    #expect(text(report).contains("body: \(kept)\n"), "\(text(report))")
    let all = text(report) + String(decoding: report.facts ?? [], as: UTF8.self)
    for secret in ["4155550123", "8005550199", Self.token, "7946 0958"] { #expect(!all.contains(secret)) }
    #expect(all.contains("Location: /calls/+*********23?token=<token>"))
  }

  @Test func `what an answer holds cannot steer a terminal or spoil a header`() async throws {
    let (report, _) = try await drill { _ throws(TransportError) in
      Self.reply(
        403, "a\u{1B}[31mb\u{202E}c\nd\u{0}" + String(repeating: "x", count: 3000),
        [
          "Server": "n\u{1B}[0m" + String(repeating: "y", count: 2000), "Via": " ",
          "Content-Type": "a\u{7F}b",
        ])
    }
    let printed = text(report)
    #expect(printed.contains(#"body: a\u{1b}[31mb\u{202e}c d\u{0}xxx"#) && !printed.contains("\u{1B}"))
    #expect(printed.utf8.count < 3000)
    let kept = try facts(report)
    #expect(kept["callback"]?["content_type"] == "a?b")
    let server = try #require(kept["callback"]?["fields"]?["Server"]?.string)
    #expect(server.hasPrefix("n?[0myyy") && server.utf8.count == 256)
    #expect(kept["callback"]?["fields"]?["Via"] == nil)
    #expect(throws: Never.self) { try AccountFacts(parsing: try #require(report.facts)) }
  }
}

/// A test call over real sockets to the emulator: exactly one request arrives, whatever the response.
@Suite(.serialized) struct DrillArrivalTests {
  private static let contact = "+14155550123"

  /// Runs a test with an emulator and a test call to it.
  private func emulated(
    facts: AccountFacts? = nil, timeout: String = "20s",
    _ body: (LocalTalkdesk, CurlTransport, Drill) async throws -> Void
  ) async throws {
    let talkdesk = try LocalTalkdesk.start(facts: facts)
    let transport = try CurlTransport(TransportSettings(proxies: .direct))
    var environment = ["TD_PHONE_NUMBER": "+18005550199"]
    for variable in talkdesk.variables { environment[variable.name] = variable.value.exposedString() }
    let result: Result<Void, any Error>
    do {
      let configuration = try Fixture.load(
        "callbacks: { timeout: \(timeout) }", environment: environment, for: .token
      ).configuration
      result = .success(try await body(talkdesk, transport, try Drill(configuration, phone: Self.contact)))
    } catch {
      result = .failure(error)
    }
    await transport.shutdown()
    await talkdesk.server.stop()
    try result.get()
  }

  private func fault(_ json: String, _ talkdesk: LocalTalkdesk, _ transport: CurlTransport) async throws {
    let answer = try await transport.send(
      OutboundRequest(
        method: .post, url: talkdesk.server.baseURL + "/_sandbox/faults", content: Array(json.utf8),
        timeout: .seconds(20)))
    #expect(answer.status == 201)
  }

  @Test(
    arguments: [
      (#""drop":"before""#, "unavailable", true), (#""drop":"after""#, "unavailable", true),
      (#""drop":"during""#, "accepted", false), (#""status":401"#, "refused", false),
      (#""status":429,"retry_after":1"#, "refused", false), (#""status":500"#, "unavailable", true),
      (#""status":503,"retry_after":0"#, "unavailable", false), (#""status":302"#, "unavailable", true),
      (#""delay_ms":5000"#, "unavailable", true),
    ])
  func `one request arrives`(fault: String, verdict: String, isUnknown: Bool) async throws {
    try await emulated(timeout: "1s") { talkdesk, transport, drill in
      try await self.fault(#"{"endpoint":"callback","times":5,\#(fault)}"#, talkdesk, transport)
      let report = await drill.run(transport: transport, clock: SystemClock())
      #expect("\(report.verdict)" == verdict)
      #expect(report.closing.joined().contains("the phone may ring") == isUnknown)
      #expect(talkdesk.server.emulator.journal.callbacksJSON["arrivals"] == 1)
    }
  }

  @Test func `the steps are measured, and a sandbox with the facts answers the same`() async throws {
    var first: [UInt8] = []
    try await emulated { talkdesk, transport, drill in
      try await fault(
        #"{"endpoint":"callback","status":202,"body":{"a":"b"},"delay_ms":30}"#, talkdesk, transport)
      try await fault(#"{"endpoint":"token","expires_in":1234}"#, talkdesk, transport)
      let report = await drill.run(transport: transport, clock: SystemClock())
      #expect(report.verdict == .accepted)
      first = try #require(report.facts)
      let steps = try #require(try JSONValue(parsing: first)["callback"]?["duration_ms"])
      #expect(try #require(steps["first_byte"]?.int) >= 30)
      #expect(steps["tls"] == 0)
    }
    let facts = try AccountFacts(parsing: first)
    try await emulated(facts: facts) { talkdesk, transport, drill in
      let report = await drill.run(transport: transport, clock: SystemClock())
      let (one, two) = (try JSONValue(parsing: first), try JSONValue(parsing: try #require(report.facts)))
      for name in ["status", "content_type", "content"] {
        #expect(one["callback"]?[name] == two["callback"]?[name])
      }
      #expect(one["token"] == two["token"] && two["token"]?["expires_in"] == 1234)
      #expect(talkdesk.server.emulator.journal.callbacksJSON["rings"]?[Self.contact] == 1)
    }
  }
}
