// Parses the JSON body of a callback request and collects every problem in it.

package import API
import Configuration
package import Gate
package import JSON
import Texts

extension CallbackRequest {
  /// Reads a request's content, with either form of `context` (see `ContextReader`), and checks all of it.
  ///
  /// - Parameters:
  ///   - namesFields: Whether problems name a field of the context by its name, as in `context.issue`, and
  ///     not by its index. For APIs whose requests have no list of fields.
  ///   - timeFault: Returns the problem in the time of an appointment, to report it together with other
  ///     problems. If the time is the only problem, it is found later, after the `Idempotency-Key`.
  /// - Throws: `content_too_large`, `invalid_json`, or `invalid_request` with every problem.
  package init(
    parsing content: [UInt8], terms: CallbackTerms, namesFields: Bool = false,
    timeFault: (Instant) -> Problem.FieldProblem? = { _ in nil }
  ) throws(Problem) {
    try self.init(
      Self.object(parsing: content, holding: "contact_phone_number"), terms: terms, namesFields, timeFault)
  }

  /// The object of a request's content.
  /// - Parameter member: A required member, named in the problem for a client that sends something else.
  package static func object(parsing content: [UInt8], holding member: String) throws(Problem) -> JSONObject {
    guard content.count <= CallbackLimits.contentBytes else {
      throw .contentTooLarge(CallbackLimits.contentBytes)
    }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue(
        parsing: content,
        // With this limit an object with too many members is still JSON, and the response names the unknown
        // ones.
        limits: JSONLimits(
          bytes: CallbackLimits.contentBytes, depth: CallbackLimits.depth,
          members: CallbackLimits.contentBytes))
    } catch {
      throw Problem(.invalidJSON, "The body is not valid JSON: \(error).")
    }
    guard let body = value.object else {
      throw Problem(
        .invalidRequest, "The body is \(value.kindName). Send an object with \(member).")
    }
    return body
  }

  private init(
    _ body: JSONObject, terms: CallbackTerms, _ namesFields: Bool,
    _ timeFault: (Instant) -> Problem.FieldProblem?
  ) throws(Problem) {
    var problems = FieldProblems()
    problems.refuseUnknown(
      in: body,
      known: ["contact_phone_number", "talkdesk_phone_number", "context", "at"]
        + (terms.takesProof ? ["number_proof"] : []) + (terms.takesConsent ? ["consent"] : []), prefix: "")
    let contact = problems.number("contact_phone_number", in: body)
    if body["contact_phone_number"] == nil {
      problems.add("contact_phone_number", "Give the number to call in E.164 form, such as +14155550123.")
    }
    let named = problems.number("talkdesk_phone_number", in: body)
    if let named, !terms.takesAnyTalkdeskNumber, !terms.talkdeskNumbers.isEmpty,
      !terms.talkdeskNumbers.contains(named)
    {
      problems.add(
        "talkdesk_phone_number",
        "This server does not use this number. Leave the member out for the default.")
    }
    let talkdesk = named ?? terms.talkdeskNumbers.first
    if talkdesk == nil, body["talkdesk_phone_number"] == nil {
      problems.add("talkdesk_phone_number", "Give one of the account's numbers; this server has no default.")
    }
    let at = problems.time("at", in: body)
    let proof = terms.takesProof ? problems.proof(in: body) : nil
    let consent = terms.takesConsent ? problems.consent(in: body, terms.knownTexts) : nil
    var context = ContextReader(terms, namesFields: namesFields, problems: problems)
    if let value = body["context"] { context.read(value) }
    context.finish()
    problems = context.problems
    if !problems.fields.isEmpty, let at, let fault = timeFault(at) { problems.add(fault) }
    try problems.throwIfAny()
    guard let contact, let talkdesk else {
      // Unreachable while every missing number is also a problem. If that ever changes, refusing is the safe
      // result.
      throw Problem(.invalidRequest, "A phone number is missing.")
    }
    contactNumber = contact
    talkdeskNumber = talkdesk
    namesTalkdeskNumber = named != nil
    self.at = at
    numberProof = proof
    self.consent = consent
    fields = context.fields
    additions = terms.schema?.additions.map { ContextField(name: $0.name, value: $0.value) } ?? []
  }
}

extension FieldProblems {
  /// The proof of the number. Nil if it is absent, `null` or wrong; only a wrong one is a mistake.
  fileprivate mutating func proof(in body: JSONObject) -> String? {
    let text = body["number_proof"] == .null ? nil : string("number_proof", in: body)
    guard let text else { return nil }
    guard (1...4096).contains(text.unicodeScalars.count) else {
      add("number_proof", "Give 1 to 4,096 characters, or leave the member out.")
      return nil
    }
    return text
  }

  /// The customer's consent. Nil if it is absent, `null` or wrong; only a wrong one is a mistake.
  fileprivate mutating func consent(in body: JSONObject, _ known: [String]?) -> GivenConsent? {
    guard let value = body["consent"], value != .null else { return nil }
    guard let members = value.object else {
      add("consent", "This is \(value.kindName); give an object with text and at.")
      return nil
    }
    refuseUnknown(in: members, known: ["text", "at"], prefix: "consent.")
    let text = members["text"]?.string
    if text.map({ (1...64).contains($0.utf8.count) }) != true {
      add("consent.text", "Give the name of the text that the customer agreed to, of 1 to 64 characters.")
    } else if let known, let text, !known.contains(exactly: text) {
      add("consent.text", "Give one of these texts: \(known.joined(separator: ", ")).")
    }
    let at = members["at"]?.string.flatMap { Instant(rfc3339: $0) }
    if at == nil {
      add("consent.at", "Give the time of the consent with an offset, such as 2026-11-23T10:00:00-05:00.")
    }
    guard let text, let at, text.utf8.count <= 64 else { return nil }
    return GivenConsent(text: text, at: Instant(seconds: at.seconds))
  }

  /// A member's time, to the second. Nil if it is absent, `null` or wrong; only a wrong one is a mistake.
  mutating func time(_ name: String, in object: JSONObject) -> Instant? {
    if case .null = object[name] { return nil }
    guard let value = object[name] else { return nil }
    guard let time = value.string.flatMap({ Instant(rfc3339: $0) }) else {
      add(name, "Give a date and time with an offset, such as 2026-11-23T10:00:00-05:00.")
      return nil
    }
    return Instant(seconds: time.seconds)
  }

  /// A member's telephone number.
  mutating func number(_ name: String, in object: JSONObject) -> E164? {
    guard let text = string(name, in: object) else { return nil }
    do throws(E164Error) {
      return try E164(text)
    } catch {
      add(name, error.correction)
      return nil
    }
  }
}
