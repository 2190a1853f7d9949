// What a request shows about its number, for the rules `own_number` and `consent`.

import Texts

/// What is known about the number of a new callback. Only new callbacks have it: a move, a dialog and a due time ask for no proof and no
/// consent again.
public struct NumberEvidence: Sendable {
  /// Whether the caller's subject has proven this number before, and not too long ago.
  public var isRemembered: Bool
  /// Whether the request has a proof. It is not judged yet.
  public var hasProof: Bool
  /// The consent in the request.
  public var consent: GivenConsent?
  /// The saved verdict on the number; nil where none is saved, or no rule asks for it.
  public var screening: ScreeningAnswer?

  public init(
    isRemembered: Bool = false, hasProof: Bool = false, consent: GivenConsent? = nil,
    screening: ScreeningAnswer? = nil
  ) {
    self.screening = screening
    self.isRemembered = isRemembered
    self.hasProof = hasProof
    self.consent = consent
  }
}

/// How a request met a rule `own_number`. The raw value is the word in metrics.
public enum NumberResult: String, CaseIterable, Sendable {
  /// A claim of the caller's token is the number.
  case claim
  case remembered
  case proof
  /// Nothing shows that the number is the caller's.
  case missing
  /// The proof is broken, or of another number or project.
  case refused
  /// The proof was used before.
  case used
  /// The keys that verify proofs cannot be fetched.
  case unavailable
}

/// The result of judging the proof in a request.
public enum NumberProofAnswer: Sendable {
  /// It is good, if nobody has used it: `id` identifies it among all proofs, and it expires at `expires`.
  case proven(id: String, expires: Instant)
  /// It is not good, for this reason, which is for operators.
  case refused(String)
  /// The request only asks whether it would be valid, so no proof is judged.
  case unjudged
  /// It cannot be judged now, which a rule in audit mode puts up with.
  case unavailable
}

/// The claims of a JWT that say which number is the user's.
public struct NumberClaim: Hashable, Sendable {
  private let name, verified: ClaimName?

  /// - Parameters:
  ///   - name: The claim with the number: its whole name, or a path into objects with dots. A name with `:` or `/` is no path.
  ///   - verified: The claim that says whether the issuer has verified the number; empty if the number alone is enough.
  public init(name: String, verified: String) {
    self.name = ClaimName(name)
    self.verified = verified.isEmpty ? nil : ClaimName(verified)
  }

  /// Whether the claims say that a number is the user's.
  func proves(_ number: E164, _ claims: [FactMember]) -> Bool {
    number.text.utf8.elementsEqual(self.number(in: claims).utf8)
  }

  /// The verified number of a user; nil without one that is in E.164 form.
  public func verifiedNumber(in claims: [FactMember]) -> E164? {
    do throws(E164Error) { return try E164(number(in: claims)) } catch { return nil }
  }

  /// The verified number as it is compared; empty without one.
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

  /// A number without `;ext=` and what follows, blanks, and the visual separators of RFC 3966 §5.1.1. Empty for anything that does not
  /// begin with `+`.
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

/// The name of a claim, with its path into objects where it can be one.
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
