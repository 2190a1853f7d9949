// Tests of which trace a token request carries.

import HTTP
import Platform
import TestSupport
import Testing

@testable import Talkdesk
@testable import Tokens

/// Exchanges continue the trace of the request for which they are made.
@Suite(.timeLimit(.minutes(1))) struct TracedExchangeTests {
  private let time = ManualTime()
  private let recorder = Recorder()

  private func source(
    _ transport: ScriptedTransport, policy: TokenPolicy = TokenPolicy(), retry: RetryPolicy = .never
  ) throws -> (TokenSource, TokenSource.ScopeID) {
    let source = TokenSource(
      issuer: try TalkdeskID.scripted(transport, time, retry: retry), policy: policy, time: time,
      observer: recorder, jitter: { 0.5 })
    return (source, source.scopeID("callback:write"))
  }

  private func trace(_ digit: Character) throws -> TraceContext {
    let text = "00-\(String(repeating: digit, count: 32))-\(String(repeating: digit, count: 16))-01"
    return try #require(TraceContext(Array(text.utf8)))
  }

  private func sent(_ transport: ScriptedTransport, _ number: Int) -> TraceContext? {
    transport.requests[number].fields["traceparent"].flatMap { TraceContext(Array($0.utf8)) }
  }

  @Test func `of all who wait for an exchange the first gives it its trace`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    let (first, second) = (try trace("a"), try trace("b"))
    let recorder = recorder
    async let one = source.token(scope, trace: first)
    try await eventually { recorder.count(.miss) == 1 }
    async let other = source.token(scope, trace: second)
    try await eventually { recorder.count(.joined) == 1 }
    try await transport.answer(0, .token("t"))
    _ = try await (one, other)
    let carried = try #require(sent(transport, 0))
    #expect(carried.traceID == first.traceID)
    // The exchange has a span of its own, which is also in the report.
    #expect(carried.spanID != first.spanID)
    #expect(recorder.reports.map(\.trace) == [carried])
  }

  @Test func `without a trace none is made up`() async throws {
    let transport = ScriptedTransport { _, _ in .token("t") }
    let (source, scope) = try source(transport)
    _ = try await source.token(scope)
    #expect(transport.requests[0].fields["traceparent"] == nil)
    #expect(recorder.reports.map(\.trace) == [nil])
  }

  @Test func `a repetition is another span of the same trace`() async throws {
    let transport = ScriptedTransport { number, _ in number == 0 ? .status(503) : .token("t") }
    let wanted = try trace("c")
    let client = try TalkdeskID.scripted(transport, time, retry: RetryPolicy())
    let time = time
    async let token = client.exchange(
      scope: "callback:write", deadline: time.now + .seconds(10), trace: wanted)
    try await eventually { !time.due.isEmpty }
    time.advance(by: .seconds(5))
    _ = try await token
    let spans = (0..<2).map { sent(transport, $0) }
    #expect(spans.someAndAll { $0?.traceID == wanted.traceID })
    #expect(spans[0]?.spanID != spans[1]?.spanID)
  }

  @Test func `exchanges for one request each carry its own trace`() async throws {
    let transport = ScriptedTransport()
    var policy = TokenPolicy()
    policy.share = false
    // The second request waits for its turn and keeps its trace.
    policy.separateExchanges = 1
    let (source, scope) = try source(transport, policy: policy)
    let (first, second) = (try trace("d"), try trace("e"))
    async let one = source.token(scope, trace: first)
    try await eventually { transport.held == [0] }
    async let other = source.token(scope, trace: second)
    let recorder = recorder
    try await eventually { recorder.count(.miss) == 2 }
    #expect(transport.held == [0])
    try await transport.answer(0, .token("t-0"))
    try await transport.answer(1, .token("t-1"))
    _ = try await (one, other)
    #expect(sent(transport, 0)?.traceID == first.traceID)
    #expect(sent(transport, 1)?.traceID == second.traceID)
  }
}
