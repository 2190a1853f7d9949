// Measures how much time the rules add to a request for a cached token.

import Documents
import Gate
import HTTP
import JSON
import Platform
import Store

/// What rules cost a request whose token is in the cache.
enum RuleFigures {
  /// Twenty rules of every kind but `remote`; five of their allowances concern the request.
  private static let rules = Array(
    #"""
    [{"name":"opening-hours","kind":"hours","timezone":"America/New_York","weekly":{"mon-sun":"00:00-24:00"}},
     {"name":"holidays","kind":"hours","timezone":"Europe/Lisbon","weekly":{"mon-sun":["00:00-12:00","12:00-24:00"]},"closed":["2027-12-25"]},
     {"name":"callbacks-open","kind":"hours","on":"callback","timezone":"Europe/Lisbon","weekly":{"mon-sun":"00:00-24:00"}},
     {"name":"blocked","kind":"addresses","deny":["198.51.100.0/24","192.0.2.0/24","2001:db8::/32"]},
     {"name":"known","kind":"addresses","allow":["203.0.113.0/24","10.0.0.0/8","192.168.0.0/16"]},
     {"name":"recent-app","kind":"field","field":"X-App-Version","at_least":"2.3.0"},
     {"name":"platform","kind":"field","field":"X-Platform","in":["ios","android"],"mode":"audit"},
     {"name":"countries","kind":"numbers","allow":["+1","+351"]},
     {"name":"no-premium","kind":"numbers","deny":["+1900"]},
     {"name":"per-app","kind":"rate","key":"app","limit":100000000,"per":"1s"},
     {"name":"per-caller","kind":"rate","key":"caller","limit":100000000,"per":"1s"},
     {"name":"daily","kind":"quota","key":"subject","limit":1000000000,"per":"day"},
     {"name":"weekly","kind":"quota","key":"global","limit":1000000000,"per":"week","timezone":"Europe/Lisbon"},
     {"name":"per-address","kind":"rate","key":"address","limit":100000000,"per":"1s"},
     {"name":"partners","kind":"addresses","callers":["partner"],"allow":["198.51.100.0/24"]},
     {"name":"paying","kind":"claims","require":{"tier":["gold","platinum"]}},
     {"name":"staff","kind":"claims","require":{"staff":["true"]},"mode":"audit"},
     {"name":"numbers-a-day","kind":"quota","on":"callback","key":"phone","limit":5,"per":"day"},
     {"name":"numbers-an-hour","kind":"rate","on":"callback","key":"phone","limit":5,"per":"1h"},
     {"name":"drill","kind":"field","field":"X-Drill","equals":"yes","mode":"off"}]
    """#.utf8)

  static func measure(seconds: Double) throws -> [Figure] {
    let policy = try policy(rules)
    let counts = Counts()
    let claims = [FactMember("sub", .string("ann")), FactMember("tier", .string("gold"))]
    let address = IPAddress(v4: 0xCB00_7109)
    var now = Instant(seconds: 1_795_176_000)
    let rate = Stopwatch.rate(seconds: seconds) {
      now.nanoseconds += 10_000
      if now.nanoseconds == 1_000_000_000 { now = Instant(seconds: now.seconds + 1) }
      // What the gateway does between the caller and the cache, and with the answer's fields (Decider, Vending).
      var facts = Facts(
        action: .access, callerID: "app-users", subject: "ann", installation: nil, appID: "shop",
        address: address, phone: nil, claims: claims, fields: [], instant: now, at: nil, agents: nil,
        number: nil)
      facts.fields.append(RequestField(lowercaseName: "x-app-version", value: "2.4.1"))
      facts.fields.append(RequestField(lowercaseName: "x-platform", value: "ios"))
      var evaluation = policy.evaluation(of: facts)
      guard case .decided(let decision) = evaluation.next(PresumedStates()) else {
        preconditionFailure("the benchmark's own request was refused")
      }
      let outcome = counts.take(decision.charges, at: now)
      guard case .granted(let settled, let grant) = decision.settled(outcome, at: now) else {
        preconditionFailure("not every allowance was taken")
      }
      let statuses = grant.statuses
      guard statuses.count == 5 else { preconditionFailure("not every allowance was taken") }
      var fields = Fields()
      fields.append("RateLimit-Policy", statuses.rateLimitPolicy)
      fields.append("RateLimit", statuses.rateLimit)
      keep(settled.verdicts.count)
      keep(fields)
    }
    return [.microseconds("20 rules of mixed kinds, on a cached GET /access", rate: rate)]
  }

  /// The benchmark's own rules are no rules.
  struct WrongRules: Error { let problems: [DocumentProblem] }

  /// Reads rules written as JSON.
  static func policy(_ text: [UInt8], brakes: Brakes = .off) throws -> Policy {
    switch Policy.reading(node(try JSONValue(parsing: text)), brakes: brakes) {
    case .policy(let policy): return policy
    case .problems(let problems): throw WrongRules(problems: problems)
    }
  }

  private static func node(_ value: JSONValue) -> DocumentNode {
    switch value {
    case .array(let values): DocumentNode(.list(values.map(node)))
    case .object(let object):
      DocumentNode(.mapping(object.members.map { DocumentNode.Member($0.name, node($0.value)) }))
    case .string(let text): DocumentNode(.text(text))
    case .number(let number): DocumentNode(.text(number.text))
    case .null, .bool: preconditionFailure("rules are texts, numbers, lists and mappings")
    }
  }
}
