/// Takes what upstream wrote apart from what may stand in a log: bounded, printable, and never long enough in one run to
/// be a credential that upstream echoed.
enum UpstreamText {
  /// A machine-readable code such as `invalid_client`: at most 64 octets of `A–Z a–z 0–9 _ - .`, others become `_`.
  /// Nil where nothing is left.
  static func code(_ text: String?) -> String? {
    guard let text, !text.isEmpty else { return nil }
    let kept = text.utf8.prefix(64).map { isCodeOctet($0) ? $0 : 0x5F }
    return String(decoding: kept, as: UTF8.self)
  }

  /// A description for debug logs: at most 256 octets of printable ASCII, others become `?`; runs of more than 40
  /// octets without a space are left out, because tokens, assertions and keys are longer.
  static func description(_ text: String?) -> String? {
    guard let text, !text.isEmpty else { return nil }
    let printable = text.utf8.prefix(256).map { (0x20...0x7E).contains($0) ? $0 : 0x3F }
    let words = printable.split(separator: 0x20, omittingEmptySubsequences: true)
    let kept = words.map { $0.count > 40 ? ArraySlice("[…]".utf8) : $0 }
    return String(decoding: Array(kept.joined(separator: [0x20])), as: UTF8.self)
  }

  /// A trace id: at most 128 octets of `A–Z a–z 0–9 _ - . :`; anything else makes it nil.
  static func traceID(_ text: String?) -> String? {
    guard let text, (1...128).contains(text.utf8.count),
      text.utf8.allSatisfy({ isCodeOctet($0) || $0 == 0x3A })
    else { return nil }
    return text
  }

  private static func isCodeOctet(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D, 0x2E: true
    default: false
    }
  }
}
