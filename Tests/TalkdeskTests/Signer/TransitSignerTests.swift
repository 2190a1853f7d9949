// Tests of the signer: what it sends to Vault, how it logs in, and that no signature leaves unverified.

import Foundation
import HTTP
import JOSE
import JSON
import Platform
import Synchronization
import TestSupport
import Testing

@testable import Talkdesk
@testable import Tokens

/// A Vault that signs with keys of this process.
private struct Vault: Sendable {
  static let token = "canary-vault-token"
  let keys: [Signer]
  var lease: Int64 = 1200
  var minimum: Int64 = 0

  init(_ algorithm: SignatureAlgorithm = .ES256, versions: Int = 1) throws {
    keys = try (0..<versions).map { _ in try Signer(key: .generate(for: algorithm), algorithm: algorithm) }
  }

  func answer(_ request: OutboundRequest) -> ScriptedTransport.Answer {
    if request.url.hasSuffix("/login") || request.url.hasSuffix("/renew-self") {
      return .status(
        200, #"{"auth":{"client_token":"\#(Self.token)","lease_duration":\#(lease),"renewable":true}}"#)
    }
    guard request.fields["X-Vault-Token"] == Self.token else {
      return .status(403, #"{"errors":["permission denied"]}"#)
    }
    guard request.method == .post else {
      let versions = keys.enumerated().map { index, signer in
        (
          "\(index + 1)", ["public_key": .string(signer.key.publicKey.pem())] as JSONValue
        )
      }
      var members = JSONObject()
      for (name, value) in versions { members.append(name, value) }
      let document: JSONValue = [
        "data": [
          "type": "ecdsa-p256", "latest_version": .number(JSONNumber(Int64(keys.count))),
          "min_encryption_version": .number(JSONNumber(minimum)), "keys": .object(members),
        ]
      ]
      return .status(200, String(decoding: document.serialized(), as: UTF8.self))
    }
    return sign(request)
  }

  func sign(_ request: OutboundRequest, by version: Int? = nil) -> ScriptedTransport.Answer {
    guard let body = try? JSONValue(parsing: Array(request.content)),
      let input = body["input"]?.string.flatMap(Base64.decode),
      let asked = body["key_version"]?.int(in: 1...Int64.max),
      let signer = keys[safe: (version ?? Int(asked)) - 1],
      let signature = try? signer.sign(input)
    else { return .status(400, #"{"errors":["invalid request"]}"#) }
    guard asked >= minimum else {
      return .status(
        500,
        #"{"errors":["requested version for signing is less than the minimum encryption key version"]}"#)
    }
    return .status(
      200, #"{"data":{"signature":"vault:v\#(version ?? Int(asked)):\#(Base64URL.encode(signature))"}}"#)
  }
}

extension Array {
  fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}

@Suite struct TransitSignerTests {
  private let time = ManualTime()
  private let message = Array("header.payload".utf8)

  private func signer(
    _ transport: ScriptedTransport, version: Int64? = nil, algorithm: SignatureAlgorithm = .ES256,
    login: VaultLogin? = nil, namespace: String? = nil
  ) throws -> TransitSigner {
    TransitSigner(
      TransitSettings(
        address: "https://vault.example:8200", key: "talkdesk", namespace: namespace, version: version,
        login: try login ?? .token(.file(file(Vault.token + "\n")))),
      algorithm: algorithm, transport: transport, time: time)
  }

  private func file(_ text: String) throws -> String {
    let path = FileManager.default.temporaryDirectory.appending(path: "vault-\(UUID().uuidString)").path
    try Data(text.utf8).write(to: URL(filePath: path))
    return path
  }

  private func failure(_ signer: TransitSigner) async -> String {
    do throws(TokenExchangeError) {
      _ = try await signer.sign(message, deadline: time.now + .seconds(10))
      return "signed"
    } catch {
      return "\(TokenExchangeError.signer(error))"
    }
  }

  @Test func `the key is read once, and each signature is made by the pinned version`() async throws {
    let vault = try Vault(versions: 2)
    let transport = ScriptedTransport { _, request in vault.answer(request) }
    let signer = try signer(transport, version: 1, namespace: "team/a")
    for _ in 0..<2 {
      let signature = try await signer.sign(message, deadline: time.now + .seconds(10))
      #expect(vault.keys[0].key.publicKey.verify(signature: signature, of: message, algorithm: .ES256))
    }
    let requests = transport.requests
    #expect(
      requests.map(\.url) == [
        "https://vault.example:8200/v1/transit/keys/talkdesk",
        "https://vault.example:8200/v1/transit/sign/talkdesk",
        "https://vault.example:8200/v1/transit/sign/talkdesk",
      ])
    #expect(
      requests[1].fields["X-Vault-Token"] == Vault.token
        && requests[1].fields["X-Vault-Namespace"] == "team/a")
    #expect(requests[1].timeout <= .seconds(2) && requests[1].maximumContentLength == VaultAnswer.longest)
    let body = try JSONValue(parsing: Array(requests[1].content))
    #expect(body["input"]?.string == Base64.encode(message))
    #expect(body["hash_algorithm"] == "sha2-256" && body["marshaling_algorithm"] == "jws")
    #expect(try await signer.pinned(within: .seconds(1)).latest == 2)
  }

  @Test func `without a version the newest one of the first reading stays`() async throws {
    let (one, two) = (try Vault(), try Vault(versions: 2))
    let transport = ScriptedTransport { number, request in (number == 0 ? two : one).answer(request) }
    let signer = try signer(transport)
    #expect(try await signer.pinned(within: .seconds(1)).version == 2)
    #expect(await failure(signer).contains("400"), "version 2 is asked for")
  }

  @Test func `RSA is signed as RFC 7518 wants it`() async throws {
    for (algorithm, scheme, salt) in [
      (SignatureAlgorithm.RS256, "pkcs1v15", nil), (.PS256, "pss", "hash"), (.PS384, "pss", "hash"),
      (.PS512, "pss", "hash"),
    ] as [(SignatureAlgorithm, String, String?)] {
      let vault = try Vault(algorithm)
      let transport = ScriptedTransport { _, request in vault.answer(request) }
      let signature = try await signer(transport, algorithm: algorithm).sign(
        message, deadline: time.now + .seconds(10))
      #expect(vault.keys[0].key.publicKey.verify(signature: signature, of: message, algorithm: algorithm))
      let body = try JSONValue(parsing: Array(try #require(transport.requests.last).content))
      #expect(body["signature_algorithm"]?.string == scheme && body["salt_length"]?.string == salt)
    }
  }

  @Test func `a wrong signature, another version's and one of another message are refused`() async throws {
    let (vault, other) = (try Vault(versions: 2), try Vault())
    for answer: @Sendable (OutboundRequest) -> ScriptedTransport.Answer in [
      { vault.sign($0, by: 2) }, { other.sign($0) },
      { _ in
        .status(
          200, #"{"data":{"signature":"vault:v1:\#(Base64URL.encode([UInt8](repeating: 1, count: 64)))"}}"#)
      },
    ] {
      let transport = ScriptedTransport { _, request in
        request.method == .post ? answer(request) : vault.answer(request)
      }
      #expect(await failure(try signer(transport, version: 1)).contains("does not verify"))
    }
  }

  @Test func `each failure has its kind and its words`() async throws {
    let vault = try Vault()
    let cases: [(ScriptedTransport.Answer, String, Cooldown.Kind?)] = [
      (
        .status(400, #"{"errors":["signing key not found"]}"#), "refused: status 400, signing key not found",
        .credential
      ),
      (
        .status(403, #"{"errors":["1 error occurred:\n\t* permission denied\n\n"]}"#),
        "refused: status 403, error occurred permission denied", .credential
      ),
      (.status(404), "refused: status 404", .credential),
      (.status(429, fields: ["Retry-After": "7"]), "limits the rate, retry after 7 s", .rateLimit),
      (.status(503, #"{"errors":["Vault is sealed"]}"#), "unavailable: status 503", .outage),
      (.status(412), "status 412", .outage),
      (.status(472), "status 472", .outage), (.status(500), "status 500", .outage),
      (.status(204), "no content", .outage),
      (
        .status(307, fields: ["Location": "https://user:pass@elsewhere.example:8200/v1/transit?x=y"]),
        "status 307, a redirect to elsewhere.example:8200", .outage
      ),
      (.status(308, fields: ["Location": "/ui"]), "status 308, a redirect to another address", .outage),
      (.status(301), "status 301, a redirect to another address", .outage),
      (.status(200, "{}"), "no signature", .outage),
      (.lost(.connect, sent: false), "was not reached", .outage),
      (.lost(.timedOut), "did not respond in time", .outage),
      (.lost(.responseTooLarge), "too large", .outage),
      (.lost(.tls, sent: false), "TLS", .outage),
    ]
    for (answer, words, kind) in cases {
      let transport = ScriptedTransport { _, request in
        request.method == .post ? answer : vault.answer(request)
      }
      let signer = try signer(transport)
      do throws(TokenExchangeError) {
        _ = try await signer.sign(message, deadline: time.now + .seconds(10))
        Issue.record("it signed")
      } catch {
        let error = TokenExchangeError.signer(error)
        #expect("\(error)".contains(words), "\(error)")
        #expect(Cooldown.kind(of: error) == kind, "\(error)")
        #expect(error.label == "signing_failed" && error.isOfSigner)
      }
      #expect(!transport.requests.contains { $0.url.contains("elsewhere") })
    }
  }

  @Test func `a key that is not there or does not fit is an error of the settings`() async throws {
    let vault = try Vault()
    let transport = ScriptedTransport { _, request in vault.answer(request) }
    #expect(await failure(try signer(transport, version: 2)).contains("has no version 2"))
    for (type, version, words) in [
      ("aes256-gcm96", #"1764000000"#, "aes256-gcm96, which cannot sign"),
      ("hmac", #"{"creation_time":"2026-01-01T00:00:00Z"}"#, "hmac, which cannot sign"),
    ] {
      let key =
        #"{"data":{"type":"\#(type)","supports_signing":false,"latest_version":1,"keys":{"1":\#(version)}}}"#
      let other = ScriptedTransport { _, _ in .status(200, key) }
      #expect(await failure(try signer(other)).contains(words))
      #expect(other.count == 1, "nothing is sent to sign")
    }
    let old = #"{"data":{"type":"aes256-gcm96\u001b","latest_version":1,"keys":{"1":1764000000}}}"#
    #expect(
      await failure(try signer(ScriptedTransport { _, _ in .status(200, old) })).contains(
        "of type unknown has no version 1"))
    let broken =
      #"{"data":{"type":"ecdsa-p256","supports_signing":true,"latest_version":1,"keys":{"1":{"public_key":"x"}}}}"#
    #expect(
      await failure(try signer(ScriptedTransport { _, _ in .status(200, broken) })).contains(
        "version 1 of the key talkdesk cannot be used"))

    #expect(
      await failure(try signer(transport, algorithm: .ES384)).contains("P-256, which does not fit ES384"))
    #expect(
      await failure(try signer(transport, login: .token(.file("/nonexistent/token")))).contains(
        "cannot be read")
    )
    for text in ["", "\n", "two words", String(repeating: "a", count: VaultAnswer.longestToken + 1)] {
      #expect(
        await failure(try signer(transport, login: .token(.file(file(text))))).contains("no token"))
    }
  }

  @Test(arguments: ["\(Vault.token)\r\n", "\(Vault.token)\n\n", "\u{FEFF}\(Vault.token)"])
  func `a token file is read as editors save it`(text: String) async throws {
    let vault = try Vault()
    let transport = ScriptedTransport { _, request in vault.answer(request) }
    #expect(await failure(try signer(transport, login: .token(.file(file(text))))) == "signed")
  }

  @Test func `a token file is read for each signature, and a new token is used at once`() async throws {
    let vault = try Vault()
    let transport = ScriptedTransport { _, request in vault.answer(request) }
    let path = try file("canary-old-token")
    let signer = try signer(transport, login: .token(.file(path)))
    #expect(await failure(signer).contains("status 403, permission denied"))
    #expect(transport.count == 1, "the same token is not tried twice")
    try Data(Vault.token.utf8).write(to: URL(filePath: path))
    #expect(await failure(signer) == "signed")
  }

  @Test func `a login is renewed at two thirds of its life, and repeated after its end and after 403`()
    async throws
  {
    var vault = try Vault()
    vault.lease = 30
    let refuses = Switch()
    let transport = ScriptedTransport { [vault] _, request in
      if refuses.takes(request) { return .status(403, #"{"errors":["permission denied"]}"#) }
      return vault.answer(request)
    }
    let signer = try signer(
      transport,
      login: .appRole(roleID: "role", secretID: .file(try file("canary-secret-id")), path: "approle"))
    #expect(await failure(signer) == "signed" && transport.logins == ["login"])
    let body = try JSONValue(parsing: Array(try #require(transport.requests.first).content))
    #expect(body["role_id"] == "role" && body["secret_id"] == "canary-secret-id")
    try await time.untilSleepers(1)
    time.advance(by: .seconds(20) - .nanoseconds(1))
    #expect(await failure(signer) == "signed" && transport.logins == ["login"])
    refuses.next("/sign/")
    #expect(await failure(signer).contains("403"), "the fresh token is the same one")
    #expect(transport.logins == ["login", "login"])
    try await eventually { time.sleeperCount == 1 }
    refuses.next("/renew-self")
    time.advance(by: .seconds(20))
    try await eventually { transport.logins == ["login", "login", "renew-self", "login"] }
    #expect(await failure(signer) == "signed" && transport.logins.count == 4)
  }

  @Test func `a login has ended once the wall clock says so, as after a machine's suspension`() async throws {
    var vault = try Vault()
    vault.lease = 30
    let transport = ScriptedTransport { [vault] _, request in vault.answer(request) }
    let signer = try signer(
      transport,
      login: .appRole(roleID: "role", secretID: .file(try file("canary-secret-id")), path: "approle"))
    #expect(await failure(signer) == "signed" && transport.logins == ["login"])
    time.stepWallClock(by: 31)
    #expect(await failure(signer) == "signed" && transport.logins == ["login", "login"])
  }

  @Test func `a login of an idle server is renewed for as long as Vault allows`() async throws {
    var vault = try Vault()
    vault.lease = 30
    let isSealed = Atomic<Bool>(false)
    let transport = ScriptedTransport { [vault] _, request in
      isSealed.load(ordering: .relaxed) ? .status(503) : vault.answer(request)
    }
    let signer = try signer(
      transport,
      login: .appRole(roleID: "role", secretID: .file(try file("canary-secret-id")), path: "approle"))
    #expect(await failure(signer) == "signed")
    for renewals in 1...3 {
      try await time.untilSleepers(1)
      time.advance(by: .seconds(20))
      try await eventually { transport.logins == ["login"] + Array(repeating: "renew-self", count: renewals) }
    }
    // In the last third of the login's life, renewals are tried at ever shorter intervals, at most once a
    // second and not after the end.
    isSealed.store(true, ordering: .relaxed)
    let (start, end) = (transport.logins.count, time.now + .seconds(30))
    for tries in 1...8 {
      try await time.untilSleepers(1)
      time.advance(to: time.due[0])
      try await eventually { transport.logins.count == start + tries }
    }
    await settle()
    #expect(time.sleeperCount == 0 && time.now < end)
    isSealed.store(false, ordering: .relaxed)
    time.advance(by: .seconds(10))
    #expect(await failure(signer) == "signed" && transport.logins.last == "login")
  }

  @Test func `signatures at the same time share one login`() async throws {
    let vault = try Vault()
    let transport = ScriptedTransport { _, request in
      request.url.hasSuffix("/login") ? .hold : vault.answer(request)
    }
    let signer = try signer(
      transport,
      login: .appRole(roleID: "role", secretID: .file(try file("canary-secret-id")), path: "approle"))
    let signatures = (0..<5).map { _ in Task { await failure(signer) } }
    try await eventually { transport.held == [0] }
    await settle()
    #expect(transport.logins == ["login"])
    try await transport.answer(0, vault.answer(try #require(transport.requests.first)))
    for signature in signatures { #expect(await signature.value == "signed") }
    #expect(transport.logins == ["login"])
  }

  @Test func `a login that cannot be renewed is repeated before its end`() async throws {
    let vault = try Vault()
    let transport = ScriptedTransport { _, request in
      request.url.hasSuffix("/login")
        ? .status(200, #"{"auth":{"client_token":"\#(Vault.token)","lease_duration":30,"renewable":false}}"#)
        : vault.answer(request)
    }
    let signer = try signer(
      transport,
      login: .appRole(roleID: "role", secretID: .file(try file("canary-secret-id")), path: "approle"))
    #expect(await failure(signer) == "signed")
    try await time.untilSleepers(1)
    time.advance(by: .seconds(20))
    try await eventually { transport.logins == ["login", "login"] }
  }

  @Test func `a signer that is gone renews nothing`() async throws {
    let vault = try Vault()
    let transport = ScriptedTransport { _, request in vault.answer(request) }
    do {
      let signer = try signer(
        transport,
        login: .appRole(roleID: "role", secretID: .file(try file("canary-secret-id")), path: "approle"))
      #expect(await failure(signer) == "signed")
      try await time.untilSleepers(1)
    }
    try await eventually { time.sleeperCount == 0 }
    #expect(transport.logins == ["login"])
  }

  @Test func `a version that Vault no longer signs with is refused, before and after it was pinned`()
    async throws
  {
    let before = try Vault(versions: 3)
    var after = before
    after.minimum = 2
    let isRaised = Atomic<Bool>(false)
    let transport = ScriptedTransport { [after] _, request in
      (isRaised.load(ordering: .relaxed) ? after : before).answer(request)
    }
    let pinned = try signer(transport, version: 1)
    #expect(await failure(pinned) == "signed")
    isRaised.store(true, ordering: .relaxed)
    #expect(await failure(pinned).contains("min_encryption_version is 2"))
    let count = transport.count
    #expect(await failure(try signer(transport, version: 1)).contains("min_encryption_version is 2"))
    #expect(transport.count == count + 1, "no signature is asked for")
    #expect(Cooldown.kind(of: .signer(.signingFailed("x"))) == .credential)
    #expect(await failure(try signer(transport, version: 2)) == "signed")
    #expect(try await signer(transport).pinned(within: .seconds(1)).versions == [3, 2])
  }

  @Test func `another version is tried with the same login`() async throws {
    let vault = try Vault(versions: 2)
    let transport = ScriptedTransport { _, request in vault.answer(request) }
    let newest = try signer(
      transport,
      login: .appRole(roleID: "role", secretID: .file(try file("canary-secret-id")), path: "approle"))
    #expect(await failure(newest) == "signed")
    let signature = try await newest.pinned(to: 1).sign(message, deadline: time.now + .seconds(10))
    #expect(vault.keys[0].key.publicKey.verify(signature: signature, of: message, algorithm: .ES256))
    #expect(transport.logins == ["login"])
  }

  @Test func `an RSA key that is too short or has more than 4096 bits is refused`() async throws {
    let pem = """
      -----BEGIN PUBLIC KEY-----
      MIICYjANBgkqhkiG9w0BAQEFAAOCAk8AMIICSgKCAkEAp92SgJZr79sT7BD0bfBp
      2MLUYgja9XqO3PWWQ0PvN7on70/RSWz8Un1V8omIKWCsL6Ir+SoFJpwdzTHzuht2
      1ksIjIZuYaAFwGqwEUEOOmFLMB7nxBN7qEkIT2lbw083cw4Xj0GfR6/xY8l7tDiC
      OF+zDZ6c5BdoaB2i5Apc4FQLx9r9FGEGPdwYMhAn9Mfks4hH0/bRXJJub6GtUoXQ
      TX1sFle+QxNN8BnHbrrsXV3RdDeMPklgc2/XkQIHo7/c315A8nhzkAecJo6m/Yzd
      ozVnJzhIaHtX6+dvWthsH4qPBRrrhShxRDWj2i0XeMsnTvfLiaIARL3a0qis94T8
      FsUSw16fqSO3DrNJbIVA8imP/49LaNobO3OvZukFiA9/Qbs2bGmGxH2f3jY4ys4Q
      nZIvjNpK0Zr7Kstw3LKrxtl3N8djWvuAOICjgwzcOKFxne254PaiYci7kPxJU+69
      LbHWchTKBGicSgj9N1v+rlMpT9aa/Sy7AR7XNCthJwy1G+WE/9dtjoCt3FZL/r98
      KK2NUhCu1vtVGyGETysoiWISPc5aCSu0AjBMnf8ZssEnTLi4qr9S2dym3ussV7n3
      I0g9LkHt7r6uj7rzKJi4/D2baMYMWeCD9U7pLJ4TPAgn+fSx2zlXvU0utaI3CHA2
      +R6WAf0+uTrfbTCe44HLtjwJ6Qi1FhykPwqDRFLgrXfaJzGaPbDr4HbCw3DITqc6
      FwRyiWspmGqWGSayAiDptqzBMFNulMTUVX+rhJe4bIjxAgMBAAE=
      -----END PUBLIC KEY-----
      """
    let short = """
      -----BEGIN PUBLIC KEY-----
      MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDzeiZlZo9eQfLdk4dvA0fGL6PW
      j+NVEoNuVgdKLsfr2DE3Hfi8sZy511qq8qaNXEhO6bV0cicTW7EIorxM9okbb+ha
      1JpY5GZjcwWucMUArzv8gtaFn01LRwL9fe3IxAAH1t888KYSucmimOQKCad2JwDj
      iwJJ6lECWPevgeMr9wIDAQAB
      -----END PUBLIC KEY-----
      """
    for (pem, bits) in [(pem, 4608), (short, 1024)] {
      let document: JSONValue = [
        "data": ["type": "rsa", "latest_version": 1, "keys": ["1": ["public_key": .string(pem)]]]
      ]
      let text = String(decoding: document.serialized(), as: UTF8.self)
      let transport = ScriptedTransport { _, _ in .status(200, text) }
      #expect(await failure(try signer(transport, algorithm: .RS256)).contains("\(bits) bits"))
    }
  }

  @Test func `a service account logs in with its JWT`() async throws {
    let vault = try Vault()
    let transport = ScriptedTransport { _, request in vault.answer(request) }
    let signer = try signer(
      transport,
      login: .kubernetes(role: "callgate", jwt: .file(try file("canary.jwt.text\n")), path: "k8s/eu"))
    #expect(await failure(signer) == "signed")
    let login = try #require(transport.requests.first)
    #expect(
      login.url == "https://vault.example:8200/v1/auth/k8s/eu/login" && login.fields["X-Vault-Token"] == nil)
    let body = try JSONValue(parsing: Array(login.content))
    #expect(body["role"] == "callgate" && body["jwt"] == "canary.jwt.text")
    let page = try self.signer(
      ScriptedTransport { _, _ in .status(200, #"{"auth":null}"#) },
      login: .kubernetes(role: "callgate", jwt: .file(try file("canary.jwt.text")), path: "kubernetes"))
    #expect(await failure(page).contains("auth.client_token"))
  }

  @Test func `a signer's failure leaves the credential as it is, and the next one is tried`() async throws {
    let transport = ScriptedTransport { _, request in
      request.url.contains("vault.example") ? .status(503) : .token("t-1")
    }
    let remote = ClientCredential.transit(clientID: "client", keyID: "k2", signer: try signer(transport))
    let id = try TalkdeskID.scripted(transport, time, credentials: [remote, .key("k1", clientID: "client")])
    let token = try await id.exchange(scope: "callback:write", deadline: time.now + .seconds(10))
    #expect(token.text == "t-1" && id.credentialStatus.map(\.state) == [.untried, .accepted])
  }
}

extension ScriptedTransport {
  /// The last parts of the paths of the logins and renewals.
  fileprivate var logins: [String] {
    requests.filter { $0.url.contains("/auth/") }.map {
      $0.url.split(separator: "/").last.map(String.init) ?? ""
    }
  }
}

/// A switch that refuses the next request whose URL contains a text.
private final class Switch: Sendable {
  private let part = Mutex<String?>(nil)
  func next(_ text: String) { part.withLock { $0 = text } }
  func takes(_ request: OutboundRequest) -> Bool {
    part.withLock { part in
      guard let wanted = part, request.url.contains(wanted) else { return false }
      part = nil
      return true
    }
  }
}

@Suite struct VaultAnswerTests {
  @Test(arguments: [
    ("https://vault-2.example:8200/v1/x", "vault-2.example:8200"), ("http://[::1]:8200", "[::1]:8200"),
    ("//vault-2.example?x", "vault-2.example"), ("https://canary:secret@v.example/", "v.example"),
    ("https://a@b@v.example", "v.example"), ("https://v.example\\@evil", "v.example"),
    ("/v1/sys", nil), ("", nil), ("https://", nil), ("https://v\u{1B}[2J.example", nil),
    ("https://é.example", nil),
    ("https://" + String(repeating: "a", count: 260), String(repeating: "a", count: 260)),
    ("https://" + String(repeating: "a", count: 261), nil),
  ])
  func `of a redirect only the host is shown`(location: String, host: String?) {
    #expect(VaultAnswer.host(ofLocation: location) == host)
  }

  @Test func `of a key only the version that is asked for is read`() throws {
    let pem = try PrivateKey.generate(for: .ES256).publicKey.pem()
    let document: JSONValue = [
      "data": [
        "type": "ecdsa-p256", "latest_version": 3, "min_encryption_version": 2,
        "keys": [
          "1": ["public_key": .string(pem)], "2": ["public_key": "no key"], "3": ["public_key": .string(pem)],
          "04": ["public_key": .string(pem)], "5": 1,
        ],
      ]
    ]
    let key = try #require(VaultAnswer.key(in: document.serialized()))
    #expect(key.latest == 3 && key.minimum == 2 && key.usableVersions == [3, 2])
    for version: Int64 in [1, 3] { #expect(try key.publicKey(version) != nil) }
    #expect(throws: KeyError.self) { try key.publicKey(2) }
    for version: Int64 in [4, 5] { #expect(try key.publicKey(version) == nil) }
  }

  @Test func `a signature has Vault's prefix, a version and Base64 of either alphabet`() {
    func read(_ text: String) -> VaultAnswer.Signature? {
      VaultAnswer.signature(in: Array(#"{"data":{"signature":"\#(text)"}}"#.utf8))
    }
    for text in ["vault:v3:-_8", "vault:v3:+/8=", "vault:v3:+/8", "vault:v3:-_8="] {
      #expect(read(text) == .init(version: 3, bytes: [0xFB, 0xFF]), "\(text)")
    }
    for text in [
      "", "vault:v3:", "vault:v0:AAAA", "vault:v03:AAAA", "vault:3:AAAA", "bao:v3:AAAA", "vault:v3:AA AA",
      "vault:v3:AAAA:AAAA", "vault:v3:AAAA===", "vault:v3:=AAA", "vault:v9999999999999999999:AAAA",
      "vault:v-1:AAAA",
    ] { #expect(read(text) == nil, "\(text)") }
    for content in ["", "[]", "{}", #"{"data":null}"#, #"{"data":{"signature":3}}"#] {
      #expect(VaultAnswer.signature(in: Array(content.utf8)) == nil)
    }
  }

  @Test func `an answer has a limit`() {
    let text = #"{"data":{"signature":"vault:v3:AAAA"},"x":""#
    func sized(_ count: Int) -> [UInt8] {
      Array(text.utf8) + [UInt8](repeating: 0x61, count: count - text.utf8.count - 2) + Array(#""}"#.utf8)
    }
    #expect(VaultAnswer.signature(in: sized(VaultAnswer.longest)) != nil)
    #expect(VaultAnswer.signature(in: sized(VaultAnswer.longest + 1)) == nil)
  }

  @Test func `a login's token is visible ASCII of at most 4096 octets, and its life at most a year`() {
    func read(_ token: String, _ lease: String = "60") -> VaultAnswer.Login? {
      VaultAnswer.login(
        in: Array(#"{"auth":{"client_token":"\#(token)","lease_duration":\#(lease),"renewable":true}}"#.utf8))
    }
    #expect(read("a")?.lease == 60 && read("a")?.isRenewable == true)
    #expect(read("a", "99999999999")?.lease == VaultAnswer.longestLease && read("a", "0")?.lease == 0)
    #expect(
      read(String(repeating: "a", count: 4096)) != nil && read(String(repeating: "a", count: 4097)) == nil)
    for token in ["", "a b", "é", "a\\r\\nX: y"] { #expect(read(token) == nil, "\(token)") }
    #expect(read("a", "-1") == nil && read("a", "1.5") == nil && read("a", "null") == nil)
  }

  @Test func `what was sent does not come back in an error's words`() {
    func read(_ text: String) -> String? { VaultAnswer.errors(in: Array(#"{"errors":["\#(text)"]}"#.utf8)) }
    #expect(read("* permission denied: hvs.CAESIJ0aUKXwZ canary-token.") == "permission denied")
    #expect(read(String(repeating: "a", count: 17)) == nil && read(String(repeating: "a", count: 16)) != nil)
    #expect(read("+14155550123") == nil)
    #expect((read(String(repeating: "word ", count: 100))?.utf8.count ?? 0) <= 80)
  }
}
