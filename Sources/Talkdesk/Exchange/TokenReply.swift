// Reads a response of Talkdesk's token endpoint.

import HTTP
import JSON
import Platform
import Tokens

/// The values of a reply of the token endpoint (RFC 6749 §5), read as tolerantly as is safe.
struct TokenReply {
  /// The maximum lifetime. A longer one is reduced to it, so that no token is stored for more than a day.
  static let longestLife = Duration.seconds(86_400)
  /// The maximum length of a token, in octets: what common servers accept as one header field.
  static let longestToken = 8192

  /// The token's octets: visible ASCII.
  var token: [UInt8]
  /// How long the token is valid after it was issued; nil if the reply states no number.
  var lifetime: Duration?
  /// The token's scope: the requested one if the reply does not say (RFC 6749 §5.1), or names more than 4096
  /// octets.
  var scope: String
  /// Whether the reply names the scope.
  var statesScope: Bool

  /// Reads the content of a successful reply.
  init(parsing content: [UInt8], requestedScope: String) throws(UnusableReply) {
    guard content.contains(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else { throw .empty }
    guard let object = Self.object(content) else { throw .notJSON }
    guard let text = object["access_token"]?.string, !text.isEmpty else { throw .noToken }
    guard text.utf8.count <= Self.longestToken, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .malformedToken
    }
    token = Array(text.utf8)
    try Self.checkType(object["token_type"])
    lifetime = try Self.lifetime(object["expires_in"])
    scope = try Self.scope(object["scope"], requested: requestedScope)
    statesScope = object["scope"].map { $0 != .null } ?? false
  }

  /// The `error` and `error_description` of a reply without a token; both nil if the body is, say, a proxy's
  /// page.
  static func refusal(_ content: [UInt8]) -> (code: String?, description: String?) {
    let object = object(content)
    return (
      UpstreamText.code(object?["error"]?.string),
      UpstreamText.description(object?["error_description"]?.string)
    )
  }

  private static func object(_ content: [UInt8]) -> JSONObject? {
    do {
      return try JSONValue(parsing: content).object
    } catch {
      // It is not JSON. The position of the mistake helps no operator.
      return nil
    }
  }

  private static func checkType(_ value: JSONValue?) throws(UnusableReply) {
    switch value {
    // Talkdesk's default is Bearer, so a missing type means that.
    case nil, .null: return
    case .string(let type) where type.utf8.map(\.lowercasedASCII) == Array("bearer".utf8): return
    default: throw .tokenType
    }
  }

  /// Reads a whole or fractional number, or one in a string. Any other value counts as absent: the token may
  /// be usable, only its lifetime is unknown.
  private static func lifetime(_ value: JSONValue?) throws(UnusableReply) -> Duration? {
    let seconds: Double
    switch value {
    case .number(let number):
      // Any number: the bounds below.
      seconds = number.double
    case .string(let text):
      guard isDecimal(text), let number = Double(text) else { return nil }
      seconds = number
    default:
      return nil
    }
    guard seconds >= 1 else { throw .expired }
    guard seconds < 86_400 else { return longestLife }
    // Any number: at least 1 and below 86,400.
    return .milliseconds(Int64(seconds * 1000))
  }

  private static func isDecimal(_ text: String) -> Bool {
    let octets = text.utf8.first == 0x2D ? text.utf8.dropFirst() : text.utf8[...]
    return (1...20).contains(octets.count) && octets.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
      && octets.first != 0x2E
  }

  private static func scope(_ value: JSONValue?, requested: String) throws(UnusableReply) -> String {
    let granted: [Substring.UTF8View]
    switch value {
    case nil, .null:
      return requested
    case .string(let text):
      granted = text.utf8.split(separator: 0x20)
    case .array(let items):
      granted = items.compactMap { $0.string.map { $0[...].utf8 } }
    default:
      granted = []
    }
    for wanted in requested.utf8.split(separator: 0x20)
    where !granted.contains(where: { $0.elementsEqual(wanted) }) {
      throw .scope(missing: UpstreamText.description(String(Substring(wanted))) ?? "")
    }
    // RFC 6749 §3.3: visible ASCII except the quotation mark and the backslash. Words with other characters
    // are left out.
    let tokens = granted.filter { word in
      !word.isEmpty
        && word.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C && $0 != 0x20 }
    }
    let text = tokens.map { String(Substring($0)) }.joined(separator: " ")
    return text.utf8.count <= 4096 ? text : requested
  }
}
