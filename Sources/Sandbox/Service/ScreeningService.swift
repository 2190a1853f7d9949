// The emulated phone validation and do-not-call lists, with a test number for each kind of answer.

import HTTP
import JSON
import Platform
import Synchronization

/// `GET /identity/phonevalidations/{number}`, `GET /do-not-call-lists` and
/// `POST /do-not-call-lists/{id}/entries/queries`. Every value of a validation is a string, as in Talkdesk's.
struct ScreeningService: Sendable {
  private static let validations = "/identity/phonevalidations/"
  private static let lists = "/do-not-call-lists"
  /// The ID of the only do-not-call list.
  private static let list = "sandbox"
  /// The prefix of the test numbers. Their last two digits choose the answer.
  private static let numbers = "+120255501"

  let issuer: EmulatedTokenIssuer

  /// Whether this service handles a path.
  static func owns(_ path: String) -> Bool { path.hasPrefix(validations) || path.hasPrefix(lists) }

  func act(_ call: Call, path: String, now: UnixTime, state: borrowing Mutex<EmulatorState>) -> Ending {
    let isValidation = path.hasPrefix(Self.validations)
    let (baseURL, fault) = state.withLock {
      ($0.baseURL, $0.faults.take(isValidation ? .validation : .doNotCall))
    }
    if let fault, fault.preventsAction {
      let reply = fault.refusal().map { fault.apply(to: $0, isRefusalOfTheRequest: false) }
      return Ending(reply, after: fault.delay, isCutOff: fault.drop == .during)
    }
    let scope = EmulatorConfiguration.screeningScopes[isValidation ? 0 : 1]
    guard let baseURL else { return Ending(Self.error(.notFound)) }
    if let refusal = issuer.refusal(of: call, scope: scope, audience: baseURL, now: now) {
      return Ending(.json(refusal.status, refusal.content))
    }
    var ending =
      isValidation
      ? Self.validation(path.dropFirst(Self.validations.count)) : Ending(Self.query(call, path, now))
    guard let fault else { return ending }
    ending.reply =
      fault.drop == .after ? nil : ending.reply.map { fault.apply(to: $0, isRefusalOfTheRequest: false) }
    ending.delay = max(ending.delay, fault.delay)
    ending.isCutOff = fault.drop == .during
    return ending
  }

  private static func validation(_ rest: Substring) -> Ending {
    guard rest.hasPrefix("%2B"), !rest.hasSuffix("/stats") else {
      return Ending(
        rest.hasSuffix("/stats") ? embedded(["number_validations_last_24h": "0"]) : error(.notFound))
    }
    var facts: JSONObject = [
      "active": "True", "carrier": "N/A", "country": "US", "do_not_call": "False", "leaked": "N/A",
      "prepaid": "N/A", "recent_abuse": "False", "spammer": "False", "valid": "True", "voip": "False",
    ]
    func add(
      status: JSONValue, line: JSONValue, tcpa: JSONValue, score: JSONValue, isOtherSpelling: Bool = false
    ) {
      facts["status"] = status
      facts["line_type"] = line
      facts["tcpa_blacklist"] = tcpa
      facts[isOtherSpelling ? "fraude_score" : "fraud_score"] = score
      facts[isOtherSpelling ? "risk" : "risky"] = tcpa
    }
    switch ending(of: "+" + rest.dropFirst(3)) {
    case "11":
      add(status: "HIGH_RISK", line: "Premium Rate", tcpa: "False", score: "91", isOtherSpelling: true)
    case "12": add(status: "SUSPICIOUS", line: "N/A", tcpa: "True", score: "N/A")
    case "13": return Ending(error(.notFound))
    case "14": add(status: "ERROR", line: "N/A", tcpa: "N/A", score: "N/A")
    case "15": return Ending(error(.tooManyRequests))
    case "16":
      add(status: "SAFE", line: "Wireless", tcpa: "False", score: "0")
      return Ending(embedded(facts), after: 5000)
    default: add(status: "SAFE", line: "Wireless", tcpa: "False", score: "0")
    }
    return Ending(embedded(facts))
  }

  private static func query(_ call: Call, _ path: String, _ now: UnixTime) -> Reply {
    let known: JSONObject = [
      "id": .string(list), "name": "Sandbox", "status": "UPLOADED", "entries_count": 2,
    ]
    if call.method == .get, path == lists { return embedded(["do_not_call_lists": [.object(known)]]) }
    guard call.method == .post, path == "\(lists)/\(list)/entries/queries" else { return error(.notFound) }
    let numbers: [JSONValue]
    do throws(JSONError) {
      numbers = try JSONValue(parsing: call.content)["phone_numbers"]?.array ?? []
    } catch {
      return self.error(.badRequest)
    }
    let entries = numbers.compactMap { item -> JSONValue? in
      guard let number = item["phone_number"]?.string else { return nil }
      let end: JSONValue
      switch ending(of: number) {
      case "17": end = .null
      case "18": end = .string("2021-12-31")
      default: return nil
      }
      return .object([
        "id": .string(Identifier.random()), "phone_number": .string(number), "reason": "asked us not to call",
        "expiration_date": end, "created_at": "2021-01-01T00:00:00Z",
      ])
    }
    return embedded(["entries": .array(entries)])
  }

  private static func ending(of number: String) -> Substring? {
    number.hasPrefix(numbers) ? number.dropFirst(numbers.count) : nil
  }

  private static func embedded(_ members: JSONObject) -> Reply {
    .json(.ok, (["_embedded": .object(members), "_links": [:]] as JSONObject).serialized())
  }

  private static func error(_ status: Status) -> Reply {
    .json(status, TalkdeskError(status: status, code: "refused", message: status.reason).content)
  }
}
