// Reads the error from a `WWW-Authenticate` header and drops everything else in it.

import HTTP

/// Challenges of HTTP authentication (RFC 9110 §11.6.1).
enum Challenges {
  /// The parameters to keep with the scheme (RFC 6750 §3): they say why a token was refused.
  private static let parameters = ["error", "error_description", "scope"]
  private static let longestScheme = 20

  /// The schemes in a field's value, each with its `error`, `error_description` and `scope`. A word that
  /// cannot be a scheme becomes `?`.
  static func withoutSecrets(_ value: String) -> String {
    var challenges: [(scheme: String, parameters: [String])] = []
    for element in Array(value.utf8)[...].parts(separatedBy: UInt8(ascii: ",")).parts {
      let equals = element.firstIndex(of: UInt8(ascii: "="))
      let words = element[..<(equals ?? element.endIndex)].split(separator: 0x20)
      guard let first = words.first, let last = words.last else { continue }
      if words.count > 1 || equals == nil {
        let isScheme = first.count <= longestScheme && first.allSatisfy(isSchemeOctet)
        challenges.append((isScheme ? String(decoding: first, as: UTF8.self) : "?", []))
      }
      let name = String(decoding: last.map(\.lowercasedASCII), as: UTF8.self)
      guard let equals, !challenges.isEmpty, parameters.contains(name) else { continue }
      let content = String(decoding: element[(equals + 1)...].drop { $0 == 0x20 }, as: UTF8.self)
      challenges[challenges.count - 1].parameters.append("\(name)=\(content)")
    }
    return challenges.map { challenge in
      challenge.scheme
        + (challenge.parameters.isEmpty ? "" : " " + challenge.parameters.joined(separator: ", "))
    }.joined(separator: ", ")
  }

  private static func isSchemeOctet(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D: true
    default: false
    }
  }
}
