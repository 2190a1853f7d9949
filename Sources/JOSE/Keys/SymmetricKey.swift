/// The MAC algorithms of RFC 7518 §3.2.
// swift-format-ignore: AlwaysUseLowerCamelCase
// The cases are the registered names, letter for letter.
public enum MACAlgorithm: String, CaseIterable, Hashable, Sendable {
  case HS256, HS384, HS512

  /// The digest that the MAC uses.
  public var digest: DigestAlgorithm {
    switch self {
    case .HS256: .sha256
    case .HS384: .sha384
    case .HS512: .sha512
    }
  }
}

/// A shared secret bound to its MAC algorithm. It is a type of its own, so a public key can never be used as
/// one.
public final class SymmetricKey: Sendable {
  public let algorithm: MACAlgorithm
  private let secret: Secret

  /// Binds a secret to an algorithm.
  ///
  /// - Throws: `KeyError.weakSecret` if the secret is shorter than the digest, the minimum of RFC 7518 §3.2.
  public init(_ secret: Secret, algorithm: MACAlgorithm) throws(KeyError) {
    guard secret.count >= algorithm.digest.byteCount else {
      throw .weakSecret(bits: 8 * secret.count, algorithm)
    }
    self.secret = secret
    self.algorithm = algorithm
  }

  /// The message authentication code of a message.
  public func code(_ message: [UInt8]) -> [UInt8] { HMAC.code(message, key: secret, algorithm.digest) }
}
