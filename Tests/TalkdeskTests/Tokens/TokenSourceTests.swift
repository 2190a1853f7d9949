// Tests of how tasks share tokens, token requests and failures.

import HTTP
import JOSE
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Talkdesk
@testable import Tokens

@Suite(.timeLimit(.minutes(1))) struct TokenSourceTests {
  private let time = ManualTime()
  private let recorder = Recorder()

  private func source(
    _ transport: ScriptedTransport, policy: TokenPolicy = TokenPolicy(), retry: RetryPolicy = .never,
    credentials: [ClientCredential]? = nil, unit: Double = 0.5
  ) throws -> (TokenSource, TokenSource.ScopeID) {
    let source = TokenSource(
      issuer: try TalkdeskID.scripted(transport, time, credentials: credentials, retry: retry),
      policy: policy,
      time: time, observer: recorder, jitter: { unit })
    return (source, source.scopeID("callback:write"))
  }

  /// Requests a token. Returns its text, or the error.
  private func ask(
    _ source: TokenSource, _ scope: TokenSource.ScopeID, deadline: MonotonicTime? = nil
  ) async -> Result<String, TokenError> {
    do throws(TokenError) {
      return .success(try await source.token(scope, deadline: deadline).text)
    } catch {
      return .failure(error)
    }
  }

  private func text(_ result: Result<String, TokenError>) -> String {
    switch result {
    case .success(let text): text
    case .failure(let error): "\(error)"
    }
  }

  /// Waits until `count` requests have got a cached token, started an exchange or joined one.
  private func asked(_ count: Int) async throws {
    let recorder = recorder
    try await eventually { recorder.outcomes.count { [.hit, .miss, .joined].contains($0) } >= count }
  }

  // MARK: Sharing

  @Test func `a token is asked for once and then at hand`() async throws {
    let transport = ScriptedTransport { number, _ in .token("t-\(number)") }
    let (source, scope) = try source(transport)
    #expect(source.cached(scope, now: time.now) == nil)
    #expect(transport.count == 0)
    #expect(text(await ask(source, scope)) == "t-0")
    let first = try #require(source.cached(scope, now: time.now))
    #expect(source.cached(scope, now: time.now) === first)
    #expect(text(await ask(source, scope)) == "t-0")
    #expect(transport.count == 1)
    #expect(recorder.outcomes == [.miss, .hit, .hit, .hit])
  }

  @Test func `a scope keeps its id`() throws {
    let (source, scope) = try source(ScriptedTransport())
    #expect(source.scopeID("callback:write") == scope)
    #expect(source.scopeID("other") != scope)
    #expect(scope.name == "callback:write")
  }

  @Test func `a thousand that miss at once make one exchange`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    let answers = Task {
      await withTaskGroup(of: String.self) { group in
        for _ in 0..<1000 { group.addTask { text(await ask(source, scope)) } }
        return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
      }
    }
    try await asked(1000)
    try await transport.answer(0, .token("t-0"))
    #expect(await answers.value == ["t-0": 1000])
    #expect(transport.count == 1)
    #expect(recorder.count(.miss) == 1)
    #expect(recorder.count(.joined) == 999)
  }

  @Test func `a failure is shared as well, and then no request is sent until the cool-down ends`()
    async throws
  {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    let answers = Task {
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<100 {
          group.addTask {
            guard case .failure(.exchangeFailed(.unavailable(503, nil), let wait)) = await ask(source, scope)
            else { return false }
            return wait == .milliseconds(625)
          }
        }
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
    }
    try await asked(100)
    try await transport.answer(0, .status(503))
    #expect(await answers.value == 100)
    for _ in 0..<10 {
      guard case .failure(.coolingDown(.unavailable, .milliseconds(625))) = await ask(source, scope) else {
        Issue.record("no cool-down")
        return
      }
    }
    #expect(transport.count == 1)
    #expect(recorder.count(.coolingDown) == 10)
    time.advance(by: .milliseconds(625))
    async let next = ask(source, scope)
    try await transport.answer(1, .token("t-1"))
    #expect(text(await next) == "t-1")
  }

  @Test func `two scopes have two tokens`() async throws {
    let transport = ScriptedTransport { _, request in
      let content = String(decoding: request.content, as: UTF8.self)
      return content.contains("scope=other") ? .token("o", scope: "other") : .token("c")
    }
    let (source, scope) = try source(transport)
    let other = source.scopeID("other")
    #expect(text(await ask(source, scope)) == "c")
    #expect(text(await ask(source, other)) == "o")
    #expect(source.cached(other, now: time.now)?.scope == "other")
  }

  @Test func `a token of unknown life is vended only to the requests that wait`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    async let first = ask(source, scope)
    async let second = ask(source, scope)
    try await asked(2)
    try await transport.answer(0, .token("t-0", expiresIn: nil))
    #expect(text(await first) == "t-0")
    #expect(text(await second) == "t-0")
    #expect(source.cached(scope, now: time.now) == nil)
    async let third = ask(source, scope)
    try await transport.answer(1, .token("t-1", expiresIn: nil))
    #expect(text(await third) == "t-1")
  }

  // MARK: Waiting

  @Test func `one who gives up leaves the others waiting`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    let leaver = Task { await ask(source, scope) }
    let stayer = Task { await ask(source, scope) }
    try await asked(2)
    leaver.cancel()
    guard case .failure(.cancelled) = await leaver.value else {
      Issue.record("not cancelled")
      return
    }
    try await transport.answer(0, .token("t-0"))
    #expect(text(await stayer.value) == "t-0")
  }

  @Test func `an exchange without waiting requests still fills the cache`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    let leaver = Task { await ask(source, scope) }
    try await asked(1)
    leaver.cancel()
    _ = await leaver.value
    try await transport.answer(0, .token("t-0"))
    let now = time.now
    try await eventually { source.cached(scope, now: now) != nil }
    #expect(transport.count == 1)
  }

  @Test func `one who was cancelled before asking asks for nothing`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await ask(source, scope)
    }
    task.cancel()
    guard case .failure(.cancelled) = await task.value else {
      Issue.record("not cancelled")
      return
    }
    #expect(transport.count == 0)
  }

  @Test func `everyone has a deadline of one's own`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    let (hasty, patient) = (time.now + .seconds(2), time.now + .seconds(60))
    async let first = ask(source, scope, deadline: hasty)
    async let second = ask(source, scope, deadline: patient)
    try await asked(2)
    let clock = time
    try await eventually { clock.due.contains(hasty) }
    time.advance(to: hasty)
    guard case .failure(.deadlineExceeded) = await first else {
      Issue.record("no deadline")
      return
    }
    try await transport.answer(0, .token("t-0"))
    #expect(text(await second) == "t-0")
    #expect(text(await ask(source, scope, deadline: time.now)) == "t-0", "what is at hand needs no time")
  }

  @Test func `a deadline that has passed begins nothing`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    guard case .failure(.deadlineExceeded) = await ask(source, scope, deadline: time.now) else {
      Issue.record("no deadline")
      return
    }
    #expect(transport.count == 0)
  }

  @Test func `a transport that never returns is given up shortly after the deadline`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    async let answer = ask(source, scope)
    let end = time.now + .seconds(10) + .milliseconds(250)
    let clock = time
    try await eventually { transport.held == [0] && clock.due.contains(end) }
    time.advance(to: end)
    guard case .failure(.exchangeFailed(.timedOut(true), let wait)) = await answer else {
      Issue.record("no time-out")
      return
    }
    #expect(wait > .zero)
    try await eventually { transport.held.isEmpty }
  }

  // MARK: Renewal

  @Test func `a hundred lifetimes pass without a request that waits`() async throws {
    let transport = ScriptedTransport { number, _ in .token("t-\(number)") }
    var dice = SeededGenerator(7)
    let units = Mutex<[Double]>((0..<200).map { _ in dice.unit() })
    let source = TokenSource(
      issuer: try TalkdeskID.scripted(transport, time), time: time, observer: recorder,
      jitter: { units.withLock { $0.removeLast() } })
    let scope = source.scopeID("callback:write")
    _ = try await source.token(scope)
    var ages: [Duration] = []
    for life in 1...100 {
      let clock = time
      // The last exchange's watchdog may still exist, and the timer may not exist yet.
      let renewsIn = try #require(source.status.scopes.first?.renewsIn)
      let due = time.now + renewsIn
      try await eventually { clock.due == [due] }
      let current = try #require(source.cached(scope, now: time.now))
      ages.append(due - current.obtainedAt)
      time.advance(to: due - .nanoseconds(1))
      #expect(source.cached(scope, now: time.now) === current)
      time.advance(to: due)
      let now = time.now
      try await eventually { source.cached(scope, now: now).map { $0 !== current } ?? false }
      #expect(transport.count == life + 1)
    }
    #expect(recorder.count(.miss) == 1)
    #expect(recorder.count(.renewal) == 100)
    #expect(ages.someAndAll { $0 >= .seconds(300) && $0 <= .seconds(480) })
    let earliest = ages.min() ?? .zero
    let latest = ages.max() ?? .zero
    #expect(earliest < .seconds(320) && latest > .seconds(460), "jitter covers its range")
  }

  @Test func `an unused token is not renewed, and the next request begins that without waiting`()
    async throws
  {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    let leaver = Task { await ask(source, scope) }
    try await asked(1)
    leaver.cancel()
    _ = await leaver.value
    try await transport.answer(0, .token("t-0"))
    let clock = time
    let due = time.now + .seconds(390)
    try await eventually { clock.due.contains(due) }
    time.advance(by: .seconds(400))
    await settle()
    #expect(transport.count == 1)
    #expect(source.cached(scope, now: time.now)?.text == "t-0")
    try await transport.answer(1, .token("t-1"))
    let now = time.now
    try await eventually { source.cached(scope, now: now)?.text == "t-1" }
    #expect(recorder.count(.renewal) == 1)
  }

  @Test func `while Talkdesk ID is down the token serves to its last minute, then comes an error`()
    async throws
  {
    let transport = ScriptedTransport { number, _ in number == 0 ? .token("t-0") : .status(503) }
    let (source, scope) = try source(transport)
    _ = try await source.token(scope)
    let end = time.now + .seconds(480)
    while time.now < end {
      let next = try #require(source.status.scopes[0].renewsIn)
      time.advance(to: min(end, time.now + next))
      // Starts the due renewal, unless the timer already has.
      #expect(source.cached(scope, now: time.now)?.text == "t-0")
      try await eventually { !source.status.scopes[0].isExchanging }
    }
    #expect(transport.count > 5)
    time.advance(by: .nanoseconds(1))
    #expect(source.cached(scope, now: time.now) == nil)
    switch await ask(source, scope) {
    case .failure(.coolingDown(.unavailable, _)), .failure(.exchangeFailed(.unavailable, _)): break
    case let other: Issue.record("\(text(other))")
    }
  }

  @Test func `a wall clock that is set back makes no token younger`() async throws {
    let transport = ScriptedTransport { number, _ in .token("t-\(number)") }
    let (source, scope) = try source(transport)
    let token = try await source.token(scope)
    time.stepWallClock(by: -86_400)
    #expect(source.cached(scope, now: time.now) === token)
    #expect(token.remaining(at: time.now) == .seconds(600))
    time.advance(by: .seconds(600))
    #expect(source.cached(scope, now: time.now) == nil)
  }

  @Test func `a token that has expired while the machine was suspended is not handed out`() async throws {
    let transport = ScriptedTransport { number, _ in .token("t-\(number)") }
    let (source, scope) = try source(transport)
    let token = try await source.token(scope)
    time.stepWallClock(by: 300)
    #expect(source.cached(scope, now: time.now) === token)
    #expect(token.remaining(at: time.now) == .seconds(300))
    time.stepWallClock(by: 300)
    #expect(source.cached(scope, now: time.now) == nil)
    #expect(text(await ask(source, scope)) == "t-1")
    time.advance(by: .seconds(1))
    #expect(try #require(source.cached(scope, now: time.now)).remaining(at: time.now) == .seconds(599))
  }

  // MARK: Cool-down

  @Test(
    arguments: [
      (.status(400, #"{"error":"invalid_scope"}"#), 31_500), (.status(401), 31_500), (.status(403), 31_500),
      (.status(429, fields: ["Retry-After": "7"]), 7000),
      (.status(429, fields: ["Retry-After": "soon"]), 5500),
      (.status(429, fields: ["Retry-After": "3600"]), 60_000),
      (
        .status(
          429,
          fields: [
            "Retry-After": "Sun, 06 Nov 1994 08:49:57 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT",
          ]), 20_000
      ),
      (.status(503, fields: ["Retry-After": "9"]), 9000), (.status(502), 625), (.lost(.connect), 625),
      (.lost(.tls), 625), (.lost(.timedOut), 625), (.status(200, "<html>"), 625), (.status(404), 625),
    ] as [(ScriptedTransport.Answer, Int)])
  func `every failure cools down for its time and no longer`(
    answer: ScriptedTransport.Answer, milliseconds: Int
  ) async throws {
    let transport = ScriptedTransport { number, _ in number == 0 ? answer : .token("t") }
    let (source, scope) = try source(transport)
    guard case .failure(.exchangeFailed(_, let wait)) = await ask(source, scope) else {
      Issue.record("no failure")
      return
    }
    #expect(wait == .milliseconds(milliseconds))
    time.advance(by: wait - .nanoseconds(1))
    guard case .failure(.coolingDown(_, .nanoseconds(1))) = await ask(source, scope) else {
      Issue.record("no cool-down")
      return
    }
    #expect(transport.count == 1)
    time.advance(by: .nanoseconds(1))
    #expect(text(await ask(source, scope)) == "t")
    #expect(source.status.scopes[0].coolDown == nil)
  }

  @Test func `a credential refused again and again is tried ever more rarely, until a success`() async throws
  {
    let transport = ScriptedTransport { number, _ in number == 5 ? .token("t", expiresIn: "2") : .status(401)
    }
    let (source, scope) = try source(transport, unit: 0)
    for seconds in [30, 60, 120, 240, 300] {
      guard case .failure(.exchangeFailed(.refused, .seconds(seconds))) = await ask(source, scope) else {
        Issue.record("not \(seconds) s")
        return
      }
      time.advance(by: .seconds(seconds))
    }
    #expect(text(await ask(source, scope)) == "t")
    time.advance(by: .seconds(2))
    guard case .failure(.exchangeFailed(.refused, .seconds(30))) = await ask(source, scope) else {
      Issue.record("not from the start")
      return
    }
  }

  @Test func `an outage within an exchange is ridden out`() async throws {
    let transport = ScriptedTransport { number, _ in number < 2 ? .status(503) : .token("t") }
    let (source, scope) = try source(transport, retry: RetryPolicy())
    let clock = time
    async let answer = ask(source, scope)
    // The watchdog sleeps, too.
    for attempt in 1...2 {
      try await eventually { transport.count == attempt && clock.due.count == 2 }
      time.advance(to: try #require(time.due.first))
    }
    #expect(text(await answer) == "t")
    #expect(recorder.reports.map(\.label) == ["unavailable", "unavailable", "success"])
  }

  // MARK: Refused by the API

  @Test func `a token the API refused is replaced by one exchange for all who were refused`() async throws {
    let transport = ScriptedTransport { number, _ in number == 0 ? .token("old") : .hold }
    let (source, scope) = try source(transport)
    let old = try await source.token(scope)
    let answers = Task {
      await withTaskGroup(of: String.self) { group in
        for _ in 0..<50 {
          group.addTask {
            _ = source.invalidate(old, scope: scope)
            return text(await ask(source, scope))
          }
        }
        return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
      }
    }
    try await asked(51)
    try await transport.answer(1, .token("new"))
    #expect(await answers.value == ["new": 50])
    #expect(transport.count == 2)
    #expect(source.invalidate(old, scope: scope))
    #expect(source.cached(scope, now: time.now)?.text == "new")
    #expect(recorder.count(.invalidated) >= 1)
  }

  // MARK: Not shared

  @Test func `tokens that are not shared are fresh for each request`() async throws {
    let transport = ScriptedTransport { number, _ in .token("t-\(number)") }
    let (source, scope) = try source(transport, policy: TokenPolicy(share: false))
    #expect(text(await ask(source, scope)) == "t-0")
    #expect(text(await ask(source, scope)) == "t-1")
    #expect(source.cached(scope, now: time.now) == nil)
  }

  @Test func `probes of tokens that are not shared cost one exchange a minute, and vend none`() async throws {
    let transport = ScriptedTransport { number, _ in .token("t-\(number)") }
    let (source, scope) = try source(transport, policy: TokenPolicy(share: false))
    #expect(try await source.probe(scope))
    for _ in 0..<20 { #expect(try await !source.probe(scope)) }
    #expect(transport.count == 1)
    #expect(text(await ask(source, scope)) == "t-1")
    // The request's own exchange counts as a probe, too.
    time.advance(by: .seconds(59))
    #expect(try await !source.probe(scope))
    time.advance(by: .seconds(1))
    #expect(try await source.probe(scope))
    #expect(transport.count == 3)
  }

  @Test func `probes at the same time share one exchange, and its failure`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport, policy: TokenPolicy(share: false))
    let probes = Task {
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<8 {
          group.addTask {
            do throws(TokenError) {
              return try await source.probe(scope)
            } catch {
              return false
            }
          }
        }
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
    }
    try await asked(8)
    try await eventually { transport.held == [0] }
    try await transport.answer(0, .status(429))
    #expect(await probes.value == 0)
    await #expect(throws: TokenError.self) { try await source.probe(scope) }
    #expect(transport.count == 1)
  }

  @Test func `only so many separate exchanges run at once`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport, policy: TokenPolicy(share: false, separateExchanges: 3))
    let answers = Task {
      await withTaskGroup(of: String.self) { group in
        for _ in 0..<9 { group.addTask { text(await ask(source, scope)) } }
        return await group.reduce(into: Set<String>()) { $0.insert($1) }
      }
    }
    try await asked(9)
    for number in 0..<9 {
      #expect(transport.held.count <= 3)
      try await transport.answer(number, .token("t-\(number)"))
    }
    #expect(await answers.value == Set((0..<9).map { "t-\($0)" }))
  }

  @Test func `one who gives up waiting for a turn takes none, and one's own exchange ends with one`()
    async throws
  {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport, policy: TokenPolicy(share: false, separateExchanges: 1))
    let running = Task { await ask(source, scope) }
    try await eventually { transport.held == [0] }
    let queued = Task { await ask(source, scope) }
    try await asked(2)
    queued.cancel()
    _ = await queued.value
    running.cancel()
    _ = await running.value
    try await eventually { transport.held.isEmpty }
    async let next = ask(source, scope)
    try await transport.answer(1, .token("t-1"))
    #expect(text(await next) == "t-1")
    #expect(transport.count == 2)
  }

  @Test func `those who wait for a turn hear of a failure at once`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport, policy: TokenPolicy(share: false, separateExchanges: 1))
    async let first = ask(source, scope)
    try await eventually { transport.held == [0] }
    async let second = ask(source, scope)
    try await asked(2)
    try await transport.answer(0, .status(429))
    guard case .failure(.exchangeFailed(.rateLimited, _)) = await first,
      case .failure(.coolingDown(.rateLimited, _)) = await second
    else {
      Issue.record("not told")
      return
    }
    #expect(transport.count == 1)
  }

  @Test func `requests that wait for a turn learn that the account changed, and leave nothing behind`()
    async throws
  {
    let transport = ScriptedTransport()
    let policy = TokenPolicy(share: false, separateExchanges: 1)
    let (source, scope) = try source(transport, policy: policy)
    async let first = ask(source, scope)
    try await eventually { transport.held == [0] }
    async let second = ask(source, scope)
    try await asked(2)
    source.reconfigure(issuer: try TalkdeskID.scripted(transport, time), movesAccount: true, policy: policy)
    guard case .failure(.upstreamChanged) = await second else {
      Issue.record("not told")
      return
    }
    try await transport.answer(0, .token("old"))
    #expect(text(await first) == "old")
    let clock = time
    try await eventually { clock.due.isEmpty }
    #expect(transport.count == 1)
  }

  @Test func `one whose turn does not come is told while there is time, and not for Talkdesk ID's fault`()
    async throws
  {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport, policy: TokenPolicy(share: false, separateExchanges: 1))
    let running = Task { await ask(source, scope) }
    try await eventually { transport.held == [0] }
    async let second = ask(source, scope)
    let clock = time
    // A tenth of the time has to be left.
    let end = time.now + .seconds(9)
    try await eventually { clock.due.contains(end) }
    time.advance(to: end)
    guard case .failure(.overloaded) = await second else {
      Issue.record("not told")
      return
    }
    #expect(transport.count == 1)
    running.cancel()
    _ = await running.value
  }

  @Test
  func
    `one who gives up before its turn is past has its own deadline, one whose turn came has the exchange's`()
    async throws
  {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport, policy: TokenPolicy(share: false, separateExchanges: 1))
    let running = Task { await ask(source, scope) }
    try await eventually { transport.held == [0] }
    let (clock, soon) = (time, time.now + .seconds(3))
    let hasty = Task { await ask(source, scope, deadline: soon) }
    try await eventually { clock.due.contains(soon) }
    time.advance(to: soon)
    guard case .failure(.deadlineExceeded) = await hasty.value else { throw NeverHappened() }
    async let patient = ask(source, scope)
    try await asked(3)
    try await transport.answer(0, .token("t-0"))
    _ = await running.value
    try await eventually { transport.held == [1] }
    // Its turn must come while at least three seconds are left.
    let (due, end) = (soon + .seconds(7), soon + .seconds(10))
    try await eventually { clock.due.contains(due) }
    time.advance(to: due)
    try await eventually { clock.due.contains(end) }
    time.advance(to: end)
    guard case .failure(.deadlineExceeded) = await patient else { throw NeverHappened() }
    #expect(transport.count == 2)
  }

  @Test func `who would come too late is refused at once, and counted as overload`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport, policy: TokenPolicy(share: false, separateExchanges: 1))
    let hanging = Task { await ask(source, scope) }
    try await eventually { transport.held == [0] }
    time.advance(by: .seconds(5))
    guard case .failure(.overloaded(let wait)) = await ask(source, scope) else { throw NeverHappened() }
    #expect(wait >= .seconds(1))
    #expect(recorder.count(.overloaded) == 1)
    hanging.cancel()
    _ = await hanging.value
  }

  // MARK: Operating

  @Test func `status is true and sends no request`() async throws {
    let transport = ScriptedTransport { number, _ in
      number == 0
        ? .status(401, #"{"error":"invalid_client"}"#, fields: ["platform-tid": "tid-9"]) : .token("t")
    }
    let keys: [ClientCredential] = [
      .secret(clientID: "new", secret: .init("n")), try .key("kid-old", clientID: "old"),
    ]
    let (source, scope) = try source(transport, credentials: keys)
    #expect(source.status.isWell)
    #expect(source.status.scopes[0].lastRequest == nil)
    #expect(transport.count == 0)
    _ = try await source.token(scope)
    time.advance(by: .seconds(5))
    let status = source.status
    #expect(status.isWell)
    #expect(status.scopes[0].expiresIn == .seconds(595))
    #expect(status.scopes[0].renewsIn == .seconds(385))
    #expect(status.scopes[0].isUsed)
    #expect(status.scopes[0].acceptedCredential == "kid-old")
    #expect(status.scopes[0].lastRequestAge == .seconds(5))
    #expect(recorder.reports.first?.platformTID == "tid-9")
    #expect(transport.count == 2)
  }

  @Test func `status shows a failure and its cool-down`() async throws {
    let (source, scope) = try source(ScriptedTransport { _, _ in .status(503) })
    _ = await ask(source, scope)
    let status = source.status
    #expect(!status.isWell)
    #expect(status.scopes[0].lastRequest?.label == "unavailable")
    #expect(status.scopes[0].coolDown?.remaining == .milliseconds(625))
    #expect(status.scopes[0].expiresIn == nil)
  }

  @Test
  func
    `a changed policy ends no cool-down, and a changed credential ends its own and keeps a client's token`()
    async throws
  {
    let transport = ScriptedTransport { number, _ in [.status(401), .token("t-1"), .token("t-2")][number] }
    let (source, scope) = try source(transport)
    _ = await ask(source, scope)
    source.reconfigure(issuer: nil, policy: TokenPolicy())
    guard case .failure(.coolingDown) = await ask(source, scope) else { throw NeverHappened() }
    #expect(transport.count == 1)
    let same = try TalkdeskID.scripted(transport, time)
    source.reconfigure(issuer: same, policy: TokenPolicy())
    #expect(text(await ask(source, scope)) == "t-1")
    source.reconfigure(issuer: nil, policy: TokenPolicy(minRemaining: .seconds(60)))
    #expect(source.cached(scope, now: time.now)?.text == "t-1")
    let other = try TalkdeskID.scripted(
      transport, time, credentials: [.secret(clientID: "x", secret: .init("s"))])
    source.reconfigure(issuer: other, policy: TokenPolicy())
    #expect(source.cached(scope, now: time.now) == nil)
    #expect(text(await ask(source, scope)) == "t-2")
    let elsewhere = try TalkdeskID.scripted(
      transport, time, credentials: other.credentials,
      endpoints: TalkdeskEndpoints(account: "acme", region: .eu))
    source.reconfigure(issuer: elsewhere, policy: TokenPolicy())
    #expect(source.cached(scope, now: time.now) == nil)
  }

  @Test func `a token of one upstream is not given to who asks for that of another`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    let first = source.upstream
    async let before = source.token(scope, of: first)
    try await eventually { transport.held == [0] }
    source.reconfigure(issuer: nil, policy: TokenPolicy())
    #expect(source.upstream == first)
    source.reconfigure(issuer: try TalkdeskID.scripted(transport, time), policy: TokenPolicy())
    #expect(source.upstream == first)
    source.reconfigure(
      issuer: try TalkdeskID.scripted(transport, time), movesAccount: true, policy: TokenPolicy())
    let second = source.upstream
    #expect(second != first)
    async let after = source.token(scope, of: second)
    try await eventually { transport.held == [0, 1] }
    try await transport.answer(0, .token("old"))
    try await transport.answer(1, .token("new"))
    // The request that used the old issuer in time gets its token, and nobody gets that token afterwards.
    #expect(try await before.text == "old")
    #expect(try await after.text == "new")
    #expect(source.cached(scope, of: second, now: time.now)?.text == "new")
    #expect(source.cached(scope, of: first, now: time.now) == nil)
    let late = await #expect(throws: TokenError.self) { _ = try await source.token(scope, of: first) }
    guard case .upstreamChanged = late else { throw NeverHappened() }
    #expect(transport.count == 2)
  }

  @Test func `shutdown ends every wait, and nothing is asked afterwards`() async throws {
    let transport = ScriptedTransport()
    let (source, scope) = try source(transport)
    async let first = ask(source, scope)
    try await eventually { transport.held == [0] }
    source.shutdown()
    guard case .failure(.shutDown) = await first, case .failure(.shutDown) = await ask(source, scope) else {
      Issue.record("still waiting")
      return
    }
    let clock = time
    try await eventually { transport.held.isEmpty && clock.due.isEmpty }
    #expect(transport.count == 1)
  }

  @Test func `a released source leaves nothing running`() async throws {
    let transport = ScriptedTransport { _, _ in .token("t") }
    let clock = time
    do {
      let (source, scope) = try source(transport)
      _ = try await source.token(scope)
      try await eventually { clock.due.count == 1 }
    }
    try await eventually { clock.due.isEmpty }
  }

  @Test func `no error, report or status shows the token, the secret or upstream's words`() async throws {
    let transport = ScriptedTransport { number, _ in
      number == 0
        ? .status(401, #"{"error":"bad","error_description":"canary-words"}"#) : .token("canary-token")
    }
    let canary = ClientCredential.secret(clientID: "c", secret: .init("canary-secret"))
    let (source, scope) = try source(transport, credentials: [canary])
    var shown = text(await ask(source, scope))
    time.advance(by: .seconds(60))
    let token = try await source.token(scope)
    dump(source.status, to: &shown)
    dump(token, to: &shown)
    dump(canary, to: &shown)
    for report in recorder.reports where report.label == "success" { dump(report, to: &shown) }
    for report in recorder.reports { shown += "\(report.outcome)" }
    #expect(!shown.contains("canary"))
    #expect(recorder.reports.first?.errorDescription == "canary-words")
  }
}
