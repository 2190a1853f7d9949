// Validates the body of `POST /calls/callback` as strictly as any known Talkdesk account.

import HTTP
import JSON
import Texts

/// The body of `POST /calls/callback`, validated as strictly as any known account would: both numbers, all
/// five properties of every field, and nothing else. Every account should accept a body that passes here.
struct CallbackBody: Hashable, Sendable {
  /// The number to call.
  var contactPhoneNumber: String
  /// The account's number from which to call.
  var talkdeskPhoneNumber: String
  /// The `context` member as sent; nil if it is missing.
  var context: JSONValue?

  /// The values that `data_type` can have.
  static let dataTypes = ["phone", "text", "url"]
  private static let fieldProperties = ["name", "display_name", "tooltip_text", "data_type", "value"]

  /// Validates a body. A wrong shape (not JSON, or a member that is missing, unknown or of the wrong type) is
  /// a 400. Invalid values are a 422. The error names all problems of the shape or, if there are none, all
  /// invalid values.
  init(parsing content: [UInt8], phoneNumbers: [String]?) throws(TalkdeskError) {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: content)
    } catch {
      throw TalkdeskError(status: .badRequest, code: "malformed_json", message: "The body is not valid JSON")
    }
    var findings = Findings()
    guard let object = value.object else {
      throw TalkdeskError(status: .badRequest, code: "malformed_body", message: "The body is not an object")
    }
    findings.refuseUnknown(
      in: object, known: ["talkdesk_phone_number", "contact_phone_number", "context"], prefix: "")
    let contact = findings.string("contact_phone_number", in: object, prefix: "")
    let own = findings.string("talkdesk_phone_number", in: object, prefix: "")
    if let contact, !Self.isE164(contact) {
      findings.value("contact_phone_number", "is not an E.164 number")
    }
    if let own {
      if !Self.isE164(own) {
        findings.value("talkdesk_phone_number", "is not an E.164 number")
      } else if let phoneNumbers, !phoneNumbers.contains(own) {
        findings.value("talkdesk_phone_number", "is not a number of this account")
      }
    }
    if let context = object["context"] { Self.check(context: context, &findings) }
    try findings.throwIfAny()
    guard let contact, let own else {
      throw TalkdeskError(status: .badRequest, code: "malformed_body", message: "The body is incomplete")
    }
    contactPhoneNumber = contact
    talkdeskPhoneNumber = own
    self.context = object["context"]
  }

  private static func check(context: JSONValue, _ findings: inout Findings) {
    guard let context = context.object else { return findings.shape("context", "is not an object") }
    findings.refuseUnknown(in: context, known: ["fields"], prefix: "context.")
    guard let fields = context["fields"] else { return findings.shape("context.fields", "is missing") }
    guard let fields = fields.array else { return findings.shape("context.fields", "is not an array") }
    var names: Set<ExactText> = []
    for (index, field) in fields.enumerated() {
      let place = "context.fields[\(index)]"
      guard let field = field.object else {
        findings.shape(place, "is not an object")
        continue
      }
      findings.refuseUnknown(in: field, known: fieldProperties, prefix: place + ".")
      var properties: [String: String] = [:]
      for property in fieldProperties {
        properties[property] = findings.string(property, in: field, prefix: place + ".")
      }
      if let name = properties["name"] {
        if name.isEmpty { findings.value(place + ".name", "is empty") }
        if !names.insert(ExactText(name)).inserted { findings.value(place + ".name", "is not unique") }
      }
      guard let dataType = properties["data_type"] else { continue }
      guard dataTypes.contains(dataType) else {
        findings.value(place + ".data_type", "is not one of phone, text, url")
        continue
      }
      guard let value = properties["value"] else { continue }
      if dataType == "phone" && !isE164(value) { findings.value(place + ".value", "is not an E.164 number") }
      if dataType == "url" && !isURI(value) { findings.value(place + ".value", "is not a URI") }
    }
  }

  /// Whether a text is a number in E.164 form: `+`, a digit that is not 0, and one to 14 more digits.
  static func isE164(_ text: String) -> Bool {
    let octets = Array(text.utf8)
    return (3...16).contains(octets.count) && octets[0] == UInt8(ascii: "+") && octets[1] != UInt8(ascii: "0")
      && octets[1...].allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Whether a text begins with a scheme and a colon, and has only characters that RFC 3986 allows in URIs.
  static func isURI(_ text: String) -> Bool {
    let octets = Array(text.utf8)
    guard let colon = octets.firstIndex(of: UInt8(ascii: ":")), colon > 0 else {
      return false
    }
    let isLetter: (UInt8) -> Bool = { (0x61...0x7A).contains($0 | 0x20) }
    let isScheme =
      isLetter(octets[0])
      && octets[..<colon].allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
    return isScheme && octets.allSatisfy { (0x21...0x7E).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) }
  }
}
