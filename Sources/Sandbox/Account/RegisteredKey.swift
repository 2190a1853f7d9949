// A client's public key as registered with Talkdesk, with its key ID and algorithm.

public import JOSE

/// A client's public key as Talkdesk keeps it: the key, its id and its algorithm. Your own key has no
/// algorithm: all that fit its type are valid.
public struct RegisteredKey: Sendable {
  /// The key id; an assertion's `kid` has to equal it.
  public var keyID: String
  /// What the key is good for; an assertion's `alg` has to name one of them. The first is the one to configure.
  public var algorithms: [SignatureAlgorithm]
  /// The public half.
  public var publicKey: PublicKey

  /// The algorithm to configure.
  public var algorithm: SignatureAlgorithm { algorithms[0] }

  /// Makes a registration. There must be one algorithm at least.
  public init(keyID: String, algorithms: [SignatureAlgorithm], publicKey: PublicKey) {
    precondition(!algorithms.isEmpty)
    self.keyID = keyID
    self.algorithms = algorithms
    self.publicKey = publicKey
  }
}
