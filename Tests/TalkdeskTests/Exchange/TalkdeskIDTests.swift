// Tests of token requests to Talkdesk ID, and of how each response is read.

import HTTP
import JOSE
import Platform
import TestSupport
import Testing

@testable import Talkdesk
@testable import Tokens

@Suite struct TalkdeskIDTests {
  private let time = ManualTime()

  /// One exchange with the given deadline. The clock moves whenever the exchange sleeps.
  private func exchange(
    _ id: TalkdeskID, scope: String = "callback:write", within: Duration = .seconds(10),
    _ recorder: Recorder = Recorder()
  ) async -> Result<AccessToken, TokenExchangeError> {
    let time = time
    let sleeper = Task {
      while !Task.isCancelled {
        if let next = time.due.first { time.advance(to: next) }
        await Task.yield()
      }
    }
    defer { sleeper.cancel() }
    do throws(TokenExchangeError) {
      return .success(
        try await id.exchange(scope: scope, deadline: time.now + within, observe: recorder.note))
    } catch {
      return .failure(error)
    }
  }

  private func form(_ request: OutboundRequest) -> [String: String] {
    var fields: [String: String] = [:]
    for pair in String(decoding: request.content, as: UTF8.self).split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
      fields[parts[0]] = parts[1]
    }
    return fields
  }

  @Test func `an assertion travels in a form of RFC 7523`() async throws {
    let transport = ScriptedTransport { _, _ in .token("t-1") }
    let id = try TalkdeskID.scripted(transport, time, credentials: [.key("kid-1", clientID: "client 1")])
    let token = try await exchange(id).get()
    #expect(token.text == "t-1")
    #expect(token.clientID == "client 1")
    let request = try #require(transport.requests.first)
    #expect(request.method == .post)
    #expect(request.url == "https://acme.talkdeskid.com/oauth/token")
    #expect(request.fields["Content-Type"] == "application/x-www-form-urlencoded")
    #expect(request.fields["Accept"] == "application/json")
    #expect(request.fields["Authorization"] == nil)
    #expect(request.maximumContentLength == 65_536)
    #expect(request.timeout == .seconds(10))
    let fields = form(request)
    #expect(
      Set(fields.keys) == [
        "grant_type", "scope", "client_id", "client_assertion_type", "client_assertion",
      ])
    #expect(fields["grant_type"] == "client_credentials")
    #expect(fields["scope"] == "callback%3Awrite")
    #expect(fields["client_id"] == "client+1")
    #expect(
      fields["client_assertion_type"] == "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer")
  }

  @Test func `a secret travels in HTTP Basic, form-encoded first`() async throws {
    let transport = ScriptedTransport { _, _ in .token("t-1") }
    let secret = ClientCredential.secret(clientID: "a:b", secret: Secret(Array("p %:é".utf8)))
    _ = try await exchange(TalkdeskID.scripted(transport, time, credentials: [secret])).get()
    let request = try #require(transport.requests.first)
    // a%3Ab:p+%25%3A%C3%A9
    #expect(request.fields["Authorization"] == "Basic YSUzQWI6cCslMjUlM0ElQzMlQTk=")
    #expect(Set(form(request).keys) == ["grant_type", "scope"])
  }

  @Test func `a token's life counts from when it was asked for`() async throws {
    let transport = ScriptedTransport()
    let id = try TalkdeskID.scripted(transport, time)
    let sent = time.now
    let (clock, deadline) = (time, time.now + .seconds(10))
    async let pending = id.exchange(scope: "callback:write", deadline: deadline)
    try await eventually { transport.count == 1 }
    clock.advance(by: .seconds(4))
    try await transport.answer(0, .token("t-1", expiresIn: "600"))
    let token = try await pending
    #expect(token.obtainedAt == sent)
    #expect(token.expiresAt == Expiry(sent + .seconds(600)))
    #expect(token.remaining(at: clock.now) == .seconds(596))
    #expect(token.lifetime == .seconds(600))
    #expect(token.tokenType == "Bearer")
  }

  @Test func `a token prints only its fingerprint`() {
    let token = AccessToken(
      token: Array("very-secret-token".utf8), scope: "s", clientID: "c",
      obtainedAt: MonotonicTime(nanoseconds: 0), lifetime: nil)
    var dumped = ""
    dump(token, to: &dumped)
    for text in ["\(token)", String(reflecting: token), dumped] { #expect(!text.contains("very-secret")) }
    #expect("\(token)".contains(token.sha256.prefix(16)))
    #expect(token.sha256.utf8.count == 64)
  }

  // MARK: Failures

  private func label(_ answer: ScriptedTransport.Answer) async throws -> String {
    let transport = ScriptedTransport { _, _ in answer }
    switch await exchange(try TalkdeskID.scripted(transport, time)) {
    case .success: return "success"
    case .failure(let error): return error.label
    }
  }

  @Test(
    arguments: [
      (200, "empty", "unusable_reply"), (204, "", "unusable_reply"), (301, "", "unusable_reply"),
      (400, "{}", "refused"), (401, "<html>", "refused"), (403, "", "refused"),
      (404, "<html>", "unusable_reply"),
      (405, "", "unusable_reply"), (408, "", "unavailable"), (418, "", "unusable_reply"),
      (429, "", "rate_limited"),
      (500, "", "unavailable"), (502, "<html>", "unavailable"), (503, "{", "unavailable"),
      (599, "", "unavailable"),
    ] as [(Int, String, String)])
  func `a status alone says what a failure is`(status: Int, content: String, label: String) async throws {
    #expect(try await self.label(.status(status, content)) == label)
  }

  @Test func `a token that comes compressed is refused with the name of the coding`() async throws {
    let response = InboundResponse(
      status: 200, fields: ["Content-Encoding": "gzip"], content: [0x1F, 0x8B, 8])
    let transport = ScriptedTransport { _, _ in .reply(response) }
    guard case .failure(.unusableReply(let reason)) = await exchange(try TalkdeskID.scripted(transport, time))
    else {
      Issue.record("accepted")
      return
    }
    #expect(reason == .compressed("gzip"))
  }

  @Test func `any success with a token will do`() async throws {
    #expect(try await label(.status(201, #"{"access_token":"t"}"#)) == "success")
  }

  @Test(
    arguments: [
      (TransportError.Reason.timedOut, "timed_out"), (.malformedResponse, "unusable_reply"),
      (.responseTooLarge, "unusable_reply"), (.connect, "unreachable"), (.nameResolution, "unreachable"),
      (.tls, "unreachable"), (.connectionLost, "unreachable"), (.invalidURL, "unreachable"),
      (.cancelled, "unreachable"),
    ] as [(TransportError.Reason, String)])
  func `a transport's failures have errors of their own`(reason: TransportError.Reason, label: String)
    async throws
  {
    #expect(try await self.label(.lost(reason)) == label)
  }

  @Test func `a time-out keeps whether anything was sent`() async throws {
    for sent in [true, false] {
      let transport = ScriptedTransport { _, _ in .lost(.timedOut, sent: sent) }
      guard case .failure(.timedOut(let told)) = await exchange(try .scripted(transport, time)) else {
        Issue.record("no time-out")
        continue
      }
      #expect(told == sent)
    }
  }

  @Test func `a refusal keeps its code and nothing else of upstream's words`() async throws {
    let transport = ScriptedTransport { _, _ in
      .status(401, #"{"error":"invalid_scope","error_description":"scope not granted to acme"}"#)
    }
    let recorder = Recorder()
    let result = await exchange(try .scripted(transport, time), within: .seconds(10), recorder)
    guard case .failure(let error) = result, case .refused(401, "invalid_scope") = error else {
      Issue.record("\(result)")
      return
    }
    #expect(!"\(error)".contains("granted"))
    #expect(recorder.reports.first?.errorDescription == "scope not granted to acme")
  }

  @Test func `a wait that is asked for is kept`() async throws {
    let limited = ScriptedTransport { _, _ in .status(429, fields: ["retry-after": "7"]) }
    guard case .failure(.rateLimited(.seconds(7))) = await exchange(try .scripted(limited, time)) else {
      Issue.record("no wait")
      return
    }
    let down = ScriptedTransport { _, _ in .status(503, fields: ["Retry-After": "8"]) }
    guard case .failure(.unavailable(503, .seconds(8))) = await exchange(try .scripted(down, time)) else {
      Issue.record("no wait")
      return
    }
  }

  // MARK: Repetition

  @Test func `what fails in passing is repeated twice, jittered`() async throws {
    let transport = ScriptedTransport { number, _ in
      [.status(503), .lost(.connect, sent: false), .token("t-3")][number]
    }
    let recorder = Recorder()
    let start = time.now
    let id = try TalkdeskID.scripted(transport, time, retry: RetryPolicy(), unit: 0.5)
    let token = try await exchange(id, within: .seconds(10), recorder).get()
    #expect(token.text == "t-3")
    #expect(recorder.reports.map(\.attempt) == [1, 2, 3])
    #expect(recorder.reports.map(\.label) == ["unavailable", "unreachable", "success"])
    // 0.2 + (1 - 0.2) / 2, then 0.2 + (2 - 0.2) / 2
    #expect(
      recorder.reports.map { $0.startedAt - start } == [.zero, .milliseconds(600), .milliseconds(1700)])
  }

  @Test func `after two repetitions it has failed`() async throws {
    let transport = ScriptedTransport { _, _ in .status(500) }
    let id = try TalkdeskID.scripted(transport, time, retry: RetryPolicy())
    guard case .failure(.unavailable(500, nil)) = await exchange(id) else {
      Issue.record("no failure")
      return
    }
    #expect(transport.count == 3)
  }

  @Test(
    arguments: [
      .status(400), .status(401), .status(403), .status(404), .status(429), .status(200), .status(200, "{}"),
      .status(503, fields: ["Retry-After": "1"]), .lost(.tls), .lost(.timedOut), .lost(.malformedResponse),
      .lost(.responseTooLarge), .lost(.invalidURL), .lost(.cancelled),
    ] as [ScriptedTransport.Answer])
  func `what would fail again is not repeated`(answer: ScriptedTransport.Answer) async throws {
    let transport = ScriptedTransport { _, _ in answer }
    _ = await exchange(try .scripted(transport, time, retry: RetryPolicy()))
    #expect(transport.count == 1)
  }

  @Test func `no repetition begins that the deadline would cut off`() async throws {
    let transport = ScriptedTransport { _, _ in .status(500) }
    let id = try TalkdeskID.scripted(transport, time, retry: RetryPolicy(), unit: 0.5)
    // The second retry would begin at 1.7 s and needs a quarter of a second.
    _ = await exchange(id, within: .milliseconds(1950))
    #expect(transport.count == 2)
    #expect(transport.requests[1].timeout == .milliseconds(1350))
    _ = await exchange(id, within: .milliseconds(1951))
    #expect(transport.count == 5)
  }

  @Test func `delays are full jitter between 0.2 s and a ceiling that doubles to 2 s`() {
    let policy = RetryPolicy()
    #expect(policy.delay(before: 1, unit: 0) == .milliseconds(200))
    #expect(policy.delay(before: 1, unit: 1) == .seconds(1))
    #expect(policy.delay(before: 2, unit: 0) == .milliseconds(200))
    #expect(policy.delay(before: 2, unit: 1) == .seconds(2))
  }

  @Test func `a repetition brings a new assertion`() async throws {
    let transport = ScriptedTransport { _, _ in .status(500) }
    _ = await exchange(try .scripted(transport, time, credentials: [.key()], retry: RetryPolicy()))
    #expect(Set(transport.requests.map { form($0)["client_assertion"] }).count == 3)
  }

  // MARK: Several credentials

  private func twoKeys(_ first: ScriptedTransport.Answer) throws -> (ScriptedTransport, TalkdeskID) {
    let transport = ScriptedTransport { _, request in
      let content = String(decoding: request.content, as: UTF8.self)
      return content.contains("client_id=next") ? first : .token("from-current")
    }
    let keys: [ClientCredential] = [
      try .key("kid-next", clientID: "next"), try .key("kid-current", clientID: "current"),
    ]
    return (transport, try .scripted(transport, time, credentials: keys, retry: RetryPolicy()))
  }

  @Test(
    arguments: [
      .status(401, #"{"error":"invalid_client"}"#), .status(400, #"{"error":"invalid_client"}"#),
      .status(401),
    ] as [ScriptedTransport.Answer])
  func `the current key serves where the next one is not known yet`(
    answer: ScriptedTransport.Answer
  ) async throws {
    let (transport, id) = try twoKeys(answer)
    let recorder = Recorder()
    let token = try await exchange(id, within: .seconds(10), recorder).get()
    #expect(token.text == "from-current")
    #expect(token.clientID == "current")
    #expect(transport.count == 2)
    #expect(recorder.reports.map(\.credential) == ["kid-next", "kid-current"])
    #expect(recorder.reports.map(\.label) == ["refused", "success"])
  }

  @Test func `the next key serves as soon as it is accepted`() async throws {
    let (transport, id) = try twoKeys(.token("from-next"))
    #expect(try await exchange(id).get().text == "from-next")
    #expect(transport.count == 1)
  }

  @Test(
    arguments: [
      .status(400, #"{"error":"invalid_scope"}"#), .status(403), .status(429), .status(200),
    ] as [ScriptedTransport.Answer])
  func `a failure that is not the key's tries no other key`(answer: ScriptedTransport.Answer) async throws {
    let (transport, id) = try twoKeys(answer)
    guard case .failure = await exchange(id) else {
      Issue.record("no failure")
      return
    }
    #expect(transport.count == 1)
  }

  // MARK: Observation

  @Test(arguments: [
    (0, 0, false), (30, 30, false), (31, 31, true), (-30, -30, false), (-31, -31, true), (600, 600, true),
  ])
  func `a clock that is off is seen by the reply's date`(ahead: Int64, skew: Int, isOff: Bool) async throws {
    // 2027-01-15T08:00:00Z is 1 800 000 000.
    time.stepWallClock(by: -ahead)
    let transport = ScriptedTransport { _, _ in
      .status(
        200, #"{"access_token":"t"}"#,
        fields: ["Date": "Fri, 15 Jan 2027 08:00:00 GMT", "Platform-TID": "tid-1"])
    }
    let recorder = Recorder()
    _ = try await exchange(try .scripted(transport, time), within: .seconds(10), recorder).get()
    let report = try #require(recorder.reports.first)
    #expect(report.clockSkew == .seconds(skew))
    #expect(report.clockIsOff == isOff)
    #expect(report.platformTID == "tid-1")
    #expect(report.status == 200)
  }

  @Test func `a reply without a date tells nothing of the clock`() async throws {
    let recorder = Recorder()
    let transport = ScriptedTransport { _, _ in .token("t") }
    _ = try await exchange(try .scripted(transport, time), within: .seconds(10), recorder).get()
    #expect(recorder.reports.first?.clockSkew == nil)
    #expect(recorder.reports.first?.clockIsOff == false)
  }
}
