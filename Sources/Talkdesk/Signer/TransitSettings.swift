// The settings for signing with Vault or OpenBao: the key, and how this server logs in.

/// A key of a Transit secrets engine, and how this server uses it.
public struct TransitSettings: Hashable, Sendable {
  /// The server's URL, without a slash at the end.
  public var address: String
  /// The path of the secrets engine.
  public var mount: String
  /// The name of the key.
  public var key: String
  /// The namespace of all requests; nil for none.
  public var namespace: String?
  /// The version that signs; nil for the newest one when the key is first read.
  public var version: Int64?
  /// How the server logs in.
  public var login: VaultLogin
  /// The time limit of a signature, with the login and everything else that it needs first.
  public var timeout: Duration

  /// Creates settings. The caller has checked the form of each part.
  public init(
    address: String, mount: String = "transit", key: String, namespace: String? = nil, version: Int64? = nil,
    login: VaultLogin, timeout: Duration = .seconds(2)
  ) {
    self.address = address
    self.mount = mount
    self.key = key
    self.namespace = namespace
    self.version = version
    self.login = login
    self.timeout = timeout
  }
}

/// How this server gets a Vault token.
public enum VaultLogin: Hashable, Sendable {
  /// A token, which another program such as Vault Agent renews.
  case token(VaultSecret)
  /// AppRole (`secret_id`).
  case appRole(roleID: String, secretID: VaultSecret, path: String)
  /// A service account of Kubernetes (`jwt`).
  case kubernetes(role: String, jwt: VaultSecret, path: String)
}

/// The location of a secret. The server reads the secret whenever it needs it, so a changed file takes effect
/// at once.
public enum VaultSecret: Hashable, Sendable {
  case file(String)
  /// The name of an environment variable that contains the secret.
  case variable(String)
}
