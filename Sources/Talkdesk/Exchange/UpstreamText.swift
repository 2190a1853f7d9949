// Shortens and cleans texts from Talkdesk before they reach a log.

import Gate

/// Reduces upstream's text to a form for logs: bounded and printable, without phone numbers that it may quote
/// from a request. In descriptions, no run of characters is long enough to be a credential that upstream
/// echoed.
enum UpstreamText {
  /// A machine-readable code such as `invalid_client`: at most 64 octets of `A–Z a–z 0–9 _ - .`, others
  /// become `_`, and digits that may be a phone number become `*`. Nil if there is no text.
  static func code(_ text: String?) -> String? {
    guard let text, !text.isEmpty else { return nil }
    return kept(text, 64) { isCodeOctet($0) ? $0 : 0x5F }
  }

  /// A description for debug logs: at most 256 octets of printable ASCII, others become `?`, and digits that
  /// may be a phone number become `*`. Then runs of more than 40 octets without a space become `[…]`, because
  /// tokens, assertions and keys are longer. Nil if there is no text.
  static func description(_ text: String?) -> String? {
    guard let text, !text.isEmpty else { return nil }
    let printable = kept(text, 256) { (0x20...0x7E).contains($0) ? $0 : 0x3F }
    let words = printable.utf8.split(separator: 0x20, omittingEmptySubsequences: true)
    return words.map { $0.count > 40 ? "[…]" : String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
  }

  /// A trace id: at most 128 octets of `A–Z a–z 0–9 _ - . :`; anything else makes it nil.
  static func traceID(_ text: String?) -> String? {
    guard let text, (1...128).contains(text.utf8.count),
      text.utf8.allSatisfy({ isCodeOctet($0) || $0 == 0x3A })
    else { return nil }
    return text
  }

  /// The first octets of a text, each mapped to its form for logs. The result contains no full phone number,
  /// not even one that the limit cuts in two.
  static func kept(_ text: String, _ count: Int, _ octet: (UInt8) -> UInt8) -> String {
    let octets = text.utf8.prefix(count + 40).map(octet)
    return String(
      decoding: String(decoding: octets, as: UTF8.self).hidingPhoneNumbers.utf8.prefix(count), as: UTF8.self)
  }

  private static func isCodeOctet(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D, 0x2E: true
    default: false
    }
  }
}
