// Phone numbers that the sandbox refuses on purpose, so that app developers can see each refusal.

package import API
package import Gate

/// Test numbers, each for one code with which a valid `POST /calls/callback` may be refused
/// (docs/build/sandbox.md lists them). They are in the range reserved for fiction, +1 202 555 0100 to 0199.
/// The tens digit groups the codes by HTTP status, such as 6 for 429.
package enum TestNumbers {
  /// The last two digits of each number, and its code.
  static let codes: [(ending: Int, code: Problem.Code)] = [
    (31, .closed), (32, .denied), (33, .numberNotAllowed), (34, .stopped), (35, .noAgents),
    (36, .numberNotProven), (37, .consentRequired),
    (41, .duplicate), (42, .inProgress), (43, .slotFull),
    (51, .invalidRequest), (52, .idempotencyMismatch),
    (61, .rateLimited), (62, .quotaExhausted), (63, .upstreamRateLimited),
    (71, .upstreamRefused), (72, .upstreamFailed),
    (81, .upstreamUnavailable), (82, .storeUnavailable), (83, .overloaded),
    (91, .upstreamTimeout), (92, .outcomeUnknown),
  ]

  private static let problems: [String: Problem] = Dictionary(
    uniqueKeysWithValues: codes.map { (number(ending: $0.ending), $0.code.exampleProblem) })

  /// The rules that these refusals name, so that metrics count each under its own name.
  package static var rules: Set<String> { Set(problems.values.compactMap(\.rule)) }

  /// A number in E.164.
  static func number(ending: Int) -> String { "+120255501\(ending)" }

  /// The problem for a callback to one of these numbers; nil for all others.
  package static func problem(_ number: E164) -> Problem? { problems[number.text] }
}
