// Helpers that load a configuration from texts, without the machine's files or environment.

import Gate
import JOSE
import JSON
import Testing

@testable import Configuration
@testable import Documents

/// Loads configurations from texts: nothing here touches the machine's files or environment.
enum Fixture {
  /// Name of the YAML file in problems.
  static let file = "config.yaml"

  /// A key on P-256, encoded as the environment variable expects it.
  static let key: String = base64Key(for: .ES256)
  /// A key on P-384.
  static let otherKey: String = base64Key(for: .ES384)

  /// Content of a Google service account's key file.
  static let serviceAccount: String = {
    guard let key = try? PrivateKey.generate(for: .RS256).pem().exposedString() else {
      preconditionFailure("no key can be made")
    }
    let members: JSONValue = [
      "type": "service_account", "project_id": "shop-1", "private_key_id": "k1", "private_key": .string(key),
      "client_email": "callgate@shop-1.example", "token_uri": "https://id.example/token",
    ]
    return String(decoding: members.serialized(), as: UTF8.self)
  }()

  /// The smallest environment that `serve` starts with: a credential and a caller.
  static let environment: [String: String] = [
    "TD_ACCOUNT_NAME": "acme", "TD_CLIENT_ID": "client-1", "TD_KEY_ID": "key-1", "TD_PRIVATE_KEY": key,
    "DEFAULT_USERNAME": "app-user", "DEFAULT_PASSWORD": "correct horse battery",
  ]

  static func load(
    _ yaml: String? = nil, environment: [String: String] = environment, host: String? = nil,
    port: String? = nil,
    files: [String: ConfigurationFiles.Content] = [:], terminal: Bool = false,
    for purpose: ConfigurationPurpose = .serve
  ) throws(ConfigurationErrors) -> LoadedConfiguration {
    var files = files
    if let yaml { files[file] = ConfigurationFiles.Content(bytes: Array(yaml.utf8)) }
    let sources = ConfigurationSources(
      flags: ConfigurationFlags(config: yaml == nil ? nil : file, host: host, port: port),
      environment: environment,
      files: reader(files), writesToTerminal: terminal)
    return try ConfigurationLoader.load(sources, for: purpose)
  }

  /// A policy from YAML rules, one per line after a dash.
  static func policy(_ rules: String, beside rest: String = "") throws(ConfigurationErrors) -> Policy {
    try load("rules:\n\(rules)\n\(rest)", environment: [:], for: .explain).configuration.policy
  }

  /// Problems of a configuration that must fail to load, one per line.
  static func problems(
    _ yaml: String? = nil, environment: [String: String] = environment, host: String? = nil,
    port: String? = nil,
    files: [String: ConfigurationFiles.Content] = [:], for purpose: ConfigurationPurpose = .serve
  ) -> [String] {
    do throws(ConfigurationErrors) {
      _ = try load(yaml, environment: environment, host: host, port: port, files: files, for: purpose)
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  /// The environment of `serve` with some variables changed; nil removes one.
  static func changed(_ changes: [String: String?]) -> [String: String] {
    var result = environment
    for (name, value) in changes { result[name] = value }
    return result
  }

  static func content(
    _ text: String, mode: UInt32 = 0o600, isRootOwned: Bool = false
  ) -> ConfigurationFiles.Content {
    ConfigurationFiles.Content(bytes: Array(text.utf8), mode: mode, isRootOwned: isRootOwned)
  }

  static func reader(_ files: [String: ConfigurationFiles.Content]) -> ConfigurationFiles {
    ConfigurationFiles { path, limit throws(ConfigurationFiles.Failure) in
      if path == "/etc/" || path == "folder" { throw .directory }
      if path == "/locked" { throw .system("Permission denied") }
      guard let content = files[path] else { throw .missing }
      guard content.bytes.count <= limit else { throw .tooLarge(limit: limit) }
      return content
    }
  }

  private static func base64Key(for algorithm: SignatureAlgorithm) -> String {
    do {
      return Base64.encode(try PrivateKey.generate(for: algorithm).pkcs8DER().exposedBytes())
    } catch {
      preconditionFailure("\(error)")
    }
  }
}

extension Configuration.SigningKey {
  /// The private key itself. Traps if a signer holds it.
  var key: PrivateKey {
    guard case .key(let key) = source else { preconditionFailure("a key with a signer") }
    return key
  }
}
