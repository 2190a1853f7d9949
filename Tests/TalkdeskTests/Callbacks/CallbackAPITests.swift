// Tests of the requests to Talkdesk's Callback API, and of how each response is read.

import HTTP
import Platform
import TestSupport
import Testing

@testable import Talkdesk
@testable import Tokens

@Suite struct CallbackAPITests {
  private static func token(_ secret: String = "secret-token") -> AccessToken {
    AccessToken(
      token: Array(secret.utf8), scope: "callback:write", clientID: "client-1",
      obtainedAt: MonotonicTime(nanoseconds: 0), lifetime: .seconds(600))
  }

  private static func send(
    _ answer: ScriptedTransport.Answer, traceparent: String? = nil
  ) async throws -> (report: CallbackReport, requests: [OutboundRequest]) {
    let transport = ScriptedTransport { _, _ in answer }
    let api = CallbackAPI(
      endpoints: TalkdeskEndpoints(account: "acme"), transport: transport, time: ManualTime())
    let report = await api.request(
      OutboundContent(Array("{}".utf8)), token: token(), traceparent: traceparent, timeout: .seconds(7))
    return (report, transport.requests)
  }

  @Test func `one request goes out, on a connection of its own`() async throws {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    let (_, requests) = try await Self.send(.status(201), traceparent: trace)
    try #require(requests.count == 1)
    let request = requests[0]
    #expect(request.method == .post && request.url == "https://api.talkdeskapp.com/calls/callback")
    #expect(request.reuse == .never && request.timeout == .seconds(7))
    #expect(request.fields["Authorization"] == "Bearer secret-token")
    #expect(request.fields["Content-Type"] == "application/json")
    #expect(request.fields["traceparent"] == trace)
    #expect(request.fields["Host"] == nil)
    #expect(request.content.elementsEqual("{}".utf8))
  }

  @Test func `each request carries its own token and trace, whatever the one before it carried`() async throws
  {
    let transport = ScriptedTransport { _, _ in .status(201) }
    let api = CallbackAPI(
      endpoints: TalkdeskEndpoints(account: "acme"), transport: transport, time: ManualTime())
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    let (old, new) = (Self.token("old"), Self.token("new"))
    for (token, traceparent) in [(old, trace), (old, nil), (new, nil), (new, trace), (old, nil)] {
      _ = await api.request(OutboundContent([]), token: token, traceparent: traceparent, timeout: .seconds(1))
    }
    let fields = transport.requests.map(\.fields)
    #expect(fields.map { $0["Authorization"] } == ["old", "old", "new", "new", "old"].map { "Bearer \($0)" })
    #expect(fields.map { $0["traceparent"] } == [trace, nil, nil, trace, nil])
  }

  @Test(arguments: [
    "", "x", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nX: y",
  ]) func `a traceparent that is none is not passed on`(text: String) async throws {
    let (_, requests) = try await Self.send(.status(201), traceparent: text)
    #expect(requests[0].fields["traceparent"] == nil)
  }

  @Test(arguments: [
    (200, "accepted", CallbackOutcome.Certainty.accepted), (201, "accepted", .accepted),
    (202, "accepted", .accepted), (204, "accepted", .accepted), (299, "accepted", .accepted),
    (400, "rejected", .notAccepted), (415, "rejected", .notAccepted), (422, "rejected", .notAccepted),
    (401, "unauthorized", .notAccepted), (403, "forbidden", .notAccepted),
    (429, "rate_limited", .notAccepted), (503, "unavailable", .notAccepted),
    (402, "refused", .notAccepted), (404, "refused", .notAccepted), (409, "refused", .notAccepted),
    (413, "refused", .notAccepted), (499, "refused", .notAccepted),
    (301, "unknown", .unknown), (303, "unknown", .unknown), (408, "unknown", .unknown),
    (500, "unknown", .unknown), (502, "unknown", .unknown), (504, "unknown", .unknown),
    (599, "unknown", .unknown),
  ]) func `the status alone decides, whatever the content`(
    status: Int, label: String, certainty: CallbackOutcome.Certainty
  ) async throws {
    let contents = [
      "", "{}", "<html><body>Bad gateway</body></html>", "{", "[]", #"{"fields":7}"#, #"{"fields":[7,{}]}"#,
      String(repeating: "x", count: 64 * 1024), String(repeating: "[", count: 60_000),
    ]
    for content in contents {
      let (report, requests) = try await Self.send(.status(status, content))
      #expect(report.outcome.label == label)
      #expect(report.outcome.certainty == certainty)
      #expect(report.status == status)
      #expect(requests.count == 1)
    }
  }

  @Test(arguments: [
    (TransportError.Reason.nameResolution, false), (.connect, false), (.tls, false), (.timedOut, false),
    (.cancelled, false), (.invalidURL, false), (.timedOut, true), (.connectionLost, true),
    (.malformedResponse, true), (.responseTooLarge, true), (.cancelled, true),
  ]) func `without an answer only what was not sent is certain`(
    reason: TransportError.Reason, sent: Bool
  ) async throws {
    let (report, requests) = try await Self.send(.lost(reason, sent: sent))
    #expect(report.outcome.label == (sent ? "unknown" : "unreachable"))
    #expect(report.outcome.certainty == (sent ? .unknown : .notAccepted))
    #expect(report.status == nil && requests.count == 1)
  }

  @Test func `a status that came counts, though the content did not`() async throws {
    let head = InboundResponse(status: 201, fields: ["platform-tid": "tid-1"], content: [])
    let error = TransportError(.responseTooLarge, sent: true, detail: "scripted", head: head)
    let (report, _) = try await Self.send(.fail(error))
    #expect(report.outcome.label == "accepted" && report.platformTID == "tid-1")
  }

  @Test func `Talkdesk's fields and code come through bounded and printable`() async throws {
    let token = String(repeating: "A", count: 80)
    let fields = (0..<30).map { #"{"name":"context.fields[\#($0)].value","description":"bad \#(token)"}"# }
    let content =
      #"{"code":"0200<x>","message":"The \u0007 body","fields":[{"name":"a b\r\n","description":"no"},"#
      + fields.joined(separator: ",") + "]}"
    let (report, _) = try await Self.send(.status(422, content, fields: ["platform-tid": "t:1"]))
    guard case .rejected(422, let kept) = report.outcome else {
      Issue.record("not rejected")
      return
    }
    #expect(kept.count == CallbackRejection.maximumCount)
    #expect(kept[0] == CallbackRejection(name: "a_b__", description: "no"))
    #expect(kept[1] == CallbackRejection(name: "context.fields[0].value", description: "bad […]"))
    #expect(report.code == "0200_x_" && report.message == "The ? body" && report.platformTID == "t:1")
  }

  @Test func `the wait of a 429 and a 503 is read and bounded`() async throws {
    for (text, wait) in [("5", Duration.seconds(5)), ("300", .seconds(300)), ("86400", .seconds(3600))] {
      let limited = try await Self.send(.status(429, fields: ["Retry-After": text])).report
      guard case .rateLimited(let first) = limited.outcome else {
        Issue.record("not limited")
        return
      }
      let closed = try await Self.send(.status(503, fields: ["Retry-After": text])).report
      guard case .unavailable(let second) = closed.outcome else {
        Issue.record("not unavailable")
        return
      }
      #expect(first == wait && second == wait)
    }
  }
}
