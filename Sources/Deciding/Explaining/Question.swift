// The hypothetical request that an operator asks `explain` about.

public import API
import Callers
package import Configuration
import Documents
package import Gate
import HTTP
package import JSON
import Platform
import Store
import Texts

/// A request to be explained, not checked yet.
public struct Question: Sendable {
  /// One mistake in the question.
  public struct Mistake: Error, Hashable, Sendable {
    /// The member of the question, as in `counts.daily`.
    public let member: String
    /// The mistake and how to fix it.
    public let description: String
  }

  /// All mistakes in the question; never empty.
  public struct Mistakes: Error, Sendable {
    /// The mistakes, in the order in which the members are checked.
    public let list: [Mistake]
  }

  /// The action: `access`, `callback`, `ticket` or `enrol`.
  public var action: String?
  /// The facts of the question. A request without a caller counts as anonymous, even if the server requires
  /// credentials. The caller `anonymous` sends no credentials, and is refused if the server requires them.
  /// Without an installation's ID, the installation is one that has used no allowance yet.
  private var given: [AskedFact: String] = [:]
  /// The header fields of the request.
  public var fields: [(name: String, value: String)] = []
  /// Requests already counted in each rule's window.
  public var counts: [(rule: String, count: Int64)] = []
  var claims: [FactMember] = []

  /// The actions that a question may name.
  public static let actions = Action.allCases.map(\.rawValue)

  /// Creates a question without any facts.
  public init() {}

  /// The given text of a fact; nil if it was not given.
  public subscript(_ fact: AskedFact) -> String? {
    get { given[fact] }
    set { given[fact] = newValue }
  }

  /// Sets the claims of the caller's token.
  /// - Parameter text: A JSON object.
  public mutating func setClaims(json text: String) throws(Mistake) {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue(parsing: Array(text.utf8))
    } catch {
      throw Mistake(
        member: "claims", description: "is not JSON (\(error)); write it as {\"tier\":\"gold\"}")
    }
    try setClaims(value)
  }

  package mutating func setClaims(_ value: JSONValue) throws(Mistake) {
    guard case .object(let members) = FactValue(value) else {
      throw Mistake(member: "claims", description: "is not a JSON object; write it as {\"tier\":\"gold\"}")
    }
    claims = members
  }
}

extension Question {
  /// The checked question: its facts, its counts, and its caller and app.
  package struct Inquiry: Sendable {
    var facts: Facts { entrance.facts }
    /// The given counts, by rule.
    var states: CountedStates
    var countedRules: Set<String>
    /// The caller and app, as far as the configuration alone decides.
    var entrance: Entrance
  }

  /// Checks every member.
  /// - Parameter now: The time of the request if the question names none.
  package func inquiry(_ configuration: Configuration, now: Instant) throws(Mistakes) -> Inquiry {
    var mistakes: [Mistake] = []
    func note(_ member: String, _ description: String) {
      mistakes.append(Mistake(member: member, description: description))
    }

    let action = self.action.flatMap(Action.init(rawValue:))
    if action == nil { note("action", "must be one of \(Self.actions.joined(separator: ", "))") }
    var facts = Facts.unknown(action ?? .access, at: now)
    var number = NumberEvidence()
    for (fact, text) in AskedFact.allCases.compactMap({ fact in self[fact].map { (fact, $0) } }) {
      switch fact {
      case .caller:
        let known = configuration.callers.map(\.id) + [Caller.anonymousID, Caller.installationID]
        if !known.contains(exactly: text) {
          let near =
            Spelling.nearest(to: text, among: known).map { "; did you mean \($0)?" }
            ?? "; the configuration has \(known.prefix(10).joined(separator: ", "))\(known.count > 10 ? ", …" : "")"
          note("caller", "there is no caller \(quoted(text))\(near)")
        }
        facts.callerID = text
      case .subject: facts.subject = text
      // `entrance` checks below whether this owner exists.
      case .owner: break
      case .app: facts.appID = text
      case .installation:
        let id = InstallationID(text)
        if id == nil { note("installation", "\(quoted(text)) is not a UUID") }
        if self[.caller]?.hasSameBytes(as: Caller.installationID) != true {
          note("installation", "is only for the caller installation")
        }
        facts.installation = id.map { InstallationFacts(id: $0.description, callerID: nil) }
      case .address:
        facts.address = IPAddress(text)
        if facts.address == nil { note("address", "\(quoted(text)) is not an IP address") }
      case .phone:
        do throws(E164Error) {
          let number = try E164(text)
          // Only callbacks have a number.
          if action == .callback { facts.phone = number }
        } catch {
          note("phone", "is not a phone number: \(error.correction)")
        }
      case .at:
        if let instant = Instant(rfc3339: text) {
          facts.instant = instant
        } else {
          note("at", "\(quoted(text)) is not a time; write it with its offset: 2026-11-22T10:00:00-05:00")
        }
      case .proven:
        if let isProven = Bool(text) {
          number.isRemembered = isProven
        } else {
          note("proven", "must be true or false")
        }
      case .consent: number.consent = GivenConsent(text: text, at: facts.instant)
      }
    }
    if action == .callback { facts.number = number }
    facts.claims = claims
    for field in fields {
      let field = RequestField(
        name: field.name, value: String(decoding: Array(field.value.utf8)[...].trimmed, as: UTF8.self))
      // As for a real request, rules see only the headers that they read.
      if configuration.policy.fieldNames.contains(field.name) { facts.fields.append(field) }
    }
    var counts: [String: Int64] = [:]
    for (rule, count) in self.counts where counts.updateValue(count, forKey: rule) != nil {
      note("counts.\(rule)", "is given twice")
    }
    var states: CountedStates?
    do throws(Refusal) {
      states = try CountedStates(policy: configuration.policy, counts: counts, at: facts.instant)
    } catch {
      note(error.key, "\(error.message); \(error.remedy)")
    }
    var entrance: Entrance?
    do throws(Refusal) {
      entrance = try configuration.entrance(facts, owner: self[.owner])
    } catch {
      note(error.key, "\(error.message); \(error.remedy)")
    }
    guard mistakes.isEmpty, let states, let entrance else { throw Mistakes(list: mistakes) }
    return Inquiry(states: states, countedRules: Set(counts.keys), entrance: entrance)
  }
}

extension Configuration {
  /// Whether a request without credentials is refused before any rule. False if no callers are configured:
  /// such a server would not start, so the question concerns only the rules.
  package var refusesAnonymous: Bool { !allowAnonymous && !callers.isEmpty }
}
