// Private keys for tests, one or two per algorithm.

public import JOSE

extension PrivateKey {
  private static let rsa = (0..<2).map { _ in Result { try generate(for: .RS256) } }

  /// A key for an algorithm. The RSA key is generated once per process, because that takes a second.
  public static func one(for algorithm: SignatureAlgorithm) throws -> PrivateKey {
    try algorithm.isRSA ? rsa[0].get() : generate(for: algorithm)
  }

  /// A second key for the same algorithm.
  public static func another(for algorithm: SignatureAlgorithm) throws -> PrivateKey {
    try algorithm.isRSA ? rsa[1].get() : generate(for: algorithm)
  }
}

extension SignatureAlgorithm {
  fileprivate var isRSA: Bool { rawValue.hasPrefix("RS") || rawValue.hasPrefix("PS") }
}
