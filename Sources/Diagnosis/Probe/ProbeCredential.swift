// The credential that a probe sends to the server.

import JOSE

/// A caller's credential, for a probe. Its description shows no part of it.
public struct ProbeCredential: Sendable, CustomStringConvertible {
  /// The reason why a text is not a credential. Never contains the text.
  public struct Malformed: Error, Sendable, CustomStringConvertible {
    public let description: String
  }

  /// The value of `Authorization`.
  let authorization: Secret
  private let isBasic: Bool

  /// HTTP Basic: `USER:PASSWORD`.
  public init(user text: String) throws(Malformed) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex else {
      throw Malformed(description: "is not USER:PASSWORD")
    }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw Malformed(description: "contains a control character")
    }
    authorization = Secret("Basic \(Base64.encode(Array(text.utf8)))")
    isBasic = true
  }

  /// An API key or a JWT.
  public init(bearer text: String) throws(Malformed) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw Malformed(description: "is empty, or contains a space or a character that a header cannot have")
    }
    authorization = Secret("Bearer \(text)")
    isBasic = false
  }

  /// A wrong credential of the same kind. With Basic, it has another user name, so that its failure does not
  /// count against the caller.
  var wrong: Secret {
    var generator = SystemRandomNumberGenerator()
    let random = "\(String(generator.next(), radix: 36))\(String(generator.next(), radix: 36))"
    guard isBasic else { return Secret("Bearer callgate-probe-\(random)") }
    return Secret("Basic \(Base64.encode(Array("callgate-probe:\(random)".utf8)))")
  }

  public var description: String { "<redacted>" }
}
