// Reads and runs the tables of tests that operators write for their rules (`callgate rules test`).

public import Documents
import Platform

/// The configuration that a table of tests needs besides the rules.
public struct RuleTestContext: Sendable {
  /// The result of the server's checks before the rules are evaluated.
  public enum Admission: Sendable {
    /// The rules decide on these facts, which include the request's app.
    case admitted(Facts)
    /// The server refuses the request before any rule, for this reason.
    case refused(Denial, because: String)
    /// The test does not say enough, or contradicts itself.
    case mistake(Refusal)
  }

  /// The callers, apps and settings that the configuration defines for its rules.
  public var known: KnownNames
  /// The time of tests that give none.
  public var now: Instant
  /// Checks a request as the server does before it evaluates the rules, and finds its app. In the facts,
  /// caller and app are nil if the test names none. The owner is the caller of the user whose installation
  /// sends the request; nil if the test names none.
  public var admission: @Sendable (_ facts: Facts, _ owner: String?) -> Admission

  /// Creates a context. Without `admission`, a request is for the app that it names.
  public init(
    known: KnownNames = KnownNames(), now: Instant,
    admission: @escaping @Sendable (Facts, String?) -> Admission = { facts, _ in .admitted(facts) }
  ) {
    self.known = known
    self.now = now
    self.admission = admission
  }
}

/// One test of the table.
public struct RuleTest: Sendable {
  /// The test's name.
  public let name: String
  /// The position of the test in its file.
  public let place: DocumentPlace
  let facts: Facts
  let isBlocked: Bool
  let states: CountedStates
  let answers: [String: RemoteAnswer]
  let refusal: (denial: Denial, reason: String)?
  let expectation: Expectation

  /// The expected decision. Code and rule count only if they are given.
  struct Expectation: Sendable {
    var allows: Bool
    var code: String?
    var rule: String?

    var text: String {
      allows ? "allow" : "deny" + [code, rule].compactMap { $0 }.map { " \($0)" }.joined()
    }
  }

  /// Evaluates the rules. Returns nil if the decision is as expected. Otherwise returns the expected and the
  /// actual decision, and the reason.
  public func failure(under policy: Policy) -> String? {
    let decision =
      refusal == nil
      ? policy.decide(facts, states: states, isBlocked: isBlocked, remote: { answers[$0.rule] ?? .notAsked })
      : nil
    let denial = refusal?.denial ?? decision?.denial
    let found = Expectation(
      allows: denial == nil, code: denial?.code.rawValue, rule: denial.map { $0.rule ?? "-" })
    guard
      found.allows == expectation.allows, expectation.code == nil || expectation.code == found.code,
      expectation.rule == nil || expectation.rule == found.rule
    else {
      let reason = refusal?.reason ?? decision.flatMap(reason)
      return "expected \(expectation.text), got \(found.text)" + (reason.map { ": \($0)" } ?? "")
    }
    return nil
  }

  /// Why the rule that refused did so, or why the rule that should have refused did not.
  private func reason(_ decision: Decision) -> String? {
    let name = decision.denial?.rule ?? expectation.rule
    guard let index = decision.verdicts.firstIndex(where: { $0.rule == name }) else { return nil }
    let (rule, verdict) = (decision.verdicts[index].rule, decision.verdicts[index].verdict)
    if decision.answers[index] == .notAsked {
      return "\(rule) was not stubbed: add remote: { \(rule): allow }"
    }
    let reason = decision.reasons(of: facts, states: states)[index].text
    return switch verdict {
    case .deny: reason
    case .allow: "\(rule) allows it, since \(reason)"
    case .wouldDeny: "\(rule) is in audit mode; \(reason)"
    case .skipped: "\(rule) was skipped, since \(reason)"
    }
  }
}

/// The result of reading a table of tests.
public enum RuleTestReading: Sendable {
  case tests([RuleTest])
  /// The problems; at least one.
  case problems([DocumentProblem])
}

extension Policy {
  /// Reads a file with a list under `tests`.
  public func readingTests(_ node: DocumentNode, context: RuleTestContext) -> RuleTestReading {
    var file = MappingReader(node, path: "", remedy: "write a list of tests under \"tests\"")
    var tests: [RuleTest] = []
    if case .list(let items)? = file.node("tests")?.content, !items.isEmpty {
      for (index, item) in items.enumerated() {
        let reader = RuleTestReader(policy: self, context: context)
        let (test, problems) = reader.read(item, path: "tests[\(index)]")
        file.report(problems)
        if let test { tests.append(test) }
      }
    } else if file.problems.isEmpty {
      file.report(
        Refusal(
          at: "tests", "there is no list of tests",
          "write a list under \"tests\", each as { name: …, expect: allow }"))
    }
    file.finish(TestKeys.file)
    return file.problems.isEmpty ? .tests(tests) : .problems(file.problems.sorted { $0.place < $1.place })
  }
}

/// Reads one test of a table.
struct RuleTestReader {
  let policy: Policy
  let context: RuleTestContext

  func read(_ node: DocumentNode, path: String) -> (RuleTest?, [DocumentProblem]) {
    var mapping = MappingReader(node, path: path, remedy: "write a test as { name: …, expect: allow }")
    let name = mapping.value(TestKeys.name)
    let code = mapping.value(TestKeys.code)
    let facts = facts(&mapping, expecting: code)
    let owner = mapping.value(TestKeys.owner)
    var counts: [String: Int64] = [:]
    for member in mapping.members(TestKeys.counts, "write { daily: 5 }") ?? [] {
      counts[member.name] = mapping.value(member.value, at: "counts.\(member.name)", .wholeNumber)
    }
    var answers: [String: RemoteAnswer] = [:]
    for member in mapping.members(TestKeys.remote, "write { fraud: allow }") ?? [] {
      let key = "remote.\(member.name)"
      guard let answer = mapping.value(member.value, at: key, TestKeys.answer) else { continue }
      guard policy.rules.contains(where: { $0.name == member.name && $0.kind.word == .remote }) else {
        mapping.report(
          Refusal(
            at: key, "there is no remote rule \(quoted(member.name))", "name a rule of the kind remote"))
        continue
      }
      answers[member.name] =
        answer == .allow
        ? .allow : answer == .deny ? .deny(reason: nil) : .failed(because: "the test sets this")
    }
    let isBlocked = mapping.value(TestKeys.blocked) ?? false
    let expectation = expectation(&mapping, code)
    mapping.finish(TestKeys.all)
    let states = mapping.attempt { () throws(Refusal) in
      try CountedStates(policy: policy, counts: counts, at: facts.instant)
    }
    guard mapping.problems.isEmpty, let name, let expectation, let states else {
      return (nil, mapping.problems)
    }
    var resolved = facts
    var refusal: (denial: Denial, reason: String)?
    switch context.admission(facts, owner) {
    case .admitted(let admitted): resolved = admitted
    case .refused(let denial, let reason): refusal = (denial, reason)
    case .mistake(let mistake):
      mapping.report(mistake)
      return (nil, mapping.problems)
    }
    return (
      RuleTest(
        name: name, place: node.place, facts: resolved, isBlocked: isBlocked && facts.phone != nil,
        states: states, answers: answers, refusal: refusal,
        expectation: expectation), []
    )
  }

  /// The facts of a test. Without `at`, the time is `context.now`; without `action`, the action is `access`;
  /// without `proven`, the number is not proven. Any other fact that the test does not give is missing.
  private func facts(_ mapping: inout MappingReader, expecting code: DenialCode?) -> Facts {
    var claims: [FactMember] = []
    for member in mapping.members(TestKeys.claims, "write { tier: gold }") ?? [] {
      claims.append(FactMember(member.name, Self.value(member.value)))
    }
    var fields: [RequestField] = []
    for member in mapping.members(TestKeys.fields, "write { X-App-Version: \"2.3.0\" }") ?? [] {
      for (value, _) in mapping.values(member.value, at: "fields.\(member.name)", TestKeys.fieldValue) ?? [] {
        // Remove the white space around the value, as HTTP does (RFC 9110 §5.5).
        let value = value.drop { " \t".contains($0) }.reversed().drop { " \t".contains($0) }.reversed()
        fields.append(RequestField(name: member.name, value: String(value)))
      }
    }
    let now = mapping.value(TestKeys.at) ?? context.now
    let number = NumberEvidence(
      isRemembered: mapping.value(TestKeys.proven) ?? false,
      consent: mapping.value(TestKeys.consent).map { GivenConsent(text: $0, at: now) },
      screening: mapping.value(TestKeys.screened).map { answer in
        switch answer {
        case .allow: .allowed(isUnknown: false)
        case .refuse: .refused(setting: "validation")
        case .unknown: .failed("the test sets this")
        }
      })
    return Facts(
      action: mapping.value(TestKeys.action) ?? .access,
      callerID: mapping.value(TestKeys.caller(context.known.callers)),
      subject: mapping.value(TestKeys.subject), installation: nil,
      // Only a test that expects this code may name an unknown app. In any other test the name is a mistake.
      appID: mapping.value(TestKeys.app(code == .unknownApp ? nil : context.known.apps)),
      address: mapping.value(TestKeys.address), phone: mapping.value(TestKeys.phone), claims: claims,
      fields: fields, instant: now, at: nil,
      agents: mapping.value(TestKeys.agents), number: number)
  }

  /// The value of a claim. A scalar becomes a string, because rules compare numbers and booleans by their
  /// text.
  private static func value(_ node: DocumentNode) -> FactValue {
    switch node.content {
    case .text(let text, _): node.isNothing ? .null : .string(text)
    case .list(let items): .array(items.map(value))
    case .mapping(let members): .object(members.map { FactMember($0.name, value($0.value)) })
    }
  }

  private func expectation(
    _ mapping: inout MappingReader, _ code: DenialCode?
  ) -> RuleTest.Expectation? {
    let verdict = mapping.value(TestKeys.expect)
    let rule = mapping.value(TestKeys.rule(policy.ruleNames + ["-"]))
    if verdict == .allow, code != nil || rule != nil {
      mapping.report(
        Refusal(
          at: "expect", "an allowed request has no code and no rule",
          "remove them, or write \"expect: deny\""))
    }
    return verdict.map { RuleTest.Expectation(allows: $0 == .allow, code: code?.rawValue, rule: rule) }
  }
}
