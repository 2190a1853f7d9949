// Reads Talkdesk's answers about a number. Booleans and numbers may be strings, and "N/A" means no value.

import Gate
import JSON
import Platform

extension ScreeningSettings.Refusals {
  /// Evaluates a validation, `{"_embedded":{…}}`.
  func finding(_ content: [UInt8]) -> ScreeningFinding {
    guard let answer = ScreeningReply.embedded(content),
      ScreeningReply.known.contains(where: { answer[$0] != nil })
    else { return .failed("Talkdesk's phone validation: the response is unusable") }
    func refused(_ key: String) -> ScreeningFinding { .refused(setting: "validation.refuse.\(key)") }
    func value(_ name: String, isOneOf words: [String]) -> Bool {
      guard let text = ScreeningReply.text(answer[name]) else { return false }
      return words.contains { ScreeningReply.areSame(text, $0) }
    }
    if value("status", isOneOf: ["error"]) { return .failed("Talkdesk's phone validation: status ERROR") }
    if value("status", isOneOf: statuses) { return refused("status") }
    if value("line_type", isOneOf: lineTypes) { return refused("line_type") }
    if tcpaBlacklist, value("tcpa_blacklist", isOneOf: ["true"]) { return refused("tcpa_blacklist") }
    // One page of Talkdesk's documentation spells it `fraude_score`.
    let scores = ["fraud_score", "fraude_score"].compactMap { name in
      ScreeningReply.text(answer[name]).flatMap { Double($0) }
    }
    if let fraudScore, scores.contains(where: { $0 >= Double(fraudScore) }) { return refused("fraud_score") }
    return .allowed(isUnknown: false)
  }
}

extension ScreeningSettings {
  /// Evaluates the entries of a do-not-call list, `{"_embedded":{"entries":[…]}}`.
  func finding(_ content: [UInt8], of phone: E164, at now: Instant) -> ScreeningFinding {
    guard let entries = ScreeningReply.embedded(content)?["entries"]?.array else {
      return .failed("Talkdesk's do-not-call lists: the response is unusable")
    }
    let isListed = entries.contains { entry in
      if let number = entry["phone_number"]?.string, number.digits != phone.text.digits { return false }
      guard let end = ScreeningReply.text(entry["expiration_date"]) else { return true }
      return !hasPassed(end, at: now)
    }
    return isListed ? .refused(setting: "do_not_call.lists") : .allowed(isUnknown: false)
  }

  /// Whether an entry has expired. It expires at the end of its day, even if it has a time. An entry with an
  /// unreadable date never expires.
  private func hasPassed(_ end: String, at now: Instant) -> Bool {
    let date = Instant(rfc3339: end) == nil ? end : String(end.prefix(10))
    guard let day = CivilDate(date), let local = zone.localSeconds(at: now.seconds) else { return false }
    return local >= (Int64(day.dayNumber) + 1) * 86_400
  }
}

enum ScreeningReply {
  /// The members that settings use. A validation without any of them is unusable.
  static let known = ["status", "line_type", "tcpa_blacklist", "fraud_score", "fraude_score"]

  static func embedded(_ content: [UInt8]) -> JSONValue? {
    do throws(JSONError) {
      let embedded = try JSONValue(parsing: content)["_embedded"]
      return embedded?.object == nil ? nil : embedded
    } catch {
      return nil
    }
  }

  /// A string, number or boolean as a string. Nil for all other values, for an empty string and for "N/A".
  static func text(_ value: JSONValue?) -> String? {
    switch value {
    case .string(let text)?: text.isEmpty || areSame(text, "n/a") ? nil : text
    case .number(let number)?: number.text
    case .bool(let value)?: "\(value)"
    default: nil
    }
  }

  /// Whether two strings differ only in case, blanks, hyphens and underscores.
  static func areSame(_ a: String, _ b: String) -> Bool {
    func folded(_ text: String) -> [UInt8] {
      text.utf8.filter { !" -_".utf8.contains($0) }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }
    return folded(a) == folded(b)
  }
}

extension String {
  fileprivate var digits: [UInt8] { utf8.filter { (0x30...0x39).contains($0) } }
}
