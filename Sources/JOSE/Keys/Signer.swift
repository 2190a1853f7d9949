/// Signs with one key and one algorithm, on any number of threads at once.
public final class Signer: Sendable {
  /// The key that signs.
  public let key: PrivateKey
  public let algorithm: SignatureAlgorithm
  private let pool: SignatureContextPool

  /// Binds a key to an algorithm.
  ///
  /// - Throws: `KeyError.unfit` when the key cannot sign with it.
  public init(key: PrivateKey, algorithm: SignatureAlgorithm) throws(KeyError) {
    guard key.fits(algorithm) else { throw .unfit(key.kind, algorithm) }
    self.key = key
    self.algorithm = algorithm
    pool = SignatureContextPool(key: key.key, algorithm: algorithm, .sign)
  }

  /// The signature of a message in JWS form: R ‖ S for ECDSA (RFC 7518 §3.4), OpenSSL's own for the others.
  public func sign(_ message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    let signature = try pool.with { context throws(OpenSSLError) in try context.sign(message) }
    guard let size = key.kind.coordinateBytes else { return signature }
    guard let joined = ECDSASignature.joined(fromDER: signature, size: size) else {
      throw OpenSSLError(operation: "ECDSA signature")
    }
    return joined
  }
}
