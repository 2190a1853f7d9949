// Reads the secrets of webhooks, and signs webhooks with them.

import JOSE

/// The secrets of a webhook (Standard Webhooks). Each secret signs every message, so that the receiver can
/// change from one secret to the next.
package struct HookSecrets: Sendable {
  /// The maximum number of secrets: the new one, the old one, and room for a mistake.
  static let most = 4
  /// The allowed lengths of a secret, in octets.
  static let lengths = 24...64

  private let secrets: [Secret]

  /// Reads a file of secrets, one per line: `whsec_` and the Base64 of 24–64 bytes.
  package init(parsing content: [UInt8]) throws(NoticeSettingError) {
    var secrets: [Secret] = []
    for (index, line) in content.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      var text = line.drop(while: isBlank)
      while let last = text.last, isBlank(last) { text.removeLast() }
      guard !text.isEmpty else { continue }
      guard text.starts(with: "whsec_".utf8), var bytes = Base64.decode(Array(text.dropFirst(6)).span) else {
        throw Self.error("has no secret in line \(index + 1)")
      }
      guard Self.lengths.contains(bytes.count) else {
        throw Self.error("has a secret of \(bytes.count) bytes in line \(index + 1)")
      }
      secrets.append(Secret(wiping: &bytes))
    }
    guard !secrets.isEmpty else { throw Self.error("contains no secret") }
    guard secrets.count <= Self.most else {
      throw NoticeSettingError(
        "secret_file", "holds \(secrets.count) secrets",
        "remove those that no receiver needs: at most \(Self.most) may stay")
    }
    self.secrets = secrets
  }

  /// The value of `webhook-signature`: a signature by each secret, separated by spaces.
  func signature(id: String, timestamp: Int64, content: [UInt8]) -> String {
    let signed = Array("\(id).\(timestamp).".utf8) + content
    return secrets.map { "v1," + Base64.encode(HMAC.code(signed, key: $0, .sha256)) }.joined(separator: " ")
  }

  private static func error(_ words: String) -> NoticeSettingError {
    NoticeSettingError(
      "secret_file", words,
      """
      write each secret on a line of its own: whsec_ and the Base64 of 24 to 64 bytes. This makes one: \
      echo "whsec_$(openssl rand -base64 32)"
      """)
  }
}
