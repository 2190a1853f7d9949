public import JOSE

/// A client's public key as Talkdesk keeps it: the key, and the id and algorithm that were handed out with it.
public struct RegisteredKey: Sendable {
  /// The key id; an assertion's `kid` has to equal it.
  public var keyID: String
  /// The one algorithm the key is good for; an assertion's `alg` has to name it.
  public var algorithm: SignatureAlgorithm
  /// The public half.
  public var publicKey: PublicKey

  /// Makes a registration.
  public init(keyID: String, algorithm: SignatureAlgorithm, publicKey: PublicKey) {
    self.keyID = keyID
    self.algorithm = algorithm
    self.publicKey = publicKey
  }
}
