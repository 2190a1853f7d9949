/// IP addresses as text, strictly: four decimal numbers, or RFC 4291 §2.2. No names, no octal, no zone.
enum IPAddressText {
  /// The 4 or 16 bytes of an address, or nil.
  static func bytes(of text: String) -> [UInt8]? {
    text.utf8.contains(0x3A) ? version6(text) : version4(text)
  }

  /// The text of 4 or 16 bytes (RFC 5952).
  static func text(of bytes: [UInt8]) -> String {
    if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
    let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    var best = 0..<0
    var start: Int?
    for index in 0...8 {
      if index < 8, groups[index] == 0 {
        start = start ?? index
      } else if let from = start {
        if index - from > max(best.count, 1) { best = from..<index }
        start = nil
      }
    }
    func hex(_ part: ArraySlice<UInt16>) -> String {
      part.map { String($0, radix: 16) }.joined(separator: ":")
    }
    return best.isEmpty
      ? hex(groups[...]) : hex(groups[..<best.lowerBound]) + "::" + hex(groups[best.upperBound...])
  }

  /// Whether an address is reachable from this machine only.
  static func isLoopback(_ bytes: [UInt8]) -> Bool {
    if bytes.count == 4 { return bytes[0] == 127 }
    if bytes.dropLast().allSatisfy({ $0 == 0 }) { return bytes[15] == 1 }
    let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    return isMapped && bytes[12] == 127
  }

  private static func version4(_ text: some StringProtocol) -> [UInt8]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    let bytes = parts.compactMap { part -> UInt8? in
      guard part.utf8.count == 1 || part.utf8.first != 0x30 else { return nil }
      return Digits.read(part, in: 0...255).map(UInt8.init)
    }
    return bytes.count == 4 ? bytes : nil
  }

  private static func version6(_ text: String) -> [UInt8]? {
    let halves: [Substring]
    if let gap = text.firstRange(of: "::") {
      halves = [text[..<gap.lowerBound], text[gap.upperBound...]]
    } else {
      halves = [text[...]]
    }
    var parts: [[UInt8]] = []
    for (index, half) in halves.enumerated() {
      guard let bytes = groups(half, mayEndInVersion4: index == halves.count - 1) else { return nil }
      parts.append(bytes)
    }
    guard parts.count == 2 else { return parts[0].count == 16 ? parts[0] : nil }
    let gap = 16 - parts[0].count - parts[1].count
    guard gap >= 2 else { return nil }
    return parts[0] + Array(repeating: 0, count: gap) + parts[1]
  }

  private static func groups(_ text: Substring, mayEndInVersion4: Bool) -> [UInt8]? {
    if text.isEmpty { return [] }
    var bytes: [UInt8] = []
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if mayEndInVersion4, index == parts.count - 1, part.utf8.contains(0x2E) {
        guard let last = version4(part) else { return nil }
        bytes += last
      } else {
        guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ $0 != 0x2B && $0 != 0x2D }),
          let group = UInt16(part, radix: 16)
        else { return nil }
        bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
      }
    }
    return bytes.count <= 16 ? bytes : nil
  }
}

/// An address to listen on.
struct ListenAddress: Sendable, Hashable {
  /// The address as text, without brackets.
  let host: String
  /// Whether it is reachable from this machine only.
  let isLoopback: Bool

  /// Reads an IP address, with or without brackets, or `localhost`.
  static let read: @Sendable (String) throws(Refusal) -> ListenAddress = { text throws(Refusal) in
    if text == "localhost" { return ListenAddress(host: "127.0.0.1", isLoopback: true) }
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let inner = isBracketed ? String(text.dropFirst().dropLast()) : text
    guard let bytes = IPAddressText.bytes(of: inner), !isBracketed || bytes.count == 16 else {
      throw Refusal(
        "\(quoted(text)) is not an address to listen on",
        "write an IP address: 0.0.0.0 for every interface, 127.0.0.1 for this machine only")
    }
    return ListenAddress(host: IPAddressText.text(of: bytes), isLoopback: IPAddressText.isLoopback(bytes))
  }
}
