// Keys for tests of every algorithm.

public import JOSE

extension PrivateKey {
  private static let rsa = (0..<2).map { _ in Result { try generate(for: .RS256) } }

  /// A key of an algorithm. RSA's is made once in a process, since that takes a second.
  public static func one(for algorithm: SignatureAlgorithm) throws -> PrivateKey {
    try algorithm.isRSA ? rsa[0].get() : generate(for: algorithm)
  }

  /// Another key of an algorithm.
  public static func another(for algorithm: SignatureAlgorithm) throws -> PrivateKey {
    try algorithm.isRSA ? rsa[1].get() : generate(for: algorithm)
  }
}

extension SignatureAlgorithm {
  fileprivate var isRSA: Bool { rawValue.hasPrefix("RS") || rawValue.hasPrefix("PS") }
}
