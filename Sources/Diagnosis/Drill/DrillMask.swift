// Masks phone numbers and the token in everything that a test call prints.

import Callbacks
import Gate
import JOSE
import JSON
import Tokens

/// Hides phone numbers and the token. The test call's own numbers are hidden wherever their digits occur,
/// other phone numbers as in logs.
struct DrillMask {
  private let token: [UInt8]
  private let numbers: [(digits: [UInt8], masked: [UInt8])]

  init(token: AccessToken, _ request: CallbackRequest) {
    self.token = token.secret.exposedBytes()
    numbers = [request.contactNumber, request.talkdeskNumber].map { number in
      (Array(number.text.utf8.dropFirst()), Array(number.masked.utf8.dropFirst()))
    }
  }

  /// A text without the token and any phone number.
  func text(_ text: String) -> String { own(text).hidingPhoneNumbers }

  /// A text without the token and the test call's own numbers, for texts with many other digits: trace ids,
  /// times, limits.
  func own(_ text: String) -> String {
    var octets = Array(text.utf8)
    octets.replace(token, with: Array("<token>".utf8))
    for number in numbers { octets.replace(number.digits, with: number.masked) }
    return String(decoding: octets, as: UTF8.self)
  }

  /// A response's content without the token and any phone number. JSON stays JSON: in a number, 9 replaces a
  /// hidden digit.
  func content(_ content: [UInt8]) -> String {
    do throws(JSONError) {
      let value = try JSONValue(parsing: content)
      let masked = self.value(value)
      // Without anything to hide, the content stays as it was received.
      return String(decoding: masked == value ? content : masked.serialized(), as: UTF8.self)
    } catch {
      return text(String(decoding: content, as: UTF8.self))
    }
  }

  private func value(_ value: JSONValue) -> JSONValue {
    switch value {
    case .null, .bool: return value
    case .string(let text): return .string(self.text(text))
    case .number(let number):
      let masked = Array(text(number.text).utf8).map { $0 == UInt8(ascii: "*") ? UInt8(ascii: "9") : $0 }
      do throws(JSONError) {
        return try JSONValue(parsing: masked)
      } catch {
        return .null  // Unreachable: a number with other digits is still a number.
      }
    case .array(let elements): return .array(elements.map(self.value))
    case .object(let object):
      var masked = JSONObject()
      for member in object.members { masked.append(text(member.name), self.value(member.value)) }
      return .object(masked)
    }
  }
}
