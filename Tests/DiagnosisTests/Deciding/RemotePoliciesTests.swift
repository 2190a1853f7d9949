// Tests of how the server asks remote policies and reads their responses.

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

/// A transport with scripted answers that records its requests.
private final class Scripted: HTTPTransport {
  let requests = Mutex<[OutboundRequest]>([])
  private let answer: @Sendable (Int) throws(TransportError) -> InboundResponse

  init(_ answer: @escaping @Sendable (Int) throws(TransportError) -> InboundResponse) { self.answer = answer }

  convenience init(_ content: String, status: Int = 200) {
    self.init { _ throws(TransportError) in
      InboundResponse(status: status, fields: [:], content: Array(content.utf8))
    }
  }

  func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
    let number = requests.withLock { requests in
      requests.append(request)
      return requests.count
    }
    return try answer(number)
  }
}

@Suite struct RemotePoliciesTests {
  private let time = ManualTime()

  private func rules(_ onFailure: String, mode: String, dialect: String = "opa") -> String {
    """
      - { name: daily, kind: quota, key: subject, limit: 1, per: day }
      - { name: fraud, kind: remote, url: "https://policy.example/v1/data/callgate/allow", timeout: 250ms,
          on_failure: \(onFailure), mode: \(mode), dialect: \(dialect) }
      - { name: recent, kind: field, field: X-App-Version, at_least: "2" }
    """
  }

  private var facts: Facts {
    var facts = Facts(
      action: .callback, callerID: "ios-app", subject: "ann", appID: "shop",
      address: IPAddress("203.0.113.9"),
      phone: E164.example, instant: Instant(seconds: 1_790_000_000))
    facts.claims = [FactMember("tier", .string("gold")), FactMember("age", .number("1.50"))]
    facts.fields = [RequestField(name: "X-App-Version", value: "3")]
    return facts
  }

  private func ruling(
    _ transport: Scripted, onFailure: String = "deny", mode: String = "enforce",
    dialect: String = "opa", app: String? = "shop", store: any Store = memoryStore(),
    deadline: MonotonicTime? = nil
  ) async throws -> Ruled {
    var facts = facts
    facts.appID = app
    let decider = Decider(
      apps: AppRegistry([]), policy: try Fixture.policy(rules(onFailure, mode: mode, dialect: dialect)),
      stops: StopBoard(store: store, clock: SystemClock()), ledger: AllowanceLedger(store: store),
      remotes: RemotePolicies(transport: transport, log: nil, time: time))
    return try await decider.ruled(facts, taking: true, deadline: deadline)
  }

  @Test func `a policy is asked in the form of OPA's data API`() async throws {
    let transport = Scripted(#"{"result":true}"#)
    #expect(try await ruling(transport).grant != nil)
    let requests = transport.requests.withLock { $0 }
    #expect(requests.count == 1)
    let request = try #require(requests.first)
    #expect(request.method == .post)
    #expect(request.url == "https://policy.example/v1/data/callgate/allow")
    #expect(request.timeout == .milliseconds(250))
    #expect(request.fields["Content-Type"] == "application/json")
    #expect(
      String(decoding: request.content, as: UTF8.self)
        == #"{"input":{"action":"callback","caller":"ios-app","subject":"ann","app":"shop","#
        + #""address":"203.0.113.9","phone":"+14155550100","claims":{"tier":"gold","age":1.50},"#
        + #""fields":{"x-app-version":"3"},"time":"2026-09-21T14:13:20Z"}}"#)
  }

  @Test(arguments: ["shop", nil])
  func `a policy of AuthZEN is asked for an evaluation, with the facts as its context`(app: String?)
    async throws
  {
    let transport = Scripted(#"{"decision":true}"#)
    #expect(try await ruling(transport, dialect: "authzen", app: app).grant != nil)
    let content = try #require(transport.requests.withLock { $0.first }).content
    let member = app.map { #""app":"\#($0)","# } ?? ""
    #expect(
      String(decoding: content, as: UTF8.self)
        == #"{"subject":{"type":"user","id":"ann"},"action":{"name":"callback"},"#
        + #""resource":{"type":"callback","id":"\#(app ?? "-")"},"#
        + #""context":{"action":"callback","caller":"ios-app","subject":"ann",\#(member)"#
        + #""address":"203.0.113.9","phone":"+14155550100","claims":{"tier":"gold","age":1.50},"#
        + #""fields":{"x-app-version":"3"},"time":"2026-09-21T14:13:20Z"}}"#)
  }

  @Test(arguments: [
    (#"{"decision":false}"#, nil), (#"{"decision":false,"context":{"id":"0"}}"#, nil),
    (#"{"decision":false,"context":{"reason_admin":"risk 97","reason_user":"no"}}"#, "risk 97"),
    (
      #"{"decision":false,"context":{"reason_admin":{"pt":"risco","en":"risk of +14155550100"}}}"#,
      "risk of +*********00"
    ),
    (#"{"decision":false,"context":{"reason_admin":{"403":"risk 97"}}}"#, "risk 97"),
    (#"{"decision":false,"context":{"reason_admin":{"en":97}}}"#, nil),
  ])
  func `an AuthZEN decision of false is a refusal, its reason for operators`(answer: String, reason: String?)
    async throws
  {
    let ruling = try await ruling(Scripted(answer), onFailure: "allow", dialect: "authzen")
    #expect(ruling.denial?.rule == "fraud" && ruling.reason == reason)
    #expect(!"\(Problem(try #require(ruling.denial)))".contains("risk"))
  }

  @Test(arguments: [
    "true", "{}", #"{"decision":"true"}"#, #"{"result":true}"#, #"{"allow":true}"#, #"{"decision":null}"#,
    #"{"decision":true,"decision":false}"#, #"{"result":{"decision":true}}"#,
  ])
  func `an AuthZEN answer without a decision is a failure`(answer: String) async throws {
    #expect(try await ruling(Scripted(answer), dialect: "authzen").denial?.rule == "fraud")
    #expect(try await ruling(Scripted(answer), onFailure: "allow", dialect: "authzen").grant != nil)
  }

  @Test(arguments: [
    "true", #"{"result":true}"#, #"{"allow":true}"#, #"{"result":{"allow":true,"reason":"fine"}}"#,
  ])
  func `yes is yes in every form`(answer: String) async throws {
    #expect(try await ruling(Scripted(answer)).grant != nil)
  }

  @Test(arguments: [
    ("false", nil), (#"{"result":false}"#, nil), (#"{"allow":false,"reason":"risk 97"}"#, "risk 97"),
    (#"{"result":{"allow":false,"reason":"risk 97"}}"#, "risk 97"),
  ])
  func `no is no in every form, with its reason`(answer: String, reason: String?) async throws {
    let ruling = try await ruling(Scripted(answer), onFailure: "allow")
    #expect(ruling.denial?.code == .denied)
    #expect(ruling.denial?.rule == "fraud")
    #expect(ruling.reason == reason)
    #expect(ruling.verdicts.prefix(4).map(\.verdict) == [.allow, .deny, .skipped, .skipped])
    // The reason is not for the caller.
    let problem = Problem(try #require(ruling.denial))
    #expect(!"\(problem)".contains("risk"))
  }

  @Test(arguments: [
    "", "{", "null", "1", #""true""#, "{}", "[]", #"{"result":{}}"#, #"{"result":null}"#,
    #"{"result":true,"allow":false}"#, #"{"allow":"true"}"#, #"{"allow":true,"allow":false}"#,
  ])
  func `anything else is a failure, and the rule says what that means`(answer: String) async throws {
    #expect(try await ruling(Scripted(answer)).denial?.rule == "fraud")
    #expect(try await ruling(Scripted(answer), onFailure: "allow").grant != nil)
  }

  /// The ruling when an appointment with these facts is due.
  private func rulingWhenDue(_ transport: Scripted, deadline: MonotonicTime? = nil) async throws -> Ruled {
    let store = memoryStore()
    let decider = Decider(
      apps: AppRegistry([]), policy: try Fixture.policy(rules("deny", mode: "enforce")),
      stops: StopBoard(store: store, clock: SystemClock()), ledger: AllowanceLedger(store: store),
      remotes: RemotePolicies(transport: transport, log: nil, time: time))
    var facts = facts
    facts.fields = []
    facts.at = Instant(seconds: facts.instant.seconds)
    let ruled = Ruled(try await decider.ruleAgain(facts, asking: .whenDue, deadline: deadline))
    // The quota of one per day is untouched.
    #expect(try await decider.ruled(self.facts, taking: true).grant?.receipts.count ?? 4 == 4)
    return ruled
  }

  @Test func `when an appointment is due a policy is asked again, and nothing is taken`() async throws {
    let granted = try await rulingWhenDue(Scripted("true"))
    #expect(granted.grant?.receipts.isEmpty == true && granted.statuses.isEmpty)
    #expect(granted.verdicts.prefix(3).map(\.verdict) == [.skipped, .allow, .skipped])
    let refused = try await rulingWhenDue(Scripted(#"{"allow":false,"reason":"risk 97"}"#))
    #expect(refused.denial?.rule == "fraud" && refused.reason == "risk 97")
    await #expect(throws: Problem.self) { try await rulingWhenDue(Scripted("true"), deadline: time.now) }
  }

  @Test(arguments: [400, 404, 500, 302, 201]) func `so is any status but 200`(status: Int) async throws {
    #expect(try await ruling(Scripted("true", status: status)).denial?.rule == "fraud")
    #expect(try await ruling(Scripted("false", status: status), onFailure: "allow").grant != nil)
  }

  @Test func `so is no answer`() async throws {
    let failing = { @Sendable (_: Int) throws(TransportError) -> InboundResponse in
      throw TransportError(.timedOut, sent: true, detail: "too late")
    }
    #expect(try await ruling(Scripted(failing)).denial?.rule == "fraud")
    #expect(try await ruling(Scripted(failing), onFailure: "allow").grant != nil)
  }

  @Test(arguments: [
    ("perhaps", 200, "its response is not JSON"), ("{}", 200, "its response is neither true nor false"),
    ("true", 500, "it responded with status 500"),
  ])
  func `a refusal without a decision differs from a policy's own`(
    content: String, status: Int, cause: String
  ) async throws {
    let ruling = try await ruling(Scripted(content, status: status))
    #expect(ruling.reason == "the policy gave no decision: \(cause)")
    #expect(!"\(Problem(try #require(ruling.denial)))".contains("policy gave"))
    let audited = try await self.ruling(Scripted(content, status: status), mode: "audit")
    #expect(audited.reason == "the policy gave no decision: \(cause)")
    #expect(audited.verdicts.prefix(4).map(\.verdict) == [.allow, .wouldDeny, .allow, .allow])
  }

  @Test(arguments: [
    (TransportError.Reason.connect, "its server cannot be reached"),
    (.timedOut, "its server did not respond in time"),
    (.nameResolution, "its server has no address"),
  ])
  func `no answer has its cause`(reason: TransportError.Reason, cause: String) async throws {
    let ruling = try await ruling(failing(reason))
    #expect(ruling.reason == "the policy gave no decision: \(cause)")
  }

  /// The problem that a caller gets instead of a decision.
  private func problem(
    _ transport: Scripted, onFailure: String, store: any Store = memoryStore(),
    deadline: MonotonicTime? = nil
  ) async throws -> Problem {
    do {
      _ = try await ruling(transport, onFailure: onFailure, store: store, deadline: deadline)
      throw NoProblem()
    } catch let problem as Problem {
      return problem
    }
  }

  private struct NoProblem: Error {}

  private func failing(_ reason: TransportError.Reason) -> Scripted {
    Scripted { _ throws(TransportError) in
      throw TransportError(
        reason, sent: reason == .timedOut, detail: "", retryAfter: reason == .overloaded ? .seconds(3) : nil)
    }
  }

  @Test(arguments: ["deny", "allow"])
  func `a policy that was not asked for want of a place decides nothing, whatever its rule says of failures`(
    onFailure: String
  ) async throws {
    let store = memoryStore()
    let problem = try await problem(failing(.overloaded), onFailure: onFailure, store: store)
    #expect(problem.code == .overloaded)
    #expect(problem.retryAfter == 3)
    #expect(problem.rule == nil)
    // Nothing was taken.
    #expect(try await ruling(Scripted("true"), store: store).grant != nil)
  }

  @Test func `an explanation says that a policy had no place for its query`() async throws {
    let rules = "rules: [{ name: fraud, kind: remote, url: \"https://policy.example/\", on_failure: allow }]"
    let configuration = try Fixture.load(rules, environment: [:], for: .explain).configuration
    var question = Question()
    question.action = "access"
    let explanation = try await OfflineRules(configuration, transport: failing(.overloaded)).explain(question)
    #expect(explanation.decisionLine == "decision: deny overloaded -")
    #expect(
      explanation.summary
        == "Refused without a rule (overloaded): too many queries wait for a policy.")
    #expect(explanation.verdictLines == ["fraud  skipped  not reached: no rule was evaluated"])
  }

  @Test(arguments: ["deny", "allow"]) func `nor does one that had less than its time, for others before it`(
    onFailure: String
  ) async throws {
    let curtailed = Scripted { _ throws(TransportError) in
      var error = TransportError(.timedOut, sent: true, detail: "")
      error.isCurtailed = true
      throw error
    }
    #expect(try await problem(curtailed, onFailure: onFailure).code == .overloaded)
  }

  @Test func `a rule in audit mode that could not be asked refuses nothing`() async throws {
    let ruling = try await ruling(failing(.overloaded), mode: "audit")
    #expect(ruling.grant != nil)
    #expect(ruling.verdicts.prefix(4).map(\.verdict) == [.allow, .skipped, .allow, .allow])
  }

  @Test
  func
    `a rule in audit mode has half of the time that is left, and what it does not answer in it refuses nothing`()
    async throws
  {
    let transport = failing(.timedOut)
    let ruling = try await ruling(transport, mode: "audit", deadline: time.now + .milliseconds(100))
    #expect(ruling.grant != nil)
    #expect(ruling.verdicts.prefix(4).map(\.verdict) == [.allow, .skipped, .allow, .allow])
    #expect(transport.requests.withLock { $0.map(\.timeout) } == [.milliseconds(50)])
  }

  @Test func `a policy has no more time than its request`() async throws {
    let transport = Scripted("true")
    #expect(try await ruling(transport, deadline: time.now + .milliseconds(100)).grant != nil)
    #expect(try await ruling(transport, deadline: time.now + .seconds(100)).grant != nil)
    #expect(transport.requests.withLock { $0.map(\.timeout) } == [.milliseconds(100), .milliseconds(250)])
    #expect(
      transport.requests.withLock { $0.map(\.reuse) } == [.allowedAndRepeatable, .allowedAndRepeatable])
  }

  @Test(arguments: ["deny", "allow"])
  func `a request whose time is over is over, whatever the rule says of failures`(
    onFailure: String
  ) async throws {
    let cut = try await problem(
      failing(.timedOut), onFailure: onFailure, deadline: time.now + .milliseconds(100))
    #expect(cut.code == .upstreamTimeout)
    let transport = Scripted("true")
    #expect(try await problem(transport, onFailure: onFailure, deadline: time.now).code == .upstreamTimeout)
    #expect(transport.requests.withLock { $0 }.isEmpty, "there was no time to ask")
    // If the policy had its full time, a timeout is the policy's failure.
    let whole = try await ruling(
      failing(.timedOut), onFailure: onFailure, deadline: time.now + .milliseconds(250))
    #expect((whole.grant != nil) == (onFailure == "allow"))
  }

  @Test(arguments: [
    ("risk 97 of 100", "risk 97 of 100"), ("+14155550100 is listed", "+*********00 is listed"),
    ("call 123456", "call 123456"), ("version 2.3.1", "version 2.3.1"), ("", ""),
    (String(repeating: "a", count: 300), String(repeating: "a", count: 256)),
    ("ring +1 415-555-0100 (home)", "ring +* ***-***-**00 (home)"),
    ("(0351) 21.234.5678", "(****) **.***.**78"),
    ("closed until 2026-12-25 09:00", "closed until 2026-12-25 09:00"),
    ("2026-12-250", "****-**-*50"), ("1 of 12 34", "1 of 12 34"),
  ])
  func `a reason quotes no number and does not go on for ever`(reason: String, printed: String) {
    #expect(RemotePolicies.printable(reason) == printed)
  }

  @Test func `a denial takes nothing, and later policies get no query`() async throws {
    let store = memoryStore()
    #expect(try await ruling(Scripted("false"), store: store).denial != nil)
    // The day's one request is still available.
    #expect(try await ruling(Scripted("true"), store: store).grant != nil)
    let transport = Scripted("true")
    #expect(try await ruling(transport, store: store).denial?.code == .quotaExhausted)
    #expect(transport.requests.withLock { $0 }.isEmpty)
  }

  @Test func `what is taken while a policy thinks is not taken twice`() async throws {
    let store = memoryStore()
    // The quota is one. Several requests pass its rule before any of them takes it.
    let rulings = try await withThrowingTaskGroup(of: Ruled.self) { group in
      for _ in 0..<8 { group.addTask { try await ruling(Scripted("true"), store: store) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(rulings.count { $0.grant != nil } == 1)
    #expect(rulings.count { $0.denial?.code == .quotaExhausted } == 7)
  }
}

extension E164 {
  /// A number that nobody has.
  fileprivate static var example: E164? {
    do { return try E164("+14155550100") } catch { return nil }
  }
}
