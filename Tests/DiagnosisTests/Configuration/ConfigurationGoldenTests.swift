// Tests that a file with every key sets every part of the configuration.

import Certificates
import ChatDesk
import Documents
import Gate
import Installations
import JOSE
import JSON
import Notices
import Outcomes
import Sealing
import Store
import TLS
import Talkdesk
import Testing
import Texts
import Tokens
import Trust
import Upstream

@testable import Callers
@testable import Configuration
@testable import Diagnosis
@testable import Records
@testable import RoomSupport

/// A configuration file with every key.
@Suite struct ConfigurationGoldenTests {
  private static let digest = String(repeating: "0a", count: 32)
  private static let identity = TestIdentity("DNS:api.example", validUntil: 86_400 * 90)
  private static let otherDigest = String(repeating: "0b", count: 32)

  static let yaml = """
    listen:
      host: "::1"
      port: 8443
      tls: { certificate_file: /tls.pem, key_file: /tls.key, hsts_subdomains: true }
      trusted_proxies: [10.0.0.0/8, "2001:db8::/32"]
      forwarded_hops: 2
      share_port: true
    admin:
      host: 127.0.0.1
      port: 9091
      token_file: /token
      runbooks: https://docs.example.org/callgate/
      operators: [{ name: ann, token_sha256: \(digest), role: approve }]
      jwt:
        issuer: https://id.example
        audience: callgate-admin
        jwks_url: https://id.example/admin
        name: email
        role: { claim: groups, operate: [oncall], approve: [support], read: [staff, guests] }
    log: { level: debug, format: text, audit: { chain: true, file: /audit.log, required: true } }
    talkdesk:
      account: acme
      region: eu
      client_id: client-1
      key_id: key-1
      key_algorithm: ES384
      private_key_file: /key384
      scope: "callback:write visual-sessions:execute"
      token_url: https://id.example/oauth/token
      api_url: https://api.example/base/
      audience: https://id.example/
      next_key: { key_id: key-2, client_id: client-2, private_key_file: /key, key_algorithm: ES256 }
    outbound: { ca_file: /tls.pem }
    tokens: { share: false, min_remaining: 30s, deadline: 5s }
    callers:
      - { id: ios-app, basic: { username: user, password_sha256: \(digest), strong: true } }
      - { id: android-app, basic: { username: other, password_file: /password } }
      - { id: partner, api_key: { sha256: \(otherDigest) } }
      - { id: by-url, jwt: { issuer: https://id.example, audience: a, jwks_url: https://id.example/jwks, subject_claim: email } }
      - { id: by-file, jwt: { issuer: i, audience: a, jwks_file: /set } }
      - { id: by-secret, jwt: { issuer: i, audience: b, hs256_secret_file: /secret } }
    allow_anonymous: true
    apps:
      example-app-ios:
        callers: [ios-app, anonymous]
        scope: "visual-sessions:execute"
        delivery: push
        talkdesk_phone_numbers: ["+18500000000", +18500000001]
        context_schema:
          fields: { issue: { display_name: Issue, tooltip: Why, data_type: url, max_length: 200, required: true }, note: {} }
          add: { channel: ios }
          other: allow
        installations: { authorize: [user], pending: 5m, idle: 30d, per_subject: 3, key: required, verifiers: [partner] }
        callbacks: { verification_code: true }
        app_check: audit
        attested: { mode: enforce, per_day: 5, app_check: ["1:1:ios:a", "1:1:android:b"], app_attest: { app_id: ABCDE12345.com.example.shop, at_least: "2.3.0" },
          play: { package: com.example.shop, certificates: ["3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8="], device: MEETS_STRONG_INTEGRITY, licence: licensed } }
      open: {}
      chat-app: { callers: [by-url], desk: chat }
    external_urls: ["https://calls.example.com"]
    attestation:
      app_check: { project_number: "123456789012", project_id: shop-prod, keys_url: "https://keys.example/jwks", consume: true, service_account_file: /firebase, url: "https://check.example/" }
      app_attest: { environments: [development], categories: [development, enterprise], root_file: /tls.pem }
      play_integrity: { service_account_file: /firebase, max_age: 1m, url: "https://play.example/", token_url: "https://oauth.example/token" }
    gms: { services: { support: { app: open, query_by_number: false } } }
    numbers:
      proofs:
        claim: { name: phone, verified: "" }
        firebase: { project_number: "123456789012", project_id: shop-prod, keys_url: "https://keys.example/fpnv" }
        remember: 10d
      screening:
        validation: { refuse: { status: [high_risk], line_type: [pager], tcpa_blacklist: true, fraud_score: 85 } }
        do_not_call: { lists: ["7f3c"], timezone: Europe/Lisbon }
        remember: 5d
        url: https://lookups.example/
      consent: { texts: { v3: \(digest) } }
    mcp:
      callers: [partner, anonymous]
      app: open
      tools: [availability, request_callback]
      consent: optional
      repeat: 20m
      origins: ["https://inspector.example"]
    desks:
      chat:
        { kind: sendbird, application_id: APP-1, api_token_file: /token, token_life: 2h, user_id: "u-{subject}", url: "https://chat.example/",
          desk_api_token_file: /token, desk_url: "https://desk.example/" }
    callbacks:
      { dedupe_window: 0s, key_retention: 1h, retention: 1d, timeout: 15s, concurrency: 2, talkdesk_phone_numbers: [+18500000002],
        brakes: { number_per_day: 3, per_5m: 50, per_hour: 0, lookups: 500 } }
    appointments: { slot: 20m, per_slot: 3, horizon: 60d, earliest: 0s, late: 10m, per_number: 2,
      confirm: { before: 1m, silence: cancel, snooze: 10m, snoozes: 1 }, calling: true }
    notices:
      external_url: https://calls.example/
      fcm: { service_account_file: /firebase, url: "http://localhost:1", token_url: "http://localhost:2/token" }
      apns: { key_file: /key, key_id: ABC123DEFG, team_id: DEF123GHIJ, topic: com.example.shop, environment: sandbox,
              url: "https://localhost:3" }
      http: { url: "https://push.example/?a=b", secret_file: /hook }
      texts: { access: "Bereit.", confirm: "Bereit?", changed: "Neu.", expired: "Vorbei.", calling: "{number} ruft an.", ready: "Gleich." }
    outcomes:
      { external_url: "https://hooks.example.com/", url: "https://reports.example.com/", report: { at: "03:30", timezone: Europe/Lisbon }, hook: { secret_file: /secret, previous_secret_file: /store-key },
        triggers: [outboundCallEnds], match: { before: 5s, after: 1h }, reached: { over: 3s, events: [outboundCallEnds] } }
    availability: { live: { query: agents, path: result.0.n, ring_group: sales, at_least: 2, stale: 3m } }
    cors: { origins: ["https://shop.example", "http://localhost:3000"] }
    rules: []
    store: { url: "sqlite:/data/callgate.sqlite3", key_file: /store-key, previous_key_file: /other-store-key }
    limits:
      { connections: 100, header_bytes: 2048, content_bytes: 4096, header_timeout: 1s, request_timeout: 2s, idle_timeout: 3s,
        drain_delay: 4s, drain_timeout: 5s }
    """

  private func load() throws -> Configuration {
    let key = try PrivateKey.generate(for: .ES256)
    let set = "{\"keys\":[\(String(decoding: key.publicKey.jwk().serialized(), as: UTF8.self))]}"
    let files = [
      "/tls.pem": String(decoding: Self.identity.certificatePEM, as: UTF8.self),
      "/tls.key": String(decoding: Self.identity.keyPEM, as: UTF8.self), "/key": Fixture.key,
      "/key384": Fixture.otherKey, "/token": "0123456789abcdef0123\n", "/password": "long enough",
      "/set": set, "/firebase": Fixture.serviceAccount,
      "/hook": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjU\n",
      "/secret": String(repeating: "s", count: 32), "/store-key": String(repeating: "01", count: 32),
      "/other-store-key": String(repeating: "02", count: 32),
    ]
    return try Fixture.load(
      Self.yaml, environment: [:], files: files.mapValues { Fixture.content($0) }, for: .check
    )
    .configuration
  }

  @Test func `every key arrives`() throws {
    let configuration = try load()
    let listen = configuration.listen
    #expect(listen.host == "::1")
    #expect(listen.port == 8443)
    #expect(listen.tls?.identity.certificate.names == "DNS:api.example" && listen.tls?.hstsSubdomains == true)
    #expect(listen.trustedProxies.map(\.description) == ["10.0.0.0/8", "2001:db8::/32"])
    #expect(listen.forwardedHops == 2)
    #expect(listen.sharePort)
    #expect(configuration.externalURLs == ["https://calls.example.com"])
    #expect(
      configuration.admin.listener
        == Configuration.Admin.Listener(host: "127.0.0.1", port: 9091, isLoopback: true))
    #expect(configuration.admin.operators.map { "\($0.name) \($0.role)" } == ["ann approve"])
    let jwt = try #require(configuration.admin.jwt)
    #expect(
      [jwt.issuer.audience, jwt.issuer.subjectClaim, jwt.roleClaim] == ["callgate-admin", "email", "groups"])
    #expect(jwt.groups == [.operate: ["oncall"], .approve: ["support"], .read: ["staff", "guests"]])
    #expect(configuration.admin.token?.exposedString() == "0123456789abcdef0123")
    #expect(configuration.admin.runbooks == "https://docs.example.org/callgate")
    #expect(configuration.audit == .init(chain: true, file: "/audit.log", isRequired: true))
    #expect(configuration.log == LogSettings(level: .debug, format: .text))
    #expect(configuration.talkdesk.region == .eu)
    #expect(configuration.talkdesk.scope == "callback:write visual-sessions:execute")
    let upstream = try #require(configuration.talkdesk.upstream)
    #expect(upstream.tokenURL == "https://id.example/oauth/token")
    #expect(upstream.apiURL == "https://api.example/base")
    #expect(upstream.audience == "https://id.example/")
    guard case .key(let key, let next?) = upstream.authentication else {
      Issue.record("no keys")
      return
    }
    #expect([key.id, next.id] == ["key-1", "key-2"])
    #expect([key.algorithm, next.algorithm] == [.ES384, .ES256])
    #expect([key.clientID, next.clientID] == [nil, "client-2"])
    #expect(configuration.storeKeys?.previous != nil)
    #expect(configuration.authorities == .file("/tls.pem"))
    #expect(
      configuration.tokens
        == Configuration.Tokens(share: false, minimumRemaining: .seconds(30), deadline: .seconds(5)))
    #expect(configuration.allowAnonymous)
    #expect(
      configuration.callbacks
        == Configuration.Callbacks(
          talkdeskPhoneNumbers: ["+18500000002"], dedupeWindow: .zero, keyRetention: .seconds(3600),
          retention: .seconds(86_400), timeout: .seconds(15), concurrency: 2))
    #expect(configuration.policy.brakes == Brakes(numberPerDay: 3, perFiveMinutes: 50, perHour: 0))
    #expect(
      configuration.appointments
        == Configuration.Appointments(
          slot: .seconds(1200), perSlot: 3, horizon: .seconds(60 * 86_400), earliest: .zero,
          late: .seconds(600), perNumber: 2,
          confirm: .init(before: .seconds(60), silence: .cancel, snooze: .seconds(600), snoozes: 1),
          calling: true))
    #expect(configuration.gms?.services == ["support": .init(app: "open", queriesByNumber: false)])
    let desk = try #require(configuration.desks.first)
    #expect([desk.id, desk.applicationID, desk.url] == ["chat", "APP-1", "https://chat.example"])
    #expect(desk.apiToken?.exposedString() == "0123456789abcdef0123")
    #expect(desk.tokenLife == .seconds(7200))
    #expect(desk.takesTickets && desk.deskToken != nil)
    #expect(desk.deskURL == "https://desk.example")
    #expect(desk.userIDs.user("ann", of: "by-url", requestedAs: "ann").id.text == "u-ann")
    let notices = try #require(configuration.notices)
    #expect(notices.platforms == [.fcm, .apns, .http])
    #expect(notices.fcm?.projectID == "shop-1")
    #expect(notices.apns?.topic == "com.example.shop")
    #expect(notices.http?.url == "https://push.example/?a=b")
    #expect((notices.externalURL, notices.texts.access) == ("https://calls.example", "Bereit."))
    #expect(configuration.allowedOrigins == ["https://shop.example", "http://localhost:3000"])
    guard case .sqlite(path: "/data/callgate.sqlite3") = configuration.store else {
      Issue.record("another store")
      return
    }
    #expect(
      configuration.limits
        == Configuration.Limits(
          connections: 100, headerBytes: 2048, contentBytes: 4096, headerTimeout: .seconds(1),
          requestTimeout: .seconds(2), idleTimeout: .seconds(3), drainDelay: .seconds(4),
          drainTimeout: .seconds(5)))
  }

  @Test func `every caller arrives`() throws {
    let callers = try load().callers
    #expect(callers.map(\.id) == ["ios-app", "android-app", "partner", "by-url", "by-file", "by-secret"])
    var proofs: [String] = []
    for caller in callers {
      switch caller.proof {
      case .basic(let username, let digest, let isStrong):
        proofs.append("\(username) \(Hex.encode(digest.value.bytes).prefix(2)) \(isStrong)")
      case .apiKey(let digest): proofs.append(String(Hex.encode(digest.value.bytes).prefix(2)))
      case .jwt(let issuer):
        switch issuer.keys {
        case .url(let url, _): proofs.append("\(url) \(issuer.subjectClaim)")
        case .set(let set): proofs.append("\(set.keys.count) \(issuer.subjectClaim)")
        case .secret(let secret): proofs.append(secret.algorithm.rawValue)
        case .unopened: proofs.append("unopened")
        }
      }
    }
    let password = Hex.encode(SHA256.digest(Array("long enough".utf8))).prefix(2)
    #expect(
      proofs == [
        "user 0a true", "other \(password) false", "0b", "https://id.example/jwks email", "1 sub", "HS256",
      ])
  }

  @Test func `every app arrives`() throws {
    let apps = try load().apps
    #expect(apps.map(\.id) == ["example-app-ios", "open", "chat-app"])
    #expect(apps.map(\.desk) == [nil, nil, "chat"])
    #expect(apps[0].callers == ["ios-app", "anonymous"])
    #expect(apps[0].scope == "visual-sessions:execute")
    #expect(apps[0].talkdeskPhoneNumbers == ["+18500000000", "+18500000001"])
    typealias Schema = Configuration.ContextSchema
    #expect(
      apps[0].contextSchema
        == Schema(
          fields: [
            Schema.Field(
              name: "issue", displayName: "Issue", tooltip: "Why", dataType: .url, maximumLength: 200,
              isRequired: true),
            Schema.Field(
              name: "note", displayName: nil, tooltip: nil, dataType: .text, maximumLength: nil,
              isRequired: false),
          ], additions: [Schema.Addition(name: "channel", value: "ios")], allowsOthers: true))
    #expect(apps[0].verificationCode)
    #expect(apps.map(\.delivery) == [.push, .response, .response])
    #expect(apps[1].callers == nil)
    #expect(!apps[1].verificationCode)
    #expect(apps[1].contextSchema == nil)
    #expect(
      apps[0].installations
        == InstallationTerms(
          authorize: [.user], pending: .seconds(300), idle: .seconds(30 * 86_400), perSubject: 3,
          verifiers: ["partner"], key: .required))
    #expect(apps[1].installations == nil)
    #expect(apps[0].appCheck?.mode == .audit && apps[0].appCheck?.appIDs == ["1:1:ios:a", "1:1:android:b"])
    #expect(apps[0].attested?.mode == .enforce && apps[0].attested?.perDay == 5)
    #expect(apps[0].attested?.appCheck?.appIDs == ["1:1:ios:a", "1:1:android:b"])
    #expect(apps[1].appCheck == nil && apps[1].attested == nil)
    let numbers = try #require(try load().numbers)
    #expect(numbers.consentNames == ["v3"] && numbers.remember == .seconds(864_000))
    #expect(numbers.firebase?.keysURL == "https://keys.example/fpnv")
    let mcp = try #require(try load().mcp)
    #expect(mcp.callers == ["partner", "anonymous"] && mcp.app == "open" && mcp.consent == .optional)
    #expect(mcp.tools == [.availability, .requestCallback] && mcp.repeats == .seconds(1200))
    #expect(mcp.origins == ["https://inspector.example"])
    let outcomes = try #require(try load().outcomes)
    #expect(outcomes.externalURL == "https://hooks.example.com" && outcomes.hooks.count == 2)
    #expect(outcomes.window == CallWindow(before: .seconds(5), after: .seconds(3600)))
    #expect(outcomes.triggers == [.outboundCallEnds] && outcomes.reachedEvents == [.outboundCallEnds])
    #expect(outcomes.reachedOver == .seconds(3))
    #expect(outcomes.url == "https://reports.example.com" && outcomes.report?.second == 12_600)
    let appCheck = try load().appCheck
    #expect(appCheck?.project == AppCheckProject(number: "123456789012", id: "shop-prod"))
    #expect(appCheck?.keysURL == "https://keys.example/jwks")
    #expect(apps[0].attested?.appAttest?.appID == "ABCDE12345.com.example.shop")
    #expect(apps[0].attested?.appAttest?.atLeast == BuildNumber("2.3"))
    let appAttest = try load().appAttest
    #expect(appAttest?.hasOwnRoot == true && appAttest?.policy.environments == [.development])
    #expect(appAttest?.policy.categories == [3, 5])
    #expect(appCheck?.consumes == true && appCheck?.consumption != nil)
    let play = try #require(apps[0].attested?.play)
    #expect(play.package == "com.example.shop" && play.device == .strong && play.licence == .licensed)
    #expect(play.certificates == ["3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8"])
    #expect(apps[0].attested?.types == AttestationType.allCases)
    let decoding = try #require(try load().play)
    #expect(decoding.maximumAge == 60 && decoding.settings != nil)
  }

  @Test func `the declared keys are exactly those of the file`() throws {
    var problems = ProblemList()
    let root = try #require(YAMLReader.read(Array(Self.yaml.utf8), name: "c", into: &problems))
    let free = [
      "apps", "apps.*.context_schema.fields", "apps.*.context_schema.add", "desks", "gms.services",
      "numbers.consent.texts",
    ]
    func paths(_ node: DocumentNode, _ path: String) -> [String] {
      switch node.content {
      case .text: [path]
      case .list(let items):
        path == "rules"
          ? []
          : items.flatMap { item in
            if case .mapping = item.content { paths(item, path + "[]") } else { [path] }
          }
      case .mapping(let members):
        members.flatMap { member in
          paths(member.value, (path.isEmpty ? "" : path + ".") + (free.contains(path) ? "*" : member.name))
        }
      }
    }
    let declared = Settings.all.compactMap(\.path).map { path in
      path.hasSuffix("[]") ? String(path.dropLast(2)) : path
    }
    // A client secret, a key and a signer exclude each other.
    let signers = (Settings.signer.all + Settings.nextSigner.all).compactMap(\.path)
    // So do the sources of an issuer's keys.
    let written = Set(paths(root, "")).union(
      signers + ["talkdesk.client_secret_file", "admin.jwt.jwks_file", "admin.jwt.hs256_secret_file"])
    #expect(Set(declared) == written)
    #expect(Set(declared).count == declared.count)
  }
}
