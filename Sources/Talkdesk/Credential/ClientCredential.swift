// The credential that authenticates this server to Talkdesk ID: a signing key or a client secret.

public import JOSE

/// A credential with which this server authenticates to Talkdesk ID as the OAuth client.
public enum ClientCredential: Sendable {
  /// `private_key_jwt`: a fresh signed assertion for every request (RFC 7523 §2.2). AppConnect apps must use
  /// it.
  case signedJWT(clientID: String, keyID: String, signer: Signer)
  /// `private_key_jwt` with a key that never leaves Vault or OpenBao.
  case transit(clientID: String, keyID: String, signer: TransitSigner)
  /// HTTP Basic with the client's secret (RFC 6749 §2.3.1).
  case secret(clientID: String, secret: Secret)

  /// The OAuth client's id.
  public var clientID: String {
    switch self {
    case .signedJWT(let clientID, _, _), .transit(let clientID, _, _), .secret(let clientID, _): clientID
    }
  }

  /// Whether both credentials have the same client, name, key and algorithm. Keys in Vault are compared by
  /// their settings.
  func isSame(as other: Self) -> Bool {
    guard clientID == other.clientID, name == other.name else { return false }
    switch (self, other) {
    case (.signedJWT(_, _, let mine), .signedJWT(_, _, let theirs)):
      return mine.algorithm == theirs.algorithm
        && mine.key.publicKey.fingerprint == theirs.key.publicKey.fingerprint
    case (.secret(_, let mine), .secret(_, let theirs)): return mine.isEqual(to: theirs.exposedBytes())
    case (.transit(_, _, let mine), .transit(_, _, let theirs)):
      return mine.algorithm == theirs.algorithm && mine.settings == theirs.settings
    case (.signedJWT, _), (.transit, _), (.secret, _): return false
    }
  }

  /// The credential's name in logs and status: the key's id, or `client_secret`. The name is not secret.
  public var name: String {
    switch self {
    case .signedJWT(_, let keyID, _), .transit(_, let keyID, _): keyID
    case .secret: "client_secret"
    }
  }
}
