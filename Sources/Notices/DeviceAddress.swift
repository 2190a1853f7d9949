// The token by which a push provider identifies a device.

/// The token by which a push provider identifies a device. Anyone who has the token can push to the device,
/// so it prints as `<redacted>`.
package struct DeviceAddress: Hashable, Sendable {
  /// The maximum length of a token, in characters.
  package static let longest = 4096

  /// The provider that the token is for.
  package let platform: PushPlatform
  /// The token, for the provider and for the store. APNs tokens are in lowercase, so that one device has one
  /// token.
  package let exposed: String

  /// Nil if the text is not a token of the platform: 64–200 hexadecimal digits for APNs, 1–4096 visible ASCII
  /// characters for the others.
  package init?(_ text: String, platform: PushPlatform) {
    switch platform {
    case .apns:
      guard (64...200).contains(text.utf8.count), text.utf8.allSatisfy(Self.isHexDigit) else { return nil }
      // `A`–`F` become `a`–`f`; the bit is set in digits already.
      exposed = String(decoding: text.utf8.map { $0 | 0x20 }, as: UTF8.self)
    case .fcm, .http:
      guard (1...Self.longest).contains(text.utf8.count),
        text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      else { return nil }
      exposed = text
    }
    self.platform = platform
  }

  private static func isHexDigit(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
  }
}

extension DeviceAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "<redacted>" }
  package var debugDescription: String { "<redacted>" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
