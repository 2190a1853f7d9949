// Declares the keys of a file of rule tests, for its reader and for the JSON Schema.

package import Documents
import Platform

/// The keys of one test, and the words that their values may be.
enum TestKeys {
  enum Verdict: String, CaseIterable { case allow, deny }
  enum Answer: String, CaseIterable { case allow, deny, fail }

  enum Screening: String, CaseIterable { case allow, refuse, unknown }

  static let answer = TextForm<Answer>.choice

  static let name = Key<String>.one(
    "name", .text, required: "give the test a name", "The test's name.")
  static let action = Key<Action>.one("action", .choice, "The action; `access` without it.")
  static let at = Key<Instant>.one(
    "at",
    TextForm { text throws(Refusal) in
      guard let instant = Instant(rfc3339: text) else {
        throw Refusal(
          "\(quoted(text)) is not a time",
          "write it with its offset, as in \"2026-11-22T10:00:00-05:00\" or with Z for UTC")
      }
      return instant
    }, "The time of the request, with its offset.")
  static let subject = Key<String>.one(
    "subject", .text, "The user that the caller's token names, or whose installation asks.")
  static let owner = Key<String>.one(
    "owner", .text, "The caller of the user whose installation asks. Without it: the only one with users.")
  static let address = Key<IPAddress>.one(
    "address",
    TextForm { text throws(Refusal) in
      guard let address = IPAddress(text) else {
        throw Refusal("\(quoted(text)) is not an IP address", "write it as 203.0.113.9")
      }
      return address
    }, "The client's address.")
  static let phone = Key<E164>.one(
    "phone",
    TextForm { text throws(Refusal) in
      do throws(E164Error) { return try E164(text) } catch {
        throw Refusal("it is not a phone number", error.correction)
      }
    }, "The number to call, in E.164.")
  static let claims = NestedKey("claims", .named(.anything), "The claims of the caller's token.")
  /// A header's value, which may be empty.
  static let fieldValue = TextForm<String> { $0 }
  static let fields = NestedKey("fields", .named(.texts(.text)), "The request's headers.")
  static let counts = NestedKey(
    "counts", .named(.text(TextForm.wholeNumber.schema)), "How many requests each rule has already counted.")
  static let remote = NestedKey("remote", .named(.text(answer.schema)), "The decisions of remote policies.")
  static let agents = Key<Int64>.one(
    "agents", .wholeNumber, "How many agents are available. Without it the number is not known.")
  static let proven = Key<Bool>.one(
    "proven", .boolean, "Whether the caller has proven that the number is its own. Without it: no.")
  static let consent = Key<String>.one("consent", .text, "The text that the customer has just agreed to.")
  static let screened = Key<Screening>.one(
    "screened", .choice,
    "The verdict on the number. `unknown`: the lookup has no answer. Without it, nothing is looked up.")
  static let blocked = Key<Bool>.one(
    "blocked", .boolean, "Whether an operator has blocked the number. Without it: no.")
  static let expect = Key<Verdict>.one(
    "expect", .choice, required: "write \"expect: allow\" or \"expect: deny\"", "The expected decision.")
  static let code = Key<DenialCode>.one("code", .choice, "The code of the expected denial.")

  static func caller(_ known: Set<String>? = nil) -> Key<String> {
    .one(
      "caller", RuleKeys.caller(among: known),
      "The caller's id; `anonymous` for a request without credentials, `installation` for an installation.")
  }

  static func app(_ known: Set<String>? = nil) -> Key<String> {
    .one("app", RuleKeys.name(among: known), "The app's id.")
  }

  static func rule(_ known: [String] = []) -> Key<String> {
    .one(
      "rule",
      TextForm { text throws(Refusal) in
        guard known.contains(text) else { throw .unknown(text, known: known) }
        return text
      }, "The rule that should deny the request; `-` for a denial without a rule.")
  }

  static let all: [any DeclaredKey] = [
    name, action, at, caller(), subject, owner, app(), address, phone, claims, fields, counts, remote,
    agents, proven, consent, screened, blocked, expect, code,
    rule(),
  ]

  static let file: [any DeclaredKey] = [
    NestedKey(
      "tests", .list(.mapping(all)), required: "write a list under \"tests\"",
      "The tests. Each begins with unused limits.")
  ]
}

extension RuleTest {
  /// The shape of a file of rule tests, for the JSON Schema.
  package static let fileShape = Shape.mapping(TestKeys.file)
}
