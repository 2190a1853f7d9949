// Reads the user's phone number from the claims of a token.

import Texts

/// The claims of a JWT that contain the user's phone number.
public struct NumberClaim: Hashable, Sendable {
  private let name, verified: ClaimName?

  /// - Parameters:
  ///   - name: The claim with the number: its whole name, or a path into objects with dots. A name with `:`
  ///     or `/` is never a path.
  ///   - verified: The claim that says whether the issuer has verified the number; empty if the number alone
  ///     is enough.
  public init(name: String, verified: String) {
    self.name = ClaimName(name)
    self.verified = verified.isEmpty ? nil : ClaimName(verified)
  }

  /// Whether the claims say that a number is the user's.
  func proves(_ number: E164, _ claims: [FactMember]) -> Bool {
    number.text.utf8.elementsEqual(self.number(in: claims).utf8)
  }

  /// The user's verified number. Nil if there is none in E.164 form.
  public func verifiedNumber(in claims: [FactMember]) -> E164? {
    do throws(E164Error) { return try E164(number(in: claims)) } catch { return nil }
  }

  /// The verified number without separators, for comparisons. Empty if there is none.
  private func number(in claims: [FactMember]) -> String {
    guard case .string(let text)? = name?.value(in: claims) else { return "" }
    if let verified {
      switch verified.value(in: claims) {
      case .bool(true): break
      case .string(let word) where word.hasSameBytes(as: "true"): break
      default: return ""
      }
    }
    return Self.digits(text)
  }

  /// A number without blanks, without the visual separators of RFC 3966 §5.1.1, and without `;ext=` and
  /// everything after it. Empty if the text does not begin with `+` or is longer than 128 bytes.
  private static func digits(_ text: String) -> String {
    guard text.utf8.count <= 128 else { return "" }
    var octets = text.utf8.filter { $0 != 0x20 && $0 != 0x09 }
    if let end = octets.firstIndex(of: UInt8(ascii: ";")), octets[end...].starts(with: ";ext=".utf8) {
      octets.removeSubrange(end...)
    }
    guard octets.first == UInt8(ascii: "+") else { return "" }
    octets.removeAll { "-.()".utf8.contains($0) }
    return String(decoding: octets, as: UTF8.self)
  }
}

/// The name of a claim, and the same name as a path into objects if it can be a path.
private struct ClaimName: Hashable, Sendable {
  let whole: String
  let path: [String]

  init(_ name: String) {
    whole = name
    let isPath = !name.utf8.contains { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
    let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    path = isPath && parts.count > 1 ? parts : []
  }

  func value(in claims: [FactMember]) -> FactValue? {
    claims.first { $0.name.hasSameBytes(as: whole) }?.value ?? ClaimsRule.value(at: path, in: claims)
  }
}
