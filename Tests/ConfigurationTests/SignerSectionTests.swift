// Tests of `talkdesk.signer`: every key is read, and each mistake is named with its fix.

import JOSE
import Talkdesk
import Testing

@testable import Configuration
@testable import RoomSupport

@Suite struct SignerSectionTests {
  private static let environment = Fixture.changed(["TD_PRIVATE_KEY": nil])

  private func yaml(_ signer: String, _ more: String = "") -> String {
    "talkdesk:\n  signer: { \(signer) }\n\(more)"
  }

  private func settings(_ signer: String, _ more: String = "") throws -> Configuration.ClientAuthentication? {
    try Fixture.load(yaml(signer, more), environment: Self.environment).configuration.talkdesk.upstream?
      .authentication
  }

  @Test func `a signer takes the place of a key, with the usual values`() throws {
    guard
      case .key(let key, nil) = try settings(
        "vault: https://vault.example/, key: talkdesk, auth: { token_file: /token }"),
      case .signer(let signer, nil) = key.source
    else {
      Issue.record("no signer")
      return
    }
    #expect(key.id == "key-1" && key.algorithm == .ES256)
    #expect(
      signer
        == TransitSettings(
          address: "https://vault.example", mount: "transit", key: "talkdesk", login: .token(.file("/token")),
          timeout: .seconds(2)))
  }

  @Test func `every key arrives, and the next key may have a signer`() throws {
    let first = """
      vault: "https://vault.example:8200", mount: team/transit, key: talkdesk, namespace: team/a, key_version: 3, timeout: 500ms,
      auth: { approle: { role_id: role-1, secret_id_file: /secret, path: approle/eu } }
      """
    let next = """
        next_key:
          key_id: key-2
          signer: { vault: "http://127.0.0.1:8200", key: next, auth: { kubernetes: { role: callgate } } }
      """
    guard case .key(let key, let other?) = try settings(first, next),
      case .signer(let signer, nil) = key.source,
      case .signer(let nextSigner, nil) = other.source
    else {
      Issue.record("no signers")
      return
    }
    #expect(
      signer
        == TransitSettings(
          address: "https://vault.example:8200", mount: "team/transit", key: "talkdesk", namespace: "team/a",
          version: 3, login: .appRole(roleID: "role-1", secretID: .file("/secret"), path: "approle/eu"),
          timeout: .milliseconds(500)))
    #expect(
      nextSigner.login
        == .kubernetes(
          role: "callgate", jwt: .file("/var/run/secrets/kubernetes.io/serviceaccount/token"),
          path: "kubernetes"
        ))
  }

  @Test(arguments: [("", SignatureAlgorithm.PS256), ("key_algorithm: ES384, ", .ES384)])
  func `the next key has the current key's algorithm unless it has its own`(
    _ setting: String, _ algorithm: SignatureAlgorithm
  ) throws {
    let more = """
        key_algorithm: PS256
        next_key:
          { key_id: key-2, \(setting)signer: { vault: "https://v.example", key: next, auth: { token_file: /t } } }
      """
    guard
      case .key(let key, let next?) = try settings(
        "vault: https://v.example, key: k, auth: { token_file: /t }", more)
    else {
      Issue.record("no next key")
      return
    }
    #expect(key.algorithm == .PS256 && next.algorithm == algorithm)
  }

  @Test(arguments: [
    ("key: k, auth: { token_file: /t }", "talkdesk.signer.vault: is missing"),
    ("vault: https://v.example, auth: { token_file: /t }", "talkdesk.signer.key: is missing"),
    ("vault: https://v.example, key: k", "talkdesk.signer.auth: is missing"),
    (
      "vault: https://v.example, key: k, auth: { token_file: /t, approle: { role_id: r, secret_id_file: /s } }",
      "talkdesk.signer.auth: has more than one login"
    ),
    ("vault: https://v.example, key: k, auth: { approle: { role_id: r } }", "secret_id_file: is missing"),
    ("vault: https://v.example, key: k, auth: { kubernetes: { path: p } }", "kubernetes.role: is missing"),
    ("vault: http://v.example, key: k, auth: { token_file: /t }", "is plain http to another machine"),
    ("vault: https://v.example, key: a/b, auth: { token_file: /t }", "is not a key's name"),
    ("vault: https://v.example, key: k, mount: ../sys, auth: { token_file: /t }", "is not a path of Vault"),
    ("vault: https://v.example, key: k, mount: \"a//b\", auth: { token_file: /t }", "is not a path of Vault"),
    ("vault: https://v.example, key: k, key_version: 0, auth: { token_file: /t }", "key_version"),
    ("vault: https://v.example, key: k, timeout: 31s, auth: { token_file: /t }", "timeout"),
    ("vault: https://v.example, key: k, ca_file: /none, auth: { token_file: /t }", "ca_file"),
    ("vault: https://v.example, key: k, auth: { token_variable: VAULT_T }", "VAULT_T"),
  ]) func `a mistake is named`(_ signer: String, _ words: String) {
    let problems = Fixture.problems(yaml(signer), environment: Self.environment)
    #expect(problems.contains { $0.contains(words) }, "\(problems)")
  }

  @Test func `a key beside a signer is one too many`() {
    let signer = "vault: https://v.example, key: k, auth: { token_file: /t }"
    #expect(
      Fixture.problems(yaml(signer)).contains { $0.contains("a signer is set too") })
    let secret = Fixture.changed(["TD_PRIVATE_KEY": nil, "TD_CLIENT_SECRET": "secret-1"])
    #expect(
      Fixture.problems(yaml(signer), environment: secret).contains {
        $0.contains("a signer is set too")
      })
  }

  @Test func `a path has at most 128 octets`() throws {
    let path = String(repeating: "a", count: 128)
    let rest = "vault: https://v.example, key: k, auth: { token_file: /t }, mount: "
    _ = try settings(rest + path)
    #expect(!Fixture.problems(yaml(rest + path + "a"), environment: Self.environment).isEmpty)
  }
}
