/// `application/x-www-form-urlencoded` content, as the token endpoint expects it (RFC 6749 appendix B).
struct FormContent {
  /// The octets so far.
  private(set) var bytes: [UInt8] = []

  /// Adds a field after the others.
  mutating func append(_ name: String, _ value: String) {
    if !bytes.isEmpty { bytes.append(0x26) }
    Self.encode(name.utf8, to: &bytes)
    bytes.append(0x3D)
    Self.encode(value.utf8, to: &bytes)
  }

  /// Encodes octets: letters, digits and `*-._` stay, a space becomes `+`, all others `%XX`.
  static func encode(_ octets: some Sequence<UInt8>, to bytes: inout [UInt8]) {
    let digits = Array("0123456789ABCDEF".utf8)
    for octet in octets {
      switch octet {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2A, 0x2D, 0x2E, 0x5F: bytes.append(octet)
      case 0x20: bytes.append(0x2B)
      default: bytes += [0x25, digits[Int(octet >> 4)], digits[Int(octet & 15)]]
      }
    }
  }
}
