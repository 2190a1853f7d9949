// Tests that requests, probes, explanations and rule tests all reach the same verdicts, over random rules.

import Gate
import HTTP
import JSON
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
@testable import Diagnosis
@testable import RoomSupport

/// Every way to a verdict gives the same result, to the byte, over random rules, requests and clocks.
@Suite struct OneDecisionTests {
  /// Answers in place of remote policies, as a case says.
  private final class Policies: HTTPTransport {
    let answers = Mutex<[String: RemoteAnswer]>([:])

    func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
      let name = String(request.url.dropFirst("https://policy.example/".count))
      let content =
        switch answers.withLock({ $0[name] }) {
        case .allow?: "true"
        case .deny?: #"{"result":{"allow":false,"reason":"because"}}"#
        case .failed?, nil: "perhaps"
        }
      return InboundResponse(status: 200, fields: [:], content: Array(content.utf8))
    }
  }

  /// One request, with the allowances used and the answers of remote policies.
  private struct Case {
    let request: RandomRequest
    let counts: [String: Int64]
    let remotes: [String: RemoteAnswer]
  }

  private static let environment = """
    callers:
      - { id: ios-app, api_key: { sha256: \(String(repeating: "1", count: 64)) } }
      - { id: partner, api_key: { sha256: \(String(repeating: "2", count: 64)) } }
      - { id: app-users, jwt: { issuer: a, audience: b, hs256_secret_file: /not/opened } }
    allow_anonymous: true
    availability: { live: { query: agents } }
    apps:
      shop: { callers: [ios-app, app-users] }
      help: { callers: [partner, anonymous] }
      open: {}
      news: { delivery: push, installations: { authorize: [user] } }
      chat: { desk: chat, callers: [app-users] }
      silent: { desk: silent, callers: [app-users, partner] }
    desks:
      chat: { kind: sendbird, application_id: A, api_token_file: /not/opened, desk_api_token_file: /not/opened }
      silent: { kind: sendbird, application_id: B, api_token_file: /not/opened }

    """

  private let policies = Policies()

  private func roll(_ policy: Policy, _ dice: inout SeededGenerator) -> Case {
    var counts: [String: Int64] = [:]
    var remotes: [String: RemoteAnswer] = [:]
    for rule in policy.rules {
      switch rule.kind {
      case .rate, .quota: if dice.chance(60) { counts[rule.name] = Int64(dice.below(13)) }
      case .remote: remotes[rule.name] = dice.one(of: [.allow, .allow, .deny(reason: nil), .undecided])
      default: break
      }
    }
    // Brakes are counted like rules, but their limits are far higher than the counts of rules.
    for brake in Brake.allCases where brake != .lookups && dice.chance(20) {
      counts[brake.ruleName] = Int64(dice.below(brake == .number ? 9 : 1100))
    }
    return Case(request: RandomRequest(&dice), counts: counts, remotes: remotes)
  }

  /// The decider for an authenticated request. The store contains the allowances that the case has used.
  private func decider(_ configuration: Configuration, _ store: any Store) -> Decider {
    Decider(
      apps: AppRegistry(configuration.servedApps), policy: configuration.policy,
      stops: StopBoard(store: store, clock: SystemClock()), ledger: AllowanceLedger(store: store),
      remotes: RemotePolicies(transport: policies, log: nil))
  }

  private func facts(_ request: RandomRequest, _ policy: Policy) throws -> (Facts, Caller) {
    var question = Question()
    try question.setClaims(json: request.claims)
    let caller = Caller(
      authenticated: request.caller ?? Caller.anonymousID, by: request.caller == "app-users" ? .jwt : .basic,
      subject: request.subject, claims: question.claims)
    var facts = Facts(
      action: request.action, callerID: caller.id, subject: caller.subject,
      address: IPAddress(request.address), phone: try request.phone.map { try E164($0) },
      claims: caller.claims, instant: request.instant)
    facts.fields = request.fields.map { RequestField(name: $0.name, value: $0.value) }
      .filter { policy.fieldNames.contains($0.name) }
    return (facts, caller)
  }

  /// A decision and every rule's verdict.
  private struct Found: Equatable {
    var code: String?
    var rule: String?
    var verdicts: [RuleVerdict]

    var isAllowed: Bool { code == nil }
  }

  private func found(_ explanation: Explanation) -> Found {
    Found(code: explanation.code, rule: explanation.rule, verdicts: Array(explanation.verdicts))
  }

  /// Decides as for a real request: the app, the rules, and the allowances, taken or not.
  private func live(_ a: Case, _ configuration: Configuration, _ store: any Store, taking: Bool) async throws
    -> Found
  {
    let policy = configuration.policy
    let decider = decider(configuration, store)
    var (facts, caller) = try facts(a.request, policy)
    do throws(Decider.Refusal) {
      facts.appID = try decider.admit(
        Applicant(caller), to: facts.action, app: a.request.app.map { .value($0) } ?? .absent)?.id
    } catch {
      return Found(code: error.problem.code.rawValue, verdicts: Array(policy.skipped))
    }
    try await use(a.counts, of: policy, facts, store)
    let ruling = try await decider.ruled(facts, taking: taking)
    if let denial = ruling.denial { #expect(policy.reason(for: denial, of: facts) != nil) }
    return Found(
      code: ruling.denial.map { Problem($0).code.rawValue }, rule: ruling.denial?.rule,
      verdicts: Array(ruling.verdicts))
  }

  /// Saves the allowances that a request's party has used.
  private func use(
    _ counts: [String: Int64], of policy: Policy, _ facts: Facts, _ store: any Store
  ) async throws {
    let counted = try CountedStates(policy: policy, counts: counts, at: facts.instant)
    for key in policy.charges(for: facts).map(\.key) {
      guard case .state(let state) = counted.lookup(key) else { continue }
      try await store.update([key], at: facts.instant) { _, _ in
        AllowanceUpdate(writes: [.put(state, expiry: .max)], result: ())
      }
    }
  }

  private func question(_ a: Case, counts: Bool) throws -> Question {
    var question = Question()
    question.action = a.request.action.rawValue
    question[.caller] = a.request.caller ?? Caller.anonymousID
    question[.subject] = a.request.subject
    question[.app] = a.request.app
    question[.address] = a.request.address
    // An access request has no number, but a question may have one.
    question[.phone] = a.request.phone ?? "+14155550100"
    question[.at] = a.request.instant.rfc3339
    question.fields = a.request.fields
    try question.setClaims(json: a.request.claims)
    if counts { question.counts = a.counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    return question
  }

  /// The case as a line in a table of rule tests, which expects the decision found.
  private func test(_ a: Case, _ found: Found) -> String {
    let request = a.request
    func text(_ value: String) -> String {
      String(decoding: JSONValue.string(value).serialized(), as: UTF8.self)
    }
    var parts = ["name: test", "action: \(request.action.rawValue)", "at: \"\(request.instant.rfc3339)\""]
    parts.append("caller: \(request.caller ?? Caller.anonymousID)")
    if let subject = request.subject { parts.append("subject: \(subject)") }
    if let app = request.app { parts.append("app: \(app)") }
    if let phone = request.phone { parts.append("phone: \"\(phone)\"") }
    parts.append("address: \"\(request.address)\"")
    parts.append("claims: \(request.claims)")
    let named = Dictionary(grouping: request.fields) { $0.name.lowercased() }
    let fields = named.sorted { $0.key < $1.key }.map { name, values in
      "\(name): [" + values.map { text($0.value) }.joined(separator: ", ") + "]"
    }
    parts.append("fields: { \(fields.joined(separator: ", ")) }")
    let counts = a.counts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    parts.append("counts: { \(counts.joined(separator: ", ")) }")
    let remotes = a.remotes.sorted { $0.key < $1.key }.map { name, answer in
      "\(name): \(answer == .allow ? "allow" : answer == .undecided ? "fail" : "deny")"
    }
    parts.append("remote: { \(remotes.joined(separator: ", ")) }")
    parts.append(
      found.isAllowed
        ? "expect: allow" : "expect: deny, code: \(found.code ?? ""), rule: \"\(found.rule ?? "-")\"")
    return "  - { \(parts.joined(separator: ", ")) }\n"
  }

  @Test(arguments: 0..<rounds(6, of: 12))
  func `requests, probes, both explanations and tables of tests have the same verdicts`(_ seed: Int)
    async throws
  {
    var dice = SeededGenerator(UInt64(seed) &* 7919)
    var outcomes: [String: Int] = [:]
    for _ in 0..<7 {
      let yaml = Self.environment + RandomRules().yaml(dice.below(9), &dice)
      let configuration = try Fixture.load(yaml, environment: [:], for: .explain).configuration
      let offline = OfflineRules(configuration, transport: policies)
      var table = "tests:\n"
      for _ in 0..<20 {
        let a = roll(configuration.policy, &dice)
        policies.answers.withLock { $0 = a.remotes }
        let found = try await live(a, configuration, memoryStore(), taking: true)
        outcomes[found.code ?? "allow", default: 0] += 1
        let distant = try await live(a, configuration, ScriptedStore(sharing: .instances), taking: true)
        let probe = try await live(a, configuration, memoryStore(), taking: false)
        let distantProbe = try await live(a, configuration, ScriptedStore(sharing: .instances), taking: false)
        let explained = try await offline.explain(try question(a, counts: true))
        // As an operator asks a running server: once about the allowances used there, and once with counts in
        // the question.
        let store = memoryStore()
        let running = decider(configuration, store)
        var (facts, caller) = try facts(a.request, configuration.policy)
        // If the app is refused, no allowance is looked up.
        let name = a.request.app.map { Request.QueryItem.value($0) } ?? .absent
        facts.appID = try? running.admit(Applicant(caller), to: facts.action, app: name)?.id
        try await use(a.counts, of: configuration.policy, facts, store)
        let used = await running.explain(
          try question(a, counts: false).inquiry(configuration, now: Instant(seconds: 0)))
        let told = await running.explain(
          try question(a, counts: true).inquiry(configuration, now: Instant(seconds: 0)))
        for other in [distant, probe, distantProbe, self.found(explained)] {
          #expect(other == found, "\(a) of \(yaml)")
        }
        // The reasons are the same, too.
        for other in [used, told] { #expect(other.json == explained.json, "\(a) of \(yaml)") }
        table += test(a, found)
      }
      try expect(table: table, of: configuration)
    }
    // Random cases that all end alike would prove nothing.
    #expect(outcomes["allow", default: 0] > 20 && outcomes["denied", default: 0] > 10, "\(outcomes)")
    #expect(outcomes.count >= 6, "\(outcomes)")
  }

  private func expect(table: String, of configuration: Configuration) throws {
    guard table != "tests:\n" else { return }
    let result = try OfflineRules(configuration, transport: nil)
      .test("tests.yaml", files: Fixture.reader(["tests.yaml": Fixture.content(table)]))
    #expect(result.failures == [])
    #expect(result.passed > 0)
  }
}
