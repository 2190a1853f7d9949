// Tests of the stream of available agents: what it reports, and what it never reports.

import HTTP
import Platform
import Synchronization
import Talkdesk
import TestSupport
import Testing
import Tokens

/// A value that tasks share.
private final class Shared<Value: Sendable>: Sendable {
  private let mutex: Mutex<Value>
  init(_ value: Value) { mutex = Mutex(value) }
  var value: Value {
    get { mutex.withLock { $0 } }
    set { mutex.withLock { $0 = newValue } }
  }
}

/// A Live API on a scripted network: streams stay open until a test ends them.
private final class LiveFixture: Sendable {
  static let queries =
    #"{"total":1,"_embedded":{"queries":[{"id":"q1","name":"agents-available","params":[],"filters":[]}]}}"#
  let time = ManualTime()
  let network: ScriptedTransport
  let agents: LiveAgents
  let issuer: TalkdeskID
  let settings: LiveSettings
  let source: Shared<LiveAgents.Source?>
  let failures = Shared<[String]>([])
  private let task: Task<Void, Never>

  init(
    _ settings: LiveSettings = LiveSettings(query: "agents-available", ringGroup: "sales"),
    link: String = "/live-subscriptions/s1/stream?token=canary",
    stream: @escaping @Sendable (OutboundRequest) -> ScriptedTransport.Answer = { _ in .hold }
  ) throws {
    self.settings = settings
    network = ScriptedTransport { _, request in
      switch request.url.dropFirst("https://".count).drop(while: { $0 != "/" }) {
      case "/oauth/token": .token("a-token", scope: LiveAPI.scope)
      case let path where path.hasPrefix("/live-queries"): .status(200, Self.queries)
      case "/live-subscriptions": .status(200, #"{"id":"s1","_links":{"stream":{"href":"\#(link)"}}}"#)
      default: stream(request)
      }
    }
    issuer = try .scripted(network, time)
    source = Shared(LiveAgents.Source(settings, apiURL: "https://api.example"))
    agents = LiveAgents(
      transport: network, clock: time, onFailure: { [failures] in failures.value.append($0) },
      jitter: { 0.5 })
    task = Task { [agents, source, issuer] in
      await agents.run(source: { source.value }, issuer: { issuer })
    }
  }

  deinit { task.cancel() }

  var current: Int64? { agents.current(settings)?.available }
  func sent(_ path: String) -> [OutboundRequest] { network.requests.filter { $0.url.contains(path) } }
  var streams: [OutboundRequest] { sent("/stream") }

  /// The request number of the last stream, once `count` streams have been opened.
  func opened(_ count: Int) async throws -> Int {
    try await eventually { self.streams.count >= count && self.network.held.count == 1 }
    return try #require(network.held.first)
  }

  /// Sends octets on the last stream.
  @discardableResult func send(_ text: String) throws -> Bool {
    let take = try #require(streams.last?.onContent)
    return take(Array(text.utf8))
  }

  func end(_ number: Int) async throws { try await network.answer(number, .status(200)) }

  /// Lets time pass until a condition is true, at most for a span.
  func pass(upTo span: Duration, until condition: @escaping @Sendable () -> Bool) async throws {
    let end = time.now + span
    while !condition(), time.now < end {
      try await eventually { self.time.sleeperCount > 0 || condition() }
      if condition() { return }
      guard let next = time.due.first else { continue }
      time.advance(to: min(next, end))
      for _ in 0..<20 { await Task.yield() }
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct LiveAgentsTests {
  private let three = "event:result\ndata:{\"result\":{\"value\":3}}\n\n"

  @Test func `a result is known until it is stale, and no result does not mean zero`() async throws {
    let live = try LiveFixture()
    _ = try await live.opened(1)
    #expect(live.current == nil)
    try live.send(three)
    #expect(live.current == 3)
    #expect(live.agents.current(live.settings)?.asOf == live.time.unixTime)
    let body = String(
      decoding: live.sent("/live-subscriptions").first.map { Array($0.content) } ?? [], as: UTF8.self)
    #expect(body.contains(#""ring_groups":["sales"]"#) && body.contains(#""id":"q1""#), "\(body)")
    live.time.advance(by: .seconds(120))
    #expect(live.current == 3)
    live.time.advance(by: .milliseconds(1))
    #expect(live.current == nil)
  }

  @Test func `of a flood a hundred results a second are read, and the newest counts within a second`()
    async throws
  {
    let live = try LiveFixture()
    _ = try await live.opened(1)
    func results(_ numbers: ClosedRange<Int>) -> String {
      numbers.map { "event:result\ndata:{\"result\":{\"value\":\($0)}}\n\n" }.joined()
    }
    try live.send(results(1...5000))
    let atOnce = try #require(live.current)
    #expect(atOnce <= 100, "the others are skipped")
    try await live.pass(upTo: .seconds(1)) { live.current == 5000 }
    #expect(live.current == 5000)
    // A skipped result never replaces a later one.
    live.time.advance(by: .seconds(1))
    try live.send(results(1...200) + ": ping\n\nevent:ping\ndata:1\n\n")
    live.time.advance(by: .seconds(1))
    try live.send(results(7...7))
    try await live.pass(upTo: .seconds(2)) { live.current != 7 }
    #expect(live.current == 7)
  }

  @Test func `an error that was skipped ends the number, too`() async throws {
    let live = try LiveFixture()
    let first = try await live.opened(1)
    for _ in 0..<200 { try live.send(three) }
    try live.send("event:error\ndata:{}\n\n")
    #expect(live.current == 3)
    try await live.pass(upTo: .seconds(10)) { live.current == nil && live.streams.count >= 2 }
    #expect(live.current == nil && live.sent("/live-queries").count == 2)
    _ = first
  }

  @Test func `a stream that never sends is given up, and another one is opened`() async throws {
    let live = try LiveFixture()
    _ = try await live.opened(1)
    try await live.pass(upTo: .seconds(100)) { live.streams.count >= 2 }
    #expect(live.streams.count == 2 && live.current == nil)
    #expect(live.sent("/live-queries").count == 1, "the subscription still lives")
  }

  @Test func `an error of the query ends the number, and another subscription is made`() async throws {
    let live = try LiveFixture()
    let first = try await live.opened(1)
    try live.send(three)
    #expect(try live.send("event:error\ndata:{\"message\"=>\"gone\", :status=>3}\n\n") == false)
    #expect(live.current == nil)
    try await live.network.answer(first, .lost())
    try await live.pass(upTo: .seconds(10)) { live.streams.count >= 2 }
    #expect(live.sent("/live-queries").count == 2)
    try live.send(three)
    #expect(live.current == 3)
  }

  @Test(arguments: [
    "event:result\ndata:{\"result\"=>3}\n\n", "event:result\ndata:{\"result\":{\"other\":7}}\n\n",
  ])
  func `a result that cannot be read ends the number`(text: String) async throws {
    let live = try LiveFixture()
    _ = try await live.opened(1)
    try live.send(three)
    try live.send(text)
    #expect(live.current == nil)
  }

  @Test func `a line without an end is given up`() async throws {
    let live = try LiveFixture()
    _ = try await live.opened(1)
    try live.send(three)
    #expect(try live.send(String(repeating: "x", count: EventStreamReader.mostBytes)))
    #expect(try live.send("x") == false)
    #expect(live.current == nil)
  }

  @Test func `a stream that ends each second is opened less and less often, within two minutes`() async throws
  {
    let live = try LiveFixture { [three] request in
      _ = request.onContent?(Array(three.utf8))
      return .status(200)
    }
    let start = live.time.now
    try await live.pass(upTo: .seconds(900)) { live.time.now - start >= .seconds(900) }
    #expect((15...30).contains(live.streams.count), "\(live.streams.count)")
    #expect(live.sent("/live-queries").count == 1)
    #expect(live.current == 3)
  }

  @Test func `a compressed stream is named as such`() async throws {
    let head = InboundResponse(status: 200, fields: ["Content-Encoding": "gzip"], content: [])
    let error = TransportError(.malformedResponse, sent: true, detail: "", head: head)
    let live = try LiveFixture { _ in .fail(error) }
    try await live.pass(upTo: .seconds(60)) { !live.failures.value.isEmpty }
    #expect(live.failures.value.first?.contains("Content-Encoding: gzip") == true)
    #expect(live.current == nil)
  }

  @Test func `a subscription that Talkdesk has lost is made again`() async throws {
    let live = try LiveFixture { _ in .status(404) }
    try await live.pass(upTo: .seconds(30)) { live.sent("/live-queries").count >= 2 }
    #expect(live.sent("/live-queries").count >= 2 && live.current == nil)
  }

  @Test func `a subscription is renewed before its day ends`() async throws {
    let live = try LiveFixture()
    _ = try await live.opened(1)
    let start = live.time.now
    while live.sent("/live-queries").count < 2, live.time.now - start < .seconds(86_400) {
      _ = live.streams.last?.onContent?(Array(": ping\n".utf8))
      live.time.advance(by: .seconds(30))
      try await eventually { live.time.sleeperCount > 0 || live.sent("/live-queries").count >= 2 }
      for _ in 0..<20 { await Task.yield() }
    }
    #expect(live.sent("/live-queries").count == 2)
    #expect(live.time.now - start > .seconds(75_000) && live.time.now - start < .seconds(86_400))
    // The stream is opened once the subscription exists.
    _ = try await live.opened(2)
  }

  @Test(arguments: [
    "https://evil.example/live-subscriptions/s1/stream", "https://api.example.evil.example/stream",
    "//evil.example/stream",
    "http://api.example/stream", "https://api.example@evil.example/stream",
  ])
  func `no token goes to another host`(link: String) async throws {
    let live = try LiveFixture(link: link)
    try await live.pass(upTo: .seconds(10)) { !live.failures.value.isEmpty }
    #expect(live.streams.isEmpty)
    #expect(live.failures.value.first?.contains("another host") == true)
  }

  @Test func `a query that does not exist is reported once`() async throws {
    let live = try LiveFixture(LiveSettings(query: "agents"))
    let start = live.time.now
    try await live.pass(upTo: .seconds(600)) { live.time.now - start >= .seconds(600) }
    #expect(live.failures.value.count == 1)
    #expect(live.failures.value.first?.contains("no query of this name") == true)
  }

  @Test func `settings that are removed end the number`() async throws {
    let live = try LiveFixture()
    _ = try await live.opened(1)
    try live.send(three)
    live.source.value = nil
    try await live.pass(upTo: .seconds(5)) { live.current == nil }
    #expect(live.current == nil)
  }
}
