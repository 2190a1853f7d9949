// Tests of how a request is decided with and without a distant store.

import Gate
import HTTP
import Platform
import Store
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import API
@testable import Callers
@testable import Configuration
@testable import Deciding
@testable import Responses
@testable import RoomSupport

@Suite struct DeciderTests {
  private let facts = Facts(
    action: .access, callerID: "a", address: nil, phone: nil, instant: Instant(seconds: 1_790_000_000))

  private func decider(_ rules: String, _ store: any Store, apps: [App] = []) throws -> Decider {
    Decider(
      apps: AppRegistry(apps), policy: try Fixture.policy(rules),
      stops: StopBoard(store: store, clock: SystemClock()), ledger: AllowanceLedger(store: store),
      remotes: RemotePolicies(transport: nil, log: nil))
  }

  private static let quota = "  - { name: daily, kind: quota, key: caller, limit: 3, per: day }"

  private func ruling(_ decider: Decider, taking takes: Bool = true) async throws -> Ruled {
    try await decider.ruled(facts, taking: takes)
  }

  @Test func `what is left is counted down one by one, each in one trip to the store`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let decider = try decider(Self.quota, store)
    for left in [2, 1, 0] {
      #expect(try await ruling(decider).statuses.first?.count.remaining == Int64(left))
    }
    #expect(try await ruling(decider).denial?.code == .quotaExhausted)
    #expect(store.updates == 4 && store.reads == 0)
  }

  @Test func `without a rate or quota that concerns the request, no store is asked`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let decider = try decider(
      """
        - { name: staff, kind: quota, key: global, limit: 3, per: day, mode: "off" }
        - { name: calls, kind: rate, on: callback, key: global, limit: 3, per: 1s }
      """, store)
    #expect(decider.ruledAtOnce(facts, taking: true)?.grant != nil)
    #expect(decider.ruledAtOnce(facts, taking: false)?.grant != nil)
    // No store is needed either if a rule before the first allowance refuses.
    let denied = try self.decider(
      "  - { name: a, kind: field, field: X, equals: a }\n" + Self.quota, store)
    #expect(denied.ruledAtOnce(facts, taking: true)?.denial?.rule == "a")
    #expect(store.updates == 0 && store.reads == 0)
  }

  @Test func `the first rule that refuses is named, whatever comes after it`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let rules = Self.quota + "\n  - { name: a, kind: field, field: X, equals: a }"
    let decider = try decider(rules, store)
    #expect(try await ruling(decider).denial?.rule == "a")
    var charged = facts
    charged.fields = [RequestField(name: "X", value: "a")]
    for _ in 0..<3 { #expect(try await decider.ruled(charged, taking: true).grant != nil) }
    #expect(try await ruling(decider).denial?.rule == "daily")
    #expect(try await decider.ruled(charged, taking: true).denial?.rule == "daily")
  }

  @Test func `a rule in audit mode says what it would refuse, and takes nothing`() async throws {
    let decider = try decider(
      """
        - { name: seen, kind: quota, key: caller, limit: 1, per: day, mode: audit }
        - { name: daily, kind: quota, key: caller, limit: 2, per: day }
      """, ScriptedStore(sharing: .instances))
    #expect(try await ruling(decider).verdicts.map(\.verdict) == [.allow, .allow])
    #expect(try await ruling(decider).verdicts.map(\.verdict) == [.wouldDeny, .allow])
    #expect(try await ruling(decider).verdicts.map(\.verdict) == [.wouldDeny, .deny])
  }

  @Test(arguments: [1, 2])
  func `24 at once at a quota of 24 all pass, and the 25th is refused`(_ instances: Int) async throws {
    let store = memoryStore()
    let deciders = try (0..<instances).map { number in
      let place = ScriptedStore(store, sharing: .instances)
      place.lag(seed: UInt64(number))
      return try decider("  - { name: daily, kind: quota, key: global, limit: 24, per: day }", place)
    }
    let granted = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<24 {
        group.addTask { [facts] in
          try await deciders[number % instances].ruled(facts, taking: true).grant != nil
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(granted == 24)
    let late = try await ruling(deciders[0])
    #expect(late.denial?.code == .quotaExhausted)
    #expect(Problem(try #require(late.denial)).code.status.code == 429)
  }

  @Test func `through a store the limit is the same, and what is given back is there again`() async throws {
    let store = ScriptedStore(sharing: .instances)
    let decider = try decider(Self.quota, store)
    #expect(decider.ruledAtOnce(facts, taking: true) == nil)
    var granted: [Ruled.Granted] = []
    for _ in 0..<5 {
      if let grant = try await ruling(decider).grant { granted.append(grant) }
    }
    #expect(granted.count == 3)
    #expect(try await ruling(decider).denial?.code == .quotaExhausted)
    await decider.ledger.giveBack(try #require(granted.first).receipts, at: facts.instant)
    #expect(try await ruling(decider, taking: false).grant != nil)
    #expect(try await ruling(decider).grant != nil)
    #expect(try await ruling(decider).grant == nil)
  }

  @Test func `a probe takes nothing and tells what the next request would find`() async throws {
    for store: any Store in [memoryStore(), ScriptedStore(sharing: .instances)] {
      let decider = try decider(Self.quota, store)
      for _ in 0..<5 {
        let ruling = try await ruling(decider, taking: false)
        #expect(ruling.grant?.receipts.isEmpty == true)
        #expect(ruling.statuses.first?.count.remaining == 3)
      }
    }
  }

  @Test func `without its store a rule denies, unless it says otherwise, and audit rules change nothing`()
    async throws
  {
    let store = ScriptedStore(sharing: .instances)
    store.setDown(true)
    let strict = try await ruling(try decider(Self.quota, store))
    #expect(strict.denial?.code == .storeUnavailable)
    #expect(strict.denial?.rule == "daily")
    let problem = Problem(try #require(strict.denial))
    #expect(problem.code.status == .serviceUnavailable)
    #expect(problem.retryAfter != nil)
    for rules in [
      "  - { name: daily, kind: quota, key: caller, limit: 3, per: day, on_store_failure: allow }",
      "  - { name: daily, kind: quota, key: caller, limit: 3, per: day, mode: audit }",
    ] {
      let lenient = try await ruling(try decider(rules, store))
      #expect(lenient.grant != nil)
      #expect(lenient.grant?.receipts.isEmpty == true)
    }
    // Rules that count nothing need no store.
    #expect(
      try decider("  - { name: a, kind: field, field: X, equals: a }", store).ruledAtOnce(
        facts, taking: true)?
        .denial?.code == .denied)
  }

  @Test func `the kill switch goes before the app, by the app that is meant`() async throws {
    let store = memoryStore()
    let decider = try decider(
      "  - { name: a, kind: field, field: X, equals: a }", store,
      apps: [
        App(id: "shop", callers: ["a"], scope: nil), App(id: "help", callers: nil, scope: nil),
      ])
    func code(_ caller: String, _ name: Request.QueryItem, _ action: Action = .access) -> Problem.Code? {
      do throws(Decider.Refusal) {
        _ = try decider.admit(
          Applicant(
            callerID: caller, installedFor: nil, hasOwnSubject: false, isInstallation: false, ownerID: nil),
          to: action, app: name)
        return nil
      } catch {
        return error.problem.code
      }
    }
    #expect(code("a", .absent) == nil && code("b", .absent) == nil)
    try await decider.stops.stop(Stop(.app("shop"), .one(.access), since: 0))
    #expect(code("a", .absent) == .stopped && code("a", .value("shop")) == .stopped)
    #expect(code("a", .absent, .callback) == nil)
    #expect(code("a", .value("help")) == nil && code("b", .absent) == nil)
    // `stopped` takes precedence over a caller that is not listed, and over an unknown app only if everything
    // is stopped for the caller.
    #expect(code("b", .value("shop")) == .stopped)
    #expect(code("b", .value("none")) == .unknownApp)
    try await decider.stops.stop(Stop(.caller("b"), .all, since: 0))
    #expect(code("b", .value("none")) == .stopped && code("b", .absent, .callback) == .stopped)
  }

  @Test func `an explanation uses what is counted, and takes nothing`() async throws {
    let decider = try decider(Self.quota, ScriptedStore(sharing: .instances))
    let configuration = try Fixture.load("rules:\n\(Self.quota)", environment: [:], for: .explain)
      .configuration
    var question = Question()
    question.action = "access"
    question[.at] = facts.instant.rfc3339
    let inquiry = try question.inquiry(configuration, now: facts.instant)
    for _ in 0..<5 { #expect(await decider.explain(inquiry).isAllowed) }
    question.counts = [("daily", 3)]
    let full = try question.inquiry(configuration, now: facts.instant)
    #expect(await decider.explain(full).decisionLine == "decision: deny quota_exhausted daily")
  }
}
