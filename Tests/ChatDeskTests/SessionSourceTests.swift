// Tests of how session tokens are cached, shared among requests, and refused during cool-downs.

import Gate
import HTTP
import Platform
import Synchronization
import TestSupport
import Testing
import Tokens

@testable import ChatDesk

@Suite struct SessionSourceTests {
  /// Responds with `token-1`, `token-2` and so on.
  private static let giving: @Sendable (Int, OutboundRequest) -> ScriptedTransport.Answer = { number, _ in
    .session("token-\(number + 1)")
  }

  @Test func `a token is kept for its user until 20 percent of its life is left`() async throws {
    let desk = Desk(SessionSourceTests.giving)
    #expect(try desk.atOnce() == nil)
    #expect(try await desk.vend() == "token-1")
    desk.time.advance(by: .seconds(2880))
    #expect(try desk.atOnce() == "token-1")
    #expect(try await desk.vend() == "token-1")
    desk.time.advance(by: .nanoseconds(1))
    #expect(try desk.atOnce() == nil)
    #expect(try await desk.vend() == "token-2")
    #expect(desk.transport.count == 2)
    #expect(desk.outcomes == [.miss, .hit, .hit, .miss])
  }

  @Test func `users have tokens of their own`() async throws {
    let desk = Desk(SessionSourceTests.giving)
    #expect(try await desk.vend("ann") == "token-1")
    #expect(try await desk.vend("bob") == "token-2")
    #expect(try desk.atOnce("ann") == "token-1")
    #expect(desk.source.status.users == 2)
  }

  @Test func `a herd for one user makes one request, and one user does not wait for another`() async throws {
    let desk = Desk()
    async let herd = withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<100 { group.addTask { try await desk.vend("ann") } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    try await eventually { desk.outcomes.count { $0 == .joined } == 99 }
    async let other = desk.vend("bob")
    try await desk.transport.answer(1, .session("bobs"))
    #expect(try await other == "bobs")
    try await desk.transport.answer(0, .session("anns"))
    #expect(try await herd == Array(repeating: "anns", count: 100))
    #expect(desk.transport.count == 2)
  }

  @Test func `of ten requests for one user's token, the one that asks Sendbird needs permission`()
    async throws
  {
    let desk = Desk()
    let intents = Mutex(0)
    let permission: SessionSource.Permission = {
      intents.withLock { $0 += 1 }
      return true
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<10 {
        group.addTask { _ = try await desk.source.vend(try grant(), user: user(), if: permission) }
      }
      try await eventually { desk.outcomes.count { $0 == .joined } == 9 }
      try await desk.transport.answer(0, .error(500_901))
      while let result = await group.nextResult() { #expect(throws: TokenError.self) { try result.get() } }
    }
    #expect(intents.withLock { $0 } == 1)
    // Sendbird gets no requests during the cool-down.
    await #expect(throws: TokenError.self) {
      try await desk.source.vend(try grant(), user: user(), if: permission)
    }
    #expect(intents.withLock { $0 } == 1)
    #expect(desk.transport.count == 1)
  }

  @Test func `without permission Sendbird is not asked, and the next request needs it again`() async throws {
    let desk = Desk(SessionSourceTests.giving)
    let (answers, answer) = AsyncStream<Bool>.makeStream()
    await withTaskGroup(of: String.self) { group in
      for _ in 0..<10 {
        group.addTask {
          do throws(TokenError) {
            return "\(try await desk.source.probe(user()) { await answers.first { _ in true } ?? true })"
          } catch {
            return Desk.words(error)
          }
        }
      }
      try? await eventually { desk.outcomes.count { $0 == .joined } == 9 }
      answer.yield(false)
      for await words in group { #expect(words == "the request could not be recorded in the audit log") }
    }
    #expect(desk.transport.count == 0)
    #expect(desk.source.status.coolDown == nil)
    #expect(try await desk.vend() == "token-1")
  }

  @Test func `the wait for permission is not taken from the time that Sendbird has`() async throws {
    let desk = Desk(SessionSourceTests.giving)
    _ = try await desk.source.vend(try grant(), user: user()) {
      desk.time.advance(by: .seconds(60))
      return true
    }
    #expect(try desk.atOnce() == "token-1")
    #expect(desk.source.status.coolDown == nil)
  }

  @Test func `a request that is cancelled leaves, and the request to Sendbird goes on`() async throws {
    let desk = Desk()
    let leaving = Task { try await desk.vend() }
    try await eventually { desk.transport.held == [0] }
    leaving.cancel()
    #expect(try await leaving.value == "cancelled")
    try await desk.transport.answer(0, .session("t"))
    try await eventually { desk.source.holdsToken(user(), now: desk.time.now) }
    #expect(desk.transport.count == 1)
  }

  @Test(arguments: [
    (400_401, 30_000, "failed refused 30000", "cooling refused 29999"),
    (500_910, 5_000, "failed rate_limited 5000", "cooling rate_limited 4999"),
    (500_901, 500, "failed failed 500", "cooling failed 499"),
  ])
  func `a failure that concerns every user cools down, each kind for its own time`(
    code: Int, pause: Int, first: String, second: String
  ) async throws {
    let desk = Desk { number, _ in number == 0 ? .error(code) : .session("t") }
    #expect(try await desk.vend("ann") == first)
    desk.time.advance(by: .milliseconds(1))
    #expect(try await desk.vend("bob") == second)
    #expect(desk.transport.count == 1)
    #expect(!desk.source.status.isWell)
    #expect(desk.source.status.coolDown == .milliseconds(pause - 1))
    desk.time.advance(by: .milliseconds(pause - 1))
    #expect(try await desk.vend("bob") == "t")
    #expect(desk.source.status.isWell)
    #expect(desk.source.status.coolDown == nil)
  }

  @Test func `Sendbird's own time to retry is obeyed`() async throws {
    let desk = Desk { _, _ in .error(500_910, fields: ["Retry-After": "17"]) }
    #expect(try await desk.vend() == "failed rate_limited 17000")
  }

  @Test func `during a cool-down the tokens that are kept are vended`() async throws {
    let desk = Desk { number, _ in number == 0 ? .session("t") : .error(400_401) }
    #expect(try await desk.vend("ann") == "t")
    #expect(try await desk.vend("bob") == "failed refused 30000")
    #expect(try await desk.vend("ann") == "t")
  }

  @Test func `a user that Sendbird refuses does not keep others from their tokens`() async throws {
    let desk = Desk { _, request in request.path.contains("ann") ? .error(400_111) : .session("t") }
    #expect(try await desk.vend("ann") == "failed refused 30000")
    #expect(try await desk.vend("bob") == "t")
    #expect(desk.source.status.isWell)
    desk.time.advance(by: .seconds(29))
    #expect(try await desk.vend("ann") == "failed refused 1000")
    #expect(desk.transport.count == 2)
    desk.time.advance(by: .seconds(1))
    #expect(try await desk.vend("ann") == "failed refused 30000")
    #expect(desk.transport.count == 3)
  }

  /// Whether a status concerns Sendbird, the credential or the whole application, even without a code.
  private static func concernsAll(_ status: Int) -> Bool {
    [401, 408, 429].contains(status) || status >= 500
  }

  @Test(arguments: 300..<600)
  func
    `a failure without a code of one user's request keeps others from their tokens only where its status says so`(
      status: Int
    ) async throws
  {
    let desk = Desk { _, request in request.path.contains("ann") ? .status(status, "<html>") : .session("t") }
    _ = try await desk.vend("ann")
    #expect((try await desk.vend("bob") == "t") == !Self.concernsAll(status))
    #expect(desk.source.status.isWell == !Self.concernsAll(status))
    // The failed user is not requested again at once.
    let count = desk.transport.count
    _ = try await desk.vend("ann")
    #expect(desk.transport.count == count)
  }

  @Test(arguments: [404, 410, 405, 451, 302])
  func `a failure without a code concerns every user once two others have met it`(status: Int) async throws {
    let desk = Desk { _, request in request.path.contains("zoe") ? .session("t") : .status(status, "") }
    let label = status == 302 ? "unusable_reply" : "refused"
    #expect(try await desk.vend("ann") == "failed \(label) 30000")
    #expect(try await desk.vend("bob") == "failed \(label) 30000")
    // The same user does not count twice.
    desk.time.advance(by: .seconds(29))
    #expect(try await desk.vend("ann") == "failed \(label) 1000")
    #expect(desk.source.status.isWell)
    #expect(try await desk.vend("cyd").hasPrefix("failed \(label)"))
    #expect(!desk.source.status.isWell)
    #expect(try await desk.vend("zoe").hasPrefix("cooling \(label)"))
  }

  @Test func `where another user's request succeeds, users that met it before are no others`() async throws {
    let desk = Desk { _, request in request.path.contains("zoe") ? .session("t") : .status(404, "") }
    for name in ["ann", "bob", "zoe", "cyd", "dan"] { _ = try await desk.vend(name) }
    #expect(desk.source.status.isWell)
    _ = try await desk.vend("eve")
    #expect(!desk.source.status.isWell)
  }

  @Test func `users that met it long ago are no others`() async throws {
    let desk = Desk { _, request in request.path.contains("zoe") ? .session("t") : .status(404, "") }
    for name in ["ann", "bob", "cyd", "dan"] {
      #expect(try await desk.vend(name) == "failed refused 30000")
      desk.time.advance(by: .seconds(16))
    }
    #expect(try await desk.vend("zoe") == "t")
    #expect(desk.source.status.isWell)
  }

  @Test func `what this process did not send cools nothing down`() async throws {
    let full = TransportError(.overloaded, sent: false, detail: "full", retryAfter: .seconds(3))
    let desk = Desk { number, _ in number == 0 ? .fail(full) : .session("t") }
    #expect(try await desk.vend() == "overloaded 3000")
    #expect(try await desk.vend() == "t")
  }

  @Test func `a token that came too late to be vended is none`() async throws {
    let desk = Desk()
    async let result = desk.vend()
    try await eventually { desk.transport.held == [0] }
    desk.time.advance(by: .seconds(2881))
    try await desk.transport.answer(0, .session("t"))
    #expect(try await result == "failed unusable_reply 1000")
    #expect(try desk.atOnce() == nil)
  }

  @Test func `a probe says whether Sendbird was asked, and keeps what it got`() async throws {
    let desk = Desk(SessionSourceTests.giving)
    #expect(!desk.source.holdsToken(user(), now: desk.time.now))
    #expect(try await desk.source.probe(user(), if: { true }))
    #expect(try await !desk.source.probe(user(), if: { true }))
    #expect(desk.source.holdsToken(user(), now: desk.time.now))
    #expect(desk.transport.count == 1)
  }

  @Test func `a new master token ends the cool-down of the refused one, and keeps the tokens`() async throws {
    let desk = Desk { _, request in
      request.fields["Api-Token"] == "better" || request.path.contains("ann")
        ? .session("t") : .error(400_401)
    }
    #expect(try await desk.vend("ann") == "t")
    #expect(try await desk.vend("bob") == "failed refused 30000")
    desk.source.reconfigure(sendbird())
    #expect(try await desk.vend("bob") == "cooling refused 30000")
    desk.source.reconfigure(sendbird("better"))
    #expect(try desk.atOnce("ann") == "t")
    #expect(try await desk.vend("bob") == "t")
  }

  @Test func `a failure of the old master token says nothing about the new one`() async throws {
    let desk = Desk()
    async let old = desk.vend("ann")
    try await eventually { desk.transport.held == [0] }
    desk.source.reconfigure(sendbird("better"))
    try await desk.transport.answer(0, .error(400_401))
    #expect(try await old == "failed refused 1000")
    #expect(desk.source.status.isWell)
    #expect(desk.source.status.coolDown == nil)
  }

  @Test func `tokens that outlive a shorter life are forgotten`() async throws {
    let desk = Desk(SessionSourceTests.giving)
    #expect(try await desk.vend() == "token-1")
    desk.source.reconfigure(sendbird(life: .seconds(7200)))
    #expect(try desk.atOnce() == "token-1")
    desk.source.reconfigure(sendbird(life: .seconds(60)))
    #expect(try desk.atOnce() == nil)
    #expect(try await desk.vend() == "token-2")
    desk.time.advance(by: .seconds(49))
    #expect(try desk.atOnce() == nil)
    desk.source.forgetTokens()
    #expect(desk.source.status.users == 0)
  }

  @Test func `a grant of another action or another subject brings no token`() async {
    await #expect(processExitsWith: .failure) {
      _ = Desk().source.vendAtOnce(try grant("ann", .callback), user: user("ann"), now: .init(nanoseconds: 0))
    }
    await #expect(processExitsWith: .failure) {
      _ = Desk().source.vendAtOnce(try grant("ann"), user: user("bob"), now: .init(nanoseconds: 0))
    }
  }

  @Test func `each request to Sendbird is reported without a user`() async throws {
    let desk = Desk { number, _ in
      number == 0 ? .error(400_301) : number == 1 ? .error(400_202) : .session("t")
    }
    #expect(try await desk.vend() == "t")
    #expect(desk.reports.map(\.label) == ["unknown_user", "known_user", "success"])
    #expect(desk.reports.map(\.purpose) == [.sessionToken, .newUser, .sessionToken])
  }
}
