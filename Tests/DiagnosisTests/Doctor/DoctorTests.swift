// Tests of the findings of `callgate doctor`, over a scripted network.

import Foundation
import HTTP
import JOSE
import JSON
import Platform
import Store
import Stores
import Synchronization
import Talkdesk
import TestSupport
import Testing
import Tokens
import Upstream

@testable import Configuration
@testable import Diagnosis
@testable import RoomSupport

/// What a diagnosis says about each kind of response, and about each kind of missing response. The network
/// here is a script; the commands' own tests use real sockets.
@Suite struct DoctorTests {
  private final class Network: HTTPTransport {
    typealias Answer = @Sendable (OutboundRequest) throws(TransportError) -> InboundResponse
    private let answer: Answer
    private let sent = Mutex<[OutboundRequest]>([])
    var requests: [OutboundRequest] { sent.withLock { $0 } }

    init(_ answer: @escaping Answer) { self.answer = answer }

    func send(_ request: OutboundRequest) async throws(TransportError) -> InboundResponse {
      sent.withLock { $0.append(request) }
      return try answer(request)
    }
  }

  private static func reply(_ status: Int, _ content: String, _ fields: Fields = [:]) -> InboundResponse {
    InboundResponse(status: status, fields: fields, content: Array(content.utf8))
  }

  private static func token(
    _ token: String = "opaque", expiresIn: Int? = 600, scope: String = "callback:write"
  )
    -> InboundResponse
  {
    let life = expiresIn.map { ",\"expires_in\":\($0)" } ?? ""
    return reply(
      200, "{\"access_token\":\"\(token)\",\"token_type\":\"Bearer\"\(life),\"scope\":\"\(scope)\"}")
  }

  private func report(
    _ yaml: String? = nil, _ changes: [String: String?] = [:],
    files: [String: ConfigurationFiles.Content] = [:],
    proxies: ProxySettings = .direct, answer: @escaping Network.Answer
  ) async throws -> (report: DoctorReport, network: Network) {
    let loaded = try Fixture.load(yaml, environment: Fixture.changed(changes), files: files, for: .check)
    let network = Network(answer)
    let report = await Doctor.examine(loaded, transport: network, proxies: proxies, clock: SystemClock())
    return (report, network)
  }

  private func worst(_ report: DoctorReport, _ check: String) -> DoctorReport.Finding? {
    // The worst finding of a check counts.
    let all = report.findings.filter { $0.check == check }
    return all.first { $0.status == .fail } ?? all.first { $0.status == .warn } ?? all.first
  }

  @Test func `with everything in order nothing is to mend`() async throws {
    let (report, network) = try await report { _ throws(TransportError) in Self.token() }
    #expect(report.verdict == .well)
    #expect(report.findings.someAndAll { $0.status == .ok || ["callbacks", "clock"].contains($0.check) })
    #expect(
      report.findings.map(\.check) == [
        "configuration", "key", "algorithm", "region", "proxy", "dns", "connection", "tls", "token endpoint",
        "clock", "credential", "scope", "callbacks", "lifetime", "token", "admin", "store",
      ])
    #expect(network.requests.map(\.url) == ["https://acme.talkdeskid.com/oauth/token"])
  }

  @Test(
    arguments: [
      (nil, nil, true), (nil, "+18005550199", false),
      ("apps: { shop: { talkdesk_phone_numbers: [\"+18500000000\"] } }", nil, false),
    ] as [(String?, String?, Bool)])
  func `callbacks without a number of the account are a warning`(yaml: String?, number: String?, warns: Bool)
    async throws
  {
    let (report, _) = try await report(yaml, ["TD_PHONE_NUMBER": number]) { _ throws(TransportError) in
      Self.token()
    }
    let finding = report.findings.first { $0.check == "callbacks" }
    #expect((finding?.status == .warn) == warns)
    if warns { #expect(finding?.fix?.hasPrefix("set TD_PHONE_NUMBER") == true) }
  }

  @Test func `neither report holds a secret or the token`() async throws {
    let (report, _) = try await report(nil, ["TD_PHONE_NUMBER": "+18005550199"]) { _ throws(TransportError) in
      Self.token("canary-token")
    }
    let secrets = [Fixture.key, "correct horse battery", "canary-token"]
    let text = report.json + report.findings.map { $0.found + ($0.fix ?? "") }.joined()
    for secret in secrets { #expect(!text.contains(secret)) }
    #expect(try JSONValue(parsing: Array(report.json.utf8))["status"]?.string == "ok")
  }

  @Test func `the mistakes of the configuration are reported with their fixes, and no request is sent`()
    throws
  {
    do throws(ConfigurationErrors) {
      _ = try Fixture.load(environment: Fixture.changed(["TD_KEY_ID": nil]), for: .check)
      Issue.record("it loaded")
    } catch {
      let report = Doctor.report(of: error)
      #expect(report.verdict == .configuration)
      #expect(report.findings.first?.found == "TD_KEY_ID: missing")
      #expect(report.findings.first?.fix == "set it to the id Talkdesk gave the key")
      #expect(report.findings.last?.status == .skip)
    }
  }

  @Test(
    arguments: [
      // Status for the next key, status for the current one (0: no answer), the finding, and the verdict.
      (401, 503, "credential", "fail", "the current key key-1 could not be checked", "refused"),
      (401, 429, "credential", "fail", "the current key key-1 could not be checked", "refused"),
      (401, 0, "credential", "fail", "the current key key-1 could not be checked", "refused"),
      (503, 503, "credential", "fail", "the current key key-1 could not be checked", "unreachable"),
      (503, 503, "token endpoint", "fail", "status 503", "unreachable"),
      (200, 503, "credential", "warn", "the current key key-1 could not be checked", "well"),
      (200, 0, "credential", "warn", "the current key key-1 could not be checked", "well"),
      (503, 200, "token endpoint", "warn", "status 503; another key got a token", "well"),
      (429, 200, "token endpoint", "warn", "limits the rate; another key got a token", "well"),
      (404, 200, "token endpoint", "warn", "another key got a token", "well"),
      (302, 200, "token endpoint", "warn", "another key got a token", "well"),
    ] as [(Int, Int, String, String, String, String)])
  func `a key without a result is reported, and the other one may work`(
    next: Int, current: Int, check: String, status: String, words: String, verdict: String
  ) async throws {
    let yaml = "talkdesk: { next_key: { key_id: kid-2, client_id: client-2, private_key_file: /key } }"
    let (report, _) = try await report(yaml, files: ["/key": Fixture.content(Fixture.key)]) {
      request throws(TransportError) in
      let isNext = String(decoding: request.content, as: UTF8.self).contains("client_id=client-2")
      switch isNext ? next : current {
      case 0: throw TransportError(.connect, sent: false, detail: "nobody")
      case 200: return Self.token()
      case let other: return Self.reply(other, other == 401 ? #"{"error":"invalid_client"}"# : "")
      }
    }
    #expect(
      report.findings.contains {
        $0.check == check && $0.status.rawValue == status && $0.found.contains(words)
      }, "\(report.findings)")
    #expect("\(report.verdict)" == verdict)
    #expect((report.count(.fail) == 0) == (verdict == "well"))
  }

  @Test(
    arguments: [
      (TransportDiagnosis(.server, .unknownName), "dns", "does not exist"),
      (.init(.server, .resolver), "dns", "does not respond"),
      (.init(.server, .connectionRefused), "connection", "refuses"),
      (.init(.server, .unreachable), "connection", "no route"),
      (.init(.server, .connectTimedOut), "connection", "in time"),
      (.init(.server, .connectionBroken), "connection", "broke"),
      (.init(.server, .certificate(.expired)), "tls", "expired"),
      (.init(.server, .certificate(.notYetValid)), "tls", "not valid yet"),
      (.init(.server, .certificate(.selfSigned)), "tls", "self-signed"),
      (.init(.server, .certificate(.unknownIssuer)), "tls", "not trusted"),
      (.init(.server, .certificate(.wrongName)), "tls", "another name"),
      (.init(.server, .certificate(.weak)), "tls", "weak"),
      (.init(.server, .certificate(.revoked)), "tls", "revoked"),
      (.init(.server, .certificate(.other(code: 26))), "tls", "26"),
      (.init(.server, .handshake), "tls", "TLS 1.2"),
      (.init(.server, .handshakeTimedOut), "tls", "handshake"),
      (.init(.proxy, .connectionRefused), "proxy", "refuses connections"),
      (.init(.proxy, .unknownName), "proxy", "does not exist"),
      (.init(.proxy, .tunnelRefused(status: 407)), "proxy", "requires a credential"),
      (.init(.proxy, .tunnelRefused(status: 403)), "proxy", "status 403"),
      (.init(.proxy, .tunnelFailed), "proxy", "SOCKS"),
    ] as [(TransportDiagnosis, String, String)])
  func `each way of not getting there has its own words and remedy`(
    diagnosis: TransportDiagnosis, check: String, words: String
  ) async throws {
    let (report, network) = try await report { request throws(TransportError) in
      guard request.method == .post else { throw TransportError(.connect, sent: false, detail: "nobody") }
      throw TransportError(.connect, sent: false, detail: "the layer's own words", diagnosis: diagnosis)
    }
    let finding = try #require(worst(report, check))
    #expect(finding.status == .fail)
    #expect(!finding.found.contains("the layer's own words"), "they are for the log")
    #expect((finding.found + (finding.fix ?? "")).contains(words), "\(finding)")
    #expect(finding.fix?.isEmpty == false)
    #expect(report.verdict == .unreachable)
    #expect(network.requests.count { $0.method == .post } == 1, "nothing is repeated")
  }

  @Test(arguments: [false, true])
  func `an account of another region is found where this one's host does not exist, or answers 404`(
    exists: Bool
  ) async throws {
    let (report, _) = try await report { request throws(TransportError) in
      if request.url == "https://acme.talkdeskid.eu/oauth/certs" { return Self.reply(200, "{}") }
      guard exists else {
        throw TransportError(
          .nameResolution, sent: false, detail: "", diagnosis: .init(.server, .unknownName))
      }
      return Self.reply(404, "")
    }
    #expect(worst(report, "region")?.fix == "set TD_REGION=eu if that account is yours")
    #expect(report.verdict == (exists ? .configuration : .unreachable))
  }

  @Test(
    arguments: [
      ("https://acme.talkdeskid.eu/oauth/token", nil, "region eu, callbacks go to region us"),
      ("https://api.talkdeskapp.com/oauth/token", nil, "names the API's host"),
      (nil, "https://acme.talkdeskid.com", "names a host that issues tokens"),
    ] as [(String?, String?, String)])
  func `hosts of different regions, or of the other kind, are reported`(
    tokenURL: String?, apiURL: String?, words: String
  ) async throws {
    let (report, _) = try await report(nil, ["TD_TOKEN_URL": tokenURL, "TD_API_URL": apiURL]) {
      _ throws(TransportError) in Self.token()
    }
    #expect(worst(report, "region")?.found.contains(words) == true)
    #expect(report.verdict == .configuration)
  }

  private static func date(_ offset: Int64) -> Fields {
    ["Date": HTTPDate.string(unixSeconds: SystemClock().unixTime.seconds + offset)]
  }

  @Test(arguments: [
    (600, "expired when it arrives"), (120, "150 s left"), (-120, "iat is in the future for Talkdesk"),
  ])
  func `a clock that is off is a warning while tokens come, and the first thing to mend when they do not`(
    offset: Int64, words: String
  ) async throws {
    let (warned, _) = try await report { _ throws(TransportError) in
      var reply = Self.token()
      reply.fields = Self.date(offset)
      return reply
    }
    #expect(worst(warned, "clock")?.status == .warn)
    let found = try #require(worst(warned, "clock")?.found)
    // A second may pass between the two readings.
    #expect(found.contains(words) || found.contains("149 s") || found.contains("151 s"), "\(found)")
    #expect(warned.verdict == .well)
    let (failed, _) = try await report { _ throws(TransportError) in
      Self.reply(401, #"{"error":"invalid_client"}"#, Self.date(offset))
    }
    #expect(worst(failed, "clock")?.status == .fail)
    #expect(worst(failed, "credential")?.fix?.hasPrefix("set the clock first") == true)
    #expect(failed.verdict == .refused)
  }

  @Test(
    arguments: [
      (10, nil, "401", true), (-10, nil, "401", true), (0, nil, "401", false),
      (0, "the client assertion's iat lies in the future", "401", true), (10, nil, "invalid_scope", false),
    ] as [(Int64, String?, String, Bool)])
  func `a small difference of the clocks comes first where the assertion is refused`(
    offset: Int64, words: String?, code: String, isBlamed: Bool
  ) async throws {
    let (refused, _) = try await report { _ throws(TransportError) in
      let description = words.map { #","error_description":"\#($0)""# } ?? ""
      let error = code == "401" ? "invalid_client" : code
      return Self.reply(401, #"{"error":"\#(error)"\#(description)}"#, Self.date(offset))
    }
    #expect((worst(refused, "clock")?.status == .fail) == isBlamed)
    #expect(
      (worst(refused, "credential")?.fix?.hasPrefix("set the clock first") ?? false) == isBlamed)
    let (served, _) = try await report { _ throws(TransportError) in
      var reply = Self.token()
      reply.fields = Self.date(offset)
      return reply
    }
    #expect(worst(served, "clock")?.status == .ok, "a difference of ten seconds does no harm")
  }

  @Test func `a refused credential is reported with the values to compare and Talkdesk's own words`()
    async throws
  {
    let (report, network) = try await report { _ throws(TransportError) in
      Self.reply(401, #"{"error":"invalid_client","error_description":"no such key"}"#)
    }
    let finding = try #require(worst(report, "credential"))
    #expect(finding.found == #"key key-1 is refused ("no such key", status 401 invalid_client)"#)
    for word in ["client-1", "key-1", "ES256", "TD_REGION"] { #expect(finding.fix?.contains(word) == true) }
    #expect(report.verdict == .refused)
    #expect(network.requests.count == 2, "once more without a scope, to tell the two apart")
  }

  @Test func `a refused scope differs from a refused credential`() async throws {
    let (report, _) = try await report { request throws(TransportError) in
      String(decoding: request.content, as: UTF8.self).contains("scope=")
        ? Self.reply(401, #"{"error":"invalid_client"}"#) : Self.token(scope: "contacts:read")
    }
    #expect(worst(report, "credential")?.status == .ok)
    #expect(worst(report, "scope")?.status == .fail)
    #expect(worst(report, "scope")?.found.hasSuffix("the client has contacts:read") == true)
    #expect(report.verdict == .refused)
  }

  @Test func `a token without the scope that was asked for is a failure of the scope`() async throws {
    let (report, _) = try await report { _ throws(TransportError) in Self.token(scope: "contacts:read") }
    #expect(worst(report, "credential")?.status == .ok)
    #expect(worst(report, "scope")?.found == "the token lacks callback:write")
    #expect(report.verdict == .refused)
  }

  @Test func `what each scope serves is said, and which one Talkdesk's Mobile SDK needs`() async throws {
    let need = "; an app with Talkdesk's Mobile SDK needs visual-sessions:execute (apps.*.scope, or TD_SCOPE)"
    let (callbacks, _) = try await report { _ throws(TransportError) in Self.token() }
    #expect(worst(callbacks, "scope")?.found == "callback:write, for callbacks" + need)
    let yaml = "apps: { sdk: { scope: \"visual-sessions:execute\" }, plain: {} }"
    let (both, _) = try await report(yaml) { request throws(TransportError) in
      String(decoding: request.content, as: UTF8.self).contains("visual")
        ? Self.token(scope: "visual-sessions:execute") : Self.token()
    }
    #expect(
      both.findings.filter { $0.check == "scope" }.map(\.found) == [
        "callback:write, for callbacks",
        "visual-sessions:execute, for app sdk: interactions of Talkdesk's Mobile SDK",
      ])
  }

  @Test func `the scopes of apps are asked for, too`() async throws {
    let yaml = "apps: { video: { scope: \"visual-sessions:execute\" }, plain: {} }"
    let (report, _) = try await report(yaml) { request throws(TransportError) in
      String(decoding: request.content, as: UTF8.self).contains("visual")
        ? Self.reply(400, #"{"error":"invalid_scope"}"#) : Self.token()
    }
    #expect(worst(report, "scope")?.found.contains("for app video") == true)
    #expect(report.verdict == .refused)
  }

  /// The report on an account whose scope differs from that of callbacks, for which Talkdesk ID responds with
  /// `reply`.
  private func reportOnCallbacks(
    _ yaml: String? = nil, reply: InboundResponse
  ) async throws -> (report: DoctorReport, network: Network) {
    try await report(yaml, ["TD_SCOPE": "visual-sessions:execute"]) { request throws(TransportError) in
      String(decoding: request.content, as: UTF8.self).contains("visual")
        ? Self.token(scope: "visual-sessions:execute") : reply
    }
  }

  @Test func `the scope of callbacks is asked for where the account's does not hold it`() async throws {
    let (granted, network) = try await reportOnCallbacks(reply: Self.token())
    #expect(
      granted.findings.filter { $0.check == "scope" }.map(\.found) == [
        "visual-sessions:execute, for interactions of Talkdesk's Mobile SDK", "callback:write, for callbacks",
      ])
    #expect(granted.verdict == .well && granted.count(.warn) == 0)
    #expect(network.requests.count == 2)
    // One token serves both.
    let both = try await report(nil, ["TD_SCOPE": "visual-sessions:execute callback:write"]) {
      _ throws(TransportError) in Self.token(scope: "visual-sessions:execute callback:write")
    }
    #expect(both.report.verdict == .well && both.network.requests.count == 1)
  }

  @Test(arguments: [
    (400, #"{"error":"invalid_scope"}"#, TestVerdict.refused, "status 400 invalid_scope"),
    (200, #"{"access_token":"a","token_type":"Bearer","scope":"contacts:read"}"#, .refused, "lacks"),
    (503, "", .unreachable, "503"),
  ])
  func `without it callbacks fail, and that is grave where some are to be made`(
    status: Int, content: String, verdict: TestVerdict, words: String
  ) async throws {
    let reply = Self.reply(status, content)
    for yaml in [
      "callbacks: { talkdesk_phone_numbers: [\"+18500000000\"] }",
      "apps: { shop: { talkdesk_phone_numbers: [\"+18500000000\"] } }",
      "apps: { shop: { scope: \"callback:write\" } }",
    ] {
      let (report, network) = try await reportOnCallbacks(yaml, reply: reply)
      let finding = try #require(report.findings.first { $0.check == "scope" && $0.status == .fail })
      #expect(finding.found.contains("callbacks need"))
      #expect(finding.found.contains(words), "\(finding)")
      #expect(finding.fix?.contains("add it to the OAuth client") == (verdict == .refused))
      #expect("\(report.verdict)" == verdict.rawValue)
      #expect(network.requests.count == 2, "once, though an app has the same scope")
    }
    let (report, _) = try await reportOnCallbacks(reply: reply)
    #expect(worst(report, "scope")?.status == .warn)
    #expect(worst(report, "scope")?.fix?.contains("if you do not use callbacks") == true)
    #expect(report.verdict == .well)
  }

  @Test(arguments: [("next", "kid-2", true), ("current", "key-1", true), ("both", "", false)])
  func `each of two keys is tried, and it is said which works`(refused: String, kid: String, isWell: Bool)
    async throws
  {
    let yaml = "talkdesk: { next_key: { key_id: kid-2, client_id: client-2, private_key_file: /key } }"
    let (report, network) = try await report(yaml, files: ["/key": Fixture.content(Fixture.key)]) {
      request throws(TransportError) in
      let isNext = String(decoding: request.content, as: UTF8.self).contains("client_id=client-2")
      return refused == "both" || (refused == "next") == isNext
        ? Self.reply(401, #"{"error":"invalid_client"}"#) : Self.token()
    }
    let credentials = report.findings.filter { $0.check == "credential" }
    #expect(credentials.count == 2)
    #expect(report.verdict == (isWell ? .well : .refused))
    if isWell {
      let warned = try #require(credentials.first { $0.status == .warn })
      #expect(warned.found.contains("the \(refused) key \(kid) is refused"))
      #expect(credentials.contains { $0.status == .ok })
      #expect(network.requests.count == 2)
    } else {
      #expect(credentials.someAndAll { $0.status == .fail })
    }
  }

  @Test(arguments: [
    (503, "", TestVerdict.unreachable), (429, "", .unreachable), (404, "", .configuration),
    (200, "", .unreachable),
    (200, "<html>", .unreachable), (302, "", .unreachable), (403, #"{"error":"access_denied"}"#, .refused),
    (400, #"{"error":"unauthorized_client"}"#, .refused),
  ])
  func `a reply that is no token ends by what it means`(status: Int, content: String, verdict: TestVerdict)
    async throws
  {
    let (report, _) = try await report { request throws(TransportError) in
      guard request.method == .post else { throw TransportError(.connect, sent: false, detail: "nobody") }
      return Self.reply(status, content)
    }
    #expect("\(report.verdict)" == verdict.rawValue)
    #expect(report.count(.fail) == 1)
  }

  enum TestVerdict: String { case unreachable, configuration, refused }

  @Test func `a life that is unknown or short is a warning`() async throws {
    let (unknown, _) = try await report { _ throws(TransportError) in Self.token(expiresIn: nil) }
    #expect(worst(unknown, "lifetime")?.status == .warn)
    let (short, _) = try await report { _ throws(TransportError) in Self.token(expiresIn: 119) }
    #expect(worst(short, "lifetime")?.status == .warn)
    let (enough, _) = try await report { _ throws(TransportError) in Self.token(expiresIn: 120) }
    #expect(worst(enough, "lifetime")?.status == .ok)
    #expect(short.verdict == .well)
  }

  private static func jwt(_ claims: JSONObject) throws -> String {
    let signer = try Signer(key: .generate(for: .ES256), algorithm: .ES256)
    return try JWS.sign(header: [:], payload: JSONValue.object(claims).serialized(), with: signer)
  }

  @Test(arguments: [
    ("https://api.talkdeskapp.eu", "fail", "TD_REGION=eu"),
    ("https://api.mytalkdesk.example", "warn", "TD_API_URL"),
    ("https://api.talkdeskapp.com/", "ok", ""),
  ])
  func `a token for another region's API is reported`(audience: String, status: String, words: String)
    async throws
  {
    let token = try Self.jwt([
      "iss": "https://www.talkdeskid.com", "aud": .string(audience), "cid": "client-1",
    ])
    let (report, _) = try await report { _ throws(TransportError) in Self.token(token) }
    let finding = try #require(worst(report, "token"))
    #expect(finding.status.rawValue == status)
    #expect(words.isEmpty || finding.fix?.contains(words) == true)
  }

  @Test func `a token of another client, RS256 and a custom audience are reported`() async throws {
    let token = try Self.jwt(["cid": "somebody"])
    let rsa = Base64.encode(try PrivateKey.generate(for: .RS256).pkcs8DER().exposedBytes())
    let (report, _) = try await report(
      nil, ["TD_PRIVATE_KEY": rsa, "TD_KEY_ALGORITHM": "RS256", "TD_AUDIENCE": "https://other.example"]
    ) { _ throws(TransportError) in Self.token(token) }
    #expect(worst(report, "token")?.status == .warn)
    #expect(worst(report, "algorithm")?.status == .warn)
    #expect(worst(report, "audience")?.status == .warn)
    #expect(report.verdict == .well)
  }

  @Test func `the proxy is named without its credential`() async throws {
    let proxies = try ProxySettings(environment: ["https_proxy": "http://user:canary@proxy.example:3128"])
    let (report, _) = try await report(proxies: proxies) { _ throws(TransportError) in Self.token() }
    #expect(worst(report, "proxy")?.found == "http://proxy.example:3128, from https_proxy")
    #expect(worst(report, "dns")?.found == "acme.talkdeskid.com is resolved by the proxy")
    #expect(!report.json.contains("canary"))
  }

  @Test(arguments: [
    ("https://acme.talkdeskid.com/oauth/token", TalkdeskHost.account(.us, name: "acme")),
    ("https://ACME.Talkdeskid.eu:443/", .account(.eu, name: "acme")),
    ("https://talkdeskidca.com", .account(.ca, name: "")),
    ("https://api.talkdeskapp.com", .api(.us)), ("https://nottalkdeskid.com", .elsewhere),
    ("https://acme.talkdeskid.com.evil.example/", .elsewhere), ("http://[::1]:80/x", .elsewhere),
    ("", .elsewhere),
  ])
  func `a host is placed by its domain`(url: String, host: TalkdeskHost) {
    #expect(TalkdeskHost(url: url) == host)
  }

  // MARK: Everything besides Talkdesk

  @Test func `the key sets of issuers are fetched, and one that cannot be had is named`() async throws {
    let yaml = """
      callers:
        - { id: here, jwt: { issuer: a, audience: x, jwks_url: "https://here.example/keys?key=canary-key" } }
        - { id: gone, jwt: { issuer: b, audience: x, jwks_url: "https://gone.example/keys?key=canary-key" } }
        - { id: odd, jwt: { issuer: c, audience: x, jwks_url: "https://odd.example/keys?key=canary-key" } }
      attestation: { app_check: { project_number: "1", project_id: shop, keys_url: "https://odd.example/app-check?key=canary-key" } }
      """
    let key = try PrivateKey.generate(for: .ES256)
    let set = KeyProvider.set(["k": key.publicKey])
    let (report, _) = try await report(yaml) { request throws(TransportError) in
      if request.url.hasPrefix("https://here") {
        return InboundResponse(status: 200, fields: [:], content: set)
      }
      if request.url.hasPrefix("https://odd") { return Self.reply(404, "") }
      if request.url.hasPrefix("https://gone") {
        throw TransportError(.connectionLost, sent: true, detail: "Empty reply from server (curl 52)")
      }
      return Self.token()
    }
    let found = report.findings.filter { $0.check == "jwks" }
    #expect(found.map(\.status.rawValue) == ["ok", "fail", "fail", "fail"])
    #expect(found[0].found == "here: the issuer's keys are at https://here.example/keys")
    #expect(
      found[1].found == "gone: gone.example closed the connection before its response was complete")
    #expect(found[2].found.hasPrefix("odd: https://odd.example/keys: ") && found[2].found.contains("404"))
    #expect(!report.json.contains("canary"), "\(report.json)")
    #expect(found[1...2].allSatisfy { $0.fix?.contains("jwks_url") == true })
    #expect(found[3].found.hasPrefix("App Check: https://odd.example/app-check: "))
    #expect(report.verdict == .unreachable)
  }

  @Test(
    arguments: [
      ("{\"result\":true}", 200, "deny", "enforce", "ok"),
      ("{\"result\":false}", 200, "deny", "enforce", "ok"),
      ("{}", 200, "deny", "enforce", "warn"), ("", 503, "deny", "enforce", "fail"),
      ("", 503, "allow", "enforce", "warn"), ("", 503, "deny", "audit", "warn"),
      ("", 0, "deny", "enforce", "fail"), ("", 0, "deny", "off", "-"),
      ("{\"decision\":false}", 200, "deny, dialect: authzen", "enforce", "ok"),
      ("{\"result\":false}", 200, "deny, dialect: authzen", "enforce", "warn"),
    ])
  func `a remote policy is asked, and missed where the rule would deny`(
    content: String, status: Int, onFailure: String, mode: String, expected: String
  ) async throws {
    let yaml = """
      rules: [{ name: fraud, kind: remote, url: "https://policy.example/v1?key=canary-key", on_failure: \(onFailure), mode: "\(mode)" }]
      """
    let (report, network) = try await report(yaml) { request throws(TransportError) in
      guard request.url.hasPrefix("https://policy") else { return Self.token() }
      if status == 0 {
        throw TransportError(
          .connect, sent: false, detail: "x",
          diagnosis: TransportDiagnosis(.server, .connectionRefused))
      }
      return Self.reply(status, content)
    }
    let found = report.findings.first { $0.check == "remote policy" }
    #expect(found?.status.rawValue ?? "-" == expected)
    #expect((report.verdict == .well) == (expected != "fail"))
    #expect(!report.json.contains("canary"))
    #expect(network.requests.contains { $0.url.hasPrefix("https://policy") } == (mode != "off"))
  }

  @Test func `the store is asked, and not made by being looked at`() async throws {
    let place = FileManager.default.temporaryDirectory.appending(path: "doctor-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: place) }
    let file = place.appending(path: "state.sqlite3").path
    func store(_ path: String) async throws -> DoctorReport.Finding? {
      let (report, _) = try await report(nil, ["CALLGATE_STATE": path]) { _ throws(TransportError) in
        Self.token()
      }
      return report.findings.first { $0.check == "store" }
    }
    #expect(
      try await store(file)?.found == "SQLite: the file \"\(file)\" does not exist yet; serve creates it")
    #expect(!FileManager.default.fileExists(atPath: file))
    let loaded = try Fixture.load(environment: Fixture.changed(["CALLGATE_STATE": file]), for: .migrate)
    let made = loaded.configuration.store.open()
    try await made.migrate()
    await made.close()
    #expect(
      try await store(file)?.found
        == "SQLite responds, and this user may write to it; schema version \(StoreSchema.latest)")
    let missing = try await store(place.path + "/none/state.sqlite3")
    #expect(missing?.status == .fail)
    #expect(missing?.found.contains("folder") == true)
    try Data("no database at all, and longer than its header of a hundred bytes would have to be: ".utf8)
      .write(
        to: URL(filePath: file))
    let damaged = try await store(file)
    #expect(damaged?.status == .fail)
    #expect(damaged?.fix?.contains("backup") == true)
    #expect(try await store("memory")?.found == "memory: a restart loses all state")
  }

  private static let notices = """
    notices:
      fcm: { service_account_file: firebase.json }
      apns: { key_variable: TD_PRIVATE_KEY, key_id: ABC123DEFG, team_id: DEF123GHIJ, topic: com.example.shop }
      http: { url: "https://push.example/notices?key=1", secret_file: hook.txt }
    """

  @Test(arguments: [
    (200, #"{"access_token":"ya29","expires_in":3600}"#, DoctorReport.Finding.Status.ok, "project shop-1"),
    (400, #"{"error":"invalid_grant"}"#, .fail, "400 invalid_grant"), (503, "", .fail, "503"),
  ])
  func `each provider of notices is looked at, and FCM's token is asked for`(
    status: Int, content: String, expected: DoctorReport.Finding.Status, found: String
  ) async throws {
    let files = [
      "firebase.json": Fixture.content(Fixture.serviceAccount),
      "hook.txt": Fixture.content("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjU"),
    ]
    let (report, network) = try await report(Self.notices, files: files) { request in
      request.url == "https://id.example/token" ? Self.reply(status, content) : Self.token()
    }
    let fcm = try #require(worst(report, "fcm"))
    #expect(fcm.status == expected)
    #expect(fcm.found.contains(found))
    #expect(worst(report, "apns")?.status == .ok)
    #expect(worst(report, "webhooks")?.found.contains("key=1") == false)
    #expect(!network.requests.contains { $0.url.contains("push") })
  }

  @Test func `no enum case and no library's code reaches the reader`() async throws {
    let (report, _) = try await report { _ throws(TransportError) in
      throw TransportError(.connectionLost, sent: true, detail: "Empty reply from server (curl 52)")
    }
    let text = report.findings.map(\.found).joined(separator: "\n")
    #expect(!text.contains("connectionLost") && !text.contains("curl"), "\(text)")
    #expect(text.contains("closed the connection before its response was complete"))
  }

  @Test func `a wrong path names the variable that is wrong`() async throws {
    let (elsewhere, _) = try await report(
      nil, ["TD_ACCOUNT_NAME": "sandbox", "TD_TOKEN_URL": "http://127.0.0.1:9/x"]
    ) { _ throws(TransportError) in Self.reply(404, "") }
    let fix = worst(elsewhere, "token endpoint")?.fix ?? ""
    #expect(fix.hasPrefix("check TD_TOKEN_URL"), "\(fix)")
    let (own, _) = try await report { _ throws(TransportError) in Self.reply(404, "") }
    #expect(worst(own, "token endpoint")?.fix == "check TD_ACCOUNT_NAME (now acme) and TD_REGION")
  }
}
