// The credential of the sandbox's OAuth client: a generated key, or a key or secret that the user supplies.

public import JOSE

/// The credential of the sandbox's client: a generated key, or your own key or secret.
///
/// Client id and key id are derived from the public key or the secret. So a client with the same credential
/// keeps its configuration when the sandbox restarts.
public struct SandboxCredential: Sendable {
  public let clientID: String
  /// The key's public half, its id and its algorithm; nil for a client with a secret.
  public let registration: RegisteredKey?
  /// The private key as bare Base64 of its PKCS#8 form, as Talkdesk issues keys. Nil if the user supplied the
  /// key and so has it already.
  public let privateKey: Secret?
  /// The secret that the user supplied; nil for a client with a key.
  public let clientSecret: Secret?

  /// Generates a key.
  public init(generating algorithm: SignatureAlgorithm = .ES256) throws(KeyError) {
    let key = try PrivateKey.generate(for: algorithm)
    self.init(
      key.publicKey, [algorithm], privateKey: Secret(Base64.encode(try key.pkcs8DER().exposedBytes())))
  }

  /// Registers your own key, public or private, in any form that the gateway accepts, for every Talkdesk
  /// algorithm that works with the key.
  ///
  /// - Throws: `KeyError.unsupported` for an Ed25519 key, for which Talkdesk has no algorithm, and the errors
  ///   of reading a key.
  public init(trusting text: [UInt8]) throws(KeyError) {
    let publicKey: PublicKey
    do throws(KeyError) {
      publicKey = try PrivateKey(text).publicKey
    } catch .publicKey {
      publicKey = try PublicKey(text)
    }
    let algorithms = publicKey.kind.algorithms.filter { $0 != .EdDSA }
    guard !algorithms.isEmpty else { throw .unsupported(type: publicKey.kind.description) }
    self.init(publicKey, algorithms, privateKey: nil)
  }

  /// Registers your own secret, like the one of an account's OAuth client.
  public init(trusting secret: Secret) {
    let digest = Hex.encode(SHA256.digest(secret.exposedBytes()))
    clientID = Identifier.derived(from: "callgate sandbox client with secret " + digest)
    registration = nil
    privateKey = nil
    clientSecret = secret
  }

  private init(_ publicKey: PublicKey, _ algorithms: [SignatureAlgorithm], privateKey: Secret?) {
    clientID = Identifier.derived(from: "callgate sandbox client " + publicKey.fingerprint)
    registration = RegisteredKey(
      keyID: String(publicKey.fingerprint.prefix(32)), algorithms: algorithms, publicKey: publicKey)
    self.privateKey = privateKey
    clientSecret = nil
  }
}
