// Converts a request's headers to lines for libcurl, and refuses unsafe headers.

import HTTP

/// Converts a request's fields to lines for libcurl, and adds `User-Agent` and `Accept-Encoding` if they are
/// missing. libcurl adds none of its usual fields (`automatic`), and no value can end a line early.
enum FieldLines {
  /// Names that the transport writes itself or that would change the framing or the connection.
  private static let reserved: Set<String> = [
    "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection",
    "proxy-authorization", "expect", "te", "trailer", "upgrade",
  ]

  /// The fields that libcurl adds by default.
  private static let automatic = ["Accept", "Content-Type", "User-Agent", "Expect"]

  /// The lines in libcurl's syntax: `Name: value`, `Name;` for an empty value, `Name:` to leave one out.
  static func make(_ fields: Fields, userAgent: String) throws(Target.Refusal) -> [String] {
    var lines: [String] = []
    var all = fields
    if all["User-Agent"] == nil, !userAgent.isEmpty { all.append("User-Agent", userAgent) }
    // Without Accept-Encoding, any coding is acceptable (RFC 9110 §12.5.3), but none is decoded here.
    if all["Accept-Encoding"] == nil { all.append("Accept-Encoding", "identity") }
    for line in all.lines {
      guard isToken(line.name.utf8) else { throw Target.Refusal("a request field's name is malformed") }
      guard !reserved.contains(line.name.lowercased()) else {
        throw Target.Refusal("the request field \(line.name) is set by the transport itself")
      }
      guard line.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }) else {
        throw Target.Refusal("the request field \(line.name) has a control character")
      }
      let isBlank = line.value.utf8.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      lines.append(isBlank ? "\(line.name);" : "\(line.name): \(line.value)")
    }
    return lines + automatic.filter { all[$0] == nil }.map { "\($0):" }
  }

  /// Whether octets form a token (RFC 9110 §5.6.2).
  static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty
      && bytes.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }
}
