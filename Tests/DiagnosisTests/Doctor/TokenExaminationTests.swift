// Tests of what `callgate doctor --token` says about a user's token.

import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Callers
@testable import Diagnosis
@testable import RoomSupport

@Suite struct TokenExaminationTests {
  private let clock = ManualTime()
  private let provider: TokenFixture

  init() throws { provider = try TokenFixture() }

  private static let yaml = """
    callers:
      - { id: users, jwt: { issuer: "https://id.example/", audience: callgate, jwks_url: "https://id.example/jwks" } }
      - { id: staff, jwt: { issuer: "https://id.example/", audience: staff, jwks_url: "https://id.example/jwks" } }
    apps: { shop: { callers: [users] }, desk: { callers: [staff] } }
    rules:
      - { name: scoped, kind: claims, callers: [users], apps: [shop], require: { scope: [callback] } }
      - { name: watched, kind: claims, callers: [users], require: { tier: [gold] }, mode: audit }
    """
  private static let claims: JSONObject = [
    "iss": "https://id.example/", "aud": "callgate", "sub": "canary-subject", "scope": "openid callback",
    "tier": "gold",
  ]

  private func report(
    _ changes: JSONObject = [:], without names: [String] = [],
    header: JSONObject = ["kid": "k1", "typ": "JWT"],
    app: String? = "shop", by other: TokenFixture? = nil, from transport: (any HTTPTransport)? = nil
  ) async throws -> DoctorReport {
    var claims = Self.claims
    for (name, value) in changes.members { claims[name] = value }
    for name in names { claims[name] = nil }
    let token = try (other ?? provider).token(header: header, claims, at: clock)
    return try await TokenFixture.report(
      token, app: app, Self.yaml, transport ?? provider.publishing(), clock)
  }

  @Test func `a token that the server accepts passes check by check, and only the key set is fetched`()
    async throws
  {
    let keys = provider.publishing()
    let report = try await report(from: keys)
    #expect(report.verdict == .well)
    #expect(
      report.findings.map(\.check) == [
        "length", "issuer", "jwks", "key", "algorithm", "signature", "audience", "times", "subject", "app",
        "rule", "rule", "answer",
      ])
    #expect(report.findings.someAndAll { $0.status == .ok })
    #expect(keys.count == 1)
  }

  @Test(
    arguments: [
      (["iss": "https://id.example"], [], ["issuer"]),
      ([:], ["iss"], ["issuer"]),
      (["aud": "other"], [], ["audience"]),
      ([:], ["aud"], ["audience"]),
      (["exp": 1], [], ["times"]),
      (["exp": 9_999_999_999_999], [], ["claims"]),
      (["nbf": 9_999_999_999], [], ["times"]),
      (["sub": ""], [], ["subject"]),
      (["sub": "a\nb"], [], ["subject"]),
      ([:], ["sub"], ["subject"]),
      (["cnf": 1], [], ["proof"]),
      (["scope": "openid"], [], ["rule"]),
      ([:], ["scope"], ["rule"]),
      (["exp": 1, "aud": "other"], ["sub"], ["audience", "times", "subject"]),
    ] as [(JSONObject, [String], [String])])
  func `each fault of the claims fails its own check, and ends with what the server answers`(
    _ changes: JSONObject, _ names: [String], _ expected: [String]
  ) async throws {
    let report = try await report(changes, without: names)
    #expect(report.failed == expected + ["answer"])
    #expect(report.verdict == .refused)
    let answer = try #require(report.findings.last)
    #expect(answer.found.hasPrefix(expected == ["rule"] ? "403" : "401"))
  }

  @Test func `each fault of the key fails its own check`() async throws {
    let stranger = try TokenFixture()
    #expect(try await report(header: ["kid": "k2"]).failed == ["key", "answer"])
    #expect(try await report(by: stranger).failed == ["signature", "answer"])
    #expect(try await report(by: try TokenFixture(.ES384)).failed == ["algorithm", "answer"])
    #expect(try await report(header: ["kid": "k1", "typ": "logout+jwt"]).failed == ["type", "answer"])
  }

  @Test func `a sub that is a number is said to be no text, with the claim in the fix`() async throws {
    let report = try await report(["sub": 4])
    #expect(report.failed == ["subject", "answer"])
    let finding = try #require(report.findings.first { $0.check == "subject" })
    #expect(finding.found.contains("sub is not a text") && finding.fix?.contains("sub as a text") == true)
  }

  @Test func `a key that is left out for its algorithm is named with the reason`() async throws {
    var leftOut = provider.key
    leftOut["alg"] = "ES256K"
    let keys = try TokenFixture(keyID: "k2").publishing([.object(leftOut)])
    let report = try await report(from: keys)
    let finding = try #require(report.findings.first { $0.check == "key" })
    #expect(finding.status == .fail && finding.found.contains("k1") && finding.found.contains("alg"))
  }

  @Test func `every fault that the server finds is one that doctor finds`() async throws {
    let none = try await report()
    #expect(none.findings.last?.status == .ok)
    let broken = try await TokenFixture.report(Array("a.b.c".utf8), Self.yaml, provider.publishing(), clock)
    #expect(broken.failed == ["form", "answer"] && broken.verdict == .refused)
    let empty = try await TokenFixture.report(Array("\n".utf8), Self.yaml, provider.publishing(), clock)
    #expect(empty.failed == ["form", "answer"])
    let groups = JSONValue.array(
      [JSONValue](repeating: .string(String(repeating: "g", count: 36)), count: 400))
    #expect(try await report(["groups": groups]).failed == ["length"])
  }

  @Test func `what people give in place of a token alone is named, each with its fix`() async throws {
    let token = String(decoding: try provider.token(Self.claims, at: clock), as: UTF8.self)
    let texts = [
      "", " \r\n", #"{"access_token":"\#(token)"}"#, #"[{"id_token":"\#(token)"}]"#, "\"\(token)\"",
      "'\(token)'",
      "Bearer \(token)", "authorization: bearer \(token)", "\(token.prefix(60))\n\(token.dropFirst(60))",
      "canary-opaque", "\(token).e30.e30", "a.b.c",
    ]
    var found: [String] = []
    for text in texts {
      let report = try await TokenFixture.report(Array(text.utf8), Self.yaml, provider.publishing(), clock)
      #expect(report.failed == ["form", "answer"], "\(text.count)")
      #expect(!report.json.contains("eyJ") && !report.json.contains("canary"))
      found.append(try #require(report.findings.first { $0.check == "form" }?.found))
    }
    #expect(found[0] == found[1] && found[2] == found[3] && found[4] == found[5] && found[6] == found[7])
    #expect(Set(found).count == 8)
    let utf16: [UInt8] = [0xFF, 0xFE] + Array(token.utf8).flatMap { [$0, UInt8(0)] }
    let report = try await TokenFixture.report(utf16, Self.yaml, provider.publishing(), clock)
    #expect(report.findings.first { $0.check == "form" }?.fix?.contains("UTF-8") == true)
  }

  @Test func `a token file with a byte order mark is read as any other`() async throws {
    let token = try provider.token(Self.claims, at: clock)
    let report = try await TokenFixture.report(
      [0xEF, 0xBB, 0xBF] + token, app: "shop", Self.yaml, provider.publishing(), clock)
    #expect(report.verdict == .well)
  }

  @Test(arguments: ["exp", "nbf", "iat"])
  func `a time in milliseconds or as a text is told to be seconds`(_ claim: String) async throws {
    for value in [1_795_000_000_000, "1795000000"] as [JSONValue] {
      let report = try await report([claim: value])
      let fix = try #require(report.findings.first { $0.check == "claims" }?.fix)
      #expect(fix.contains("\(claim) in seconds since 1970"))
    }
  }

  @Test func `an app that the request names decides which rules apply, and whether the caller may use it`()
    async throws
  {
    #expect(
      try await report(without: ["scope"], app: nil).failed == ["rule", "answer"],
      "shop is the users' only app")
    #expect(try await report(app: "desk").failed == ["app", "answer"])
    #expect(try await report(app: "none").failed == ["app", "answer"])
    let staff = try await report(["aud": "staff"], without: ["scope", "tier"], app: "desk")
    #expect(staff.verdict == .well && !staff.findings.contains { $0.check == "rule" })
  }

  @Test func `a rule in audit mode is a warning`() async throws {
    let report = try await report(without: ["tier"])
    #expect(report.verdict == .well && report.count(.warn) == 1)
  }

  @Test func `a key set that cannot be fetched ends the checks`() async throws {
    let away = KeyProvider([.failure(TransportError(.connect, sent: false, detail: "refused"))])
    let report = try await report(["aud": "other"], from: away)
    #expect(report.failed == ["jwks"] && report.verdict == .unreachable)
    let page = KeyProvider([
      .success(InboundResponse(status: 200, fields: [:], content: Array("<html>".utf8)))
    ])
    #expect(try await self.report(from: page).verdict == .unreachable)
  }

  @Test func `each key that is left out is named with the reason`() async throws {
    let other = try TokenFixture().key
    let keys = provider.publishing([["kty": "AKP", "kid": "pq\u{1B}"], .object(other), 1])
    let report = try await report(header: ["kid": "k1"], from: keys)
    let left = report.findings.filter { $0.check == "jwks" && $0.status == .skip }.map(\.found)
    #expect(left.count == 4)
    #expect(left[0].contains("key 1") && left[0].contains("pq<U+001B>"))
    #expect(report.failed == ["jwks"], "the twin leaves no usable key")
  }

  @Test func `no report has the token, or the value of a claim that the configuration does not need`()
    async throws
  {
    for report in [try await report(), try await report(["aud": "other", "tier": "canary-tier"])] {
      let text = report.json
      #expect(!text.contains("eyJ") && !text.contains("canary"))
    }
  }
}
