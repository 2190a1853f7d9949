// A client's public key as registered with Talkdesk, with its key ID and algorithm.

public import JOSE

/// A client's public key as registered with Talkdesk. A key that the user supplies has no fixed algorithm, so
/// every algorithm that works with its type is accepted.
public struct RegisteredKey: Sendable {
  /// The key's id. An assertion's `kid` must equal it.
  public var keyID: String
  /// The key's algorithms. An assertion's `alg` must name one of them. The first is the one to configure.
  public var algorithms: [SignatureAlgorithm]
  public var publicKey: PublicKey

  /// The algorithm to configure: the first one.
  public var algorithm: SignatureAlgorithm { algorithms[0] }

  /// Registers a key with at least one algorithm.
  public init(keyID: String, algorithms: [SignatureAlgorithm], publicKey: PublicKey) {
    precondition(!algorithms.isEmpty)
    self.keyID = keyID
    self.algorithms = algorithms
    self.publicKey = publicKey
  }
}
