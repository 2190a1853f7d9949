// Reads Talkdesk's complaints about the fields of a callback request, shortened and made safe to print.

import JSON

/// A mistake that Talkdesk reports in one member of a callback's body. It is printable and bounded, whatever
/// Talkdesk sends.
public struct CallbackRejection: Hashable, Sendable {
  /// The maximum number of rejections that are read from one response.
  public static let maximumCount = 20

  /// The member's name: at most 64 octets of `A–Z a–z 0–9 _ - . [ ]`. Others become `_`, and digits that may
  /// be a phone number become `*`.
  public var name: String
  /// Talkdesk's description, bounded and printable, without long runs and full phone numbers
  /// (`UpstreamText.description`): only for debug logs.
  public var description: String?

  public init(name: String, description: String?) {
    self.name = name
    self.description = description
  }

  /// The `fields` of an error body; empty for other content.
  static func read(_ content: [UInt8]) -> [CallbackRejection] {
    guard let fields = object(content)?["fields"]?.array else { return [] }
    return fields.prefix(maximumCount).compactMap { field in
      guard let name = field["name"]?.string, !name.isEmpty else { return nil }
      return CallbackRejection(
        name: memberName(name), description: UpstreamText.description(field["description"]?.string))
    }
  }

  /// The `code` and `message` of an error body, safe for logs; both nil if the body is, say, a proxy's page.
  static func error(in content: [UInt8]) -> (code: String?, message: String?) {
    let object = object(content)
    return (
      UpstreamText.code(object?["code"]?.string), UpstreamText.description(object?["message"]?.string)
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

  private static func memberName(_ text: String) -> String {
    UpstreamText.kept(text, 64) { octet in
      switch octet {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D, 0x2E, 0x5B, 0x5D: octet
      default: 0x5F
      }
    }
  }
}
