// The code that a customer reads to an operator, who uses it to approve an enrollment request.

package import JOSE

/// A user code: eight letters without vowels, so that no words appear, and without letters that look or sound
/// alike (RFC 8628 §6.1).
package enum UserCode {
  /// 20 letters: eight of them make 2.6 · 10¹⁰ codes.
  static let letters = Array("BCDFGHJKLMNPQRSTVWXZ".utf8)
  static let length = 8

  /// Generates a code in its stored form: eight capital letters.
  package static func make() throws(OpenSSLError) -> String {
    var code: [UInt8] = []
    while code.count < length {
      // 240 is the largest multiple of 20 in an octet. Octets from there on would favor some letters.
      for octet in try RandomBytes.make(16) where octet < 240 && code.count < length {
        code.append(letters[Int(octet) % letters.count])
      }
    }
    return String(decoding: code, as: UTF8.self)
  }

  /// A code as people read it: `BCDF-GHJK`.
  package static func shown(_ code: String) -> String { "\(code.prefix(4))-\(code.suffix(4))" }

  /// The stored form of a typed code. Case, spaces, dashes and punctuation of any script make no difference,
  /// because phones replace typed characters. Nil for a text that cannot be a code.
  package static func normalized(_ text: String) -> String? {
    guard text.utf8.count <= 64 else { return nil }
    var code: [UInt8] = []
    for scalar in text.unicodeScalars where !isSeparator(scalar) {
      guard let octet = UInt8(exactly: scalar.value) else { return nil }
      code.append((UInt8(ascii: "a")...UInt8(ascii: "z")).contains(octet) ? octet & 0xDF : octet)
    }
    guard code.count == length, code.allSatisfy(letters.contains) else { return nil }
    return String(decoding: code, as: UTF8.self)
  }

  private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
    // Tabs and line ends are control characters. The minus sign is a dash, but not punctuation.
    if (9...13).contains(scalar.value) || scalar.properties.isDash { return true }
    return switch scalar.properties.generalCategory {
    case .spaceSeparator, .lineSeparator, .paragraphSeparator, .connectorPunctuation, .dashPunctuation,
      .openPunctuation, .closePunctuation, .initialPunctuation,
      .finalPunctuation, .otherPunctuation:
      true
    default: false
    }
  }
}
