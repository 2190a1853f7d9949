// The facts that an operator passes to `explain` as texts, each with its schema.

import JSON

/// A fact of a hypothetical request that an operator passes as a text. Each case is a member of the body of
/// `/admin/explain`. The compiler points to the two other places that need a new case: the option of
/// `callgate explain`, and how the fact is read.
public enum AskedFact: String, CaseIterable, Sendable {
  case caller, subject, owner, installation, app, address, phone, at, proven, consent

  var schema: JSONValue {
    switch self {
    case .caller:
      Self.text("The id of a configured caller, or `installation`. The default is `anonymous`.")
    case .subject: Self.text("The subject of the caller's token, or of the installation's user.")
    case .owner: Self.text("The caller of the installation's user. The default is the only one with users.")
    case .installation: Self.one(of: [Self.format("uuid")], "The installation's `client_id`.")
    case .app: Self.text("The app that the request names.")
    case .address: Self.one(of: [Self.format("ipv4"), Self.format("ipv6")], "The client's address.")
    case .phone: Self.one(of: [["$ref": "#/components/schemas/PhoneNumber"]], "The number to call.")
    case .proven: Self.text("`true` if the caller has proven that the number is its own.")
    case .consent: Self.text("The text that the customer has just agreed to.")
    case .at: Self.one(of: [Self.format("date-time")], "The time of the request. The default is now.")
    }
  }

  private static func text(_ description: String) -> JSONValue {
    ["type": ["string", "null"], "description": .string(description)]
  }

  private static func format(_ name: String) -> JSONValue { ["type": "string", "format": .string(name)] }

  private static func one(of forms: [JSONValue], _ description: String) -> JSONValue {
    ["anyOf": .array(forms + [["type": "null"]]), "description": .string(description)]
  }
}
