// Tests that a running server decides each request as `/admin/explain` says it would.

import Foundation
import Gate
import HTTP
import JOSE
import JSON
import Platform
import Sandbox
import TestSupport
import Testing

@testable import Callers
@testable import Gateway
@testable import RoomSupport

/// Sends requests under random rules over sockets. The audit lines of a request, of its probe and of a
/// callback's validation must say what `/admin/explain` says about them.
@Suite(.timeLimit(.minutes(3))) struct OneDecisionLiveTests {
  private static let secret = String(repeating: "s", count: 32)
  private static let operators: Fields = ["Authorization": "Bearer canary-operators-token"]

  private func digest(_ text: String) -> String { Hex.encode(SHA256.digest(Array(text.utf8))) }

  private func environment(secretFile: String, talkdesk: String) -> String {
    """
    listen: { trusted_proxies: [127.0.0.1/32], forwarded_hops: 1 }
    callers:
      - { id: ios-app, api_key: { sha256: \(digest("canary-ios")) } }
      - { id: partner, api_key: { sha256: \(digest("canary-partner")) } }
      - { id: app-users, jwt: { issuer: "https://id.example", audience: callgate, hs256_secret_file: "\(secretFile)" } }
    allow_anonymous: true
    apps:
      shop: { callers: [ios-app, app-users] }
      help: { callers: [partner, anonymous] }
      open: {}
      news: { delivery: push, installations: { authorize: [user] } }
      chat: { desk: chat, callers: [app-users] }
      silent: { desk: silent, callers: [app-users, partner] }
    desks:
      chat: { kind: sendbird, application_id: A, api_token_variable: DESK_TOKEN, desk_api_token_variable: DESK_TOKEN, url: "\(talkdesk)", desk_url: "\(talkdesk)" }
      silent: { kind: sendbird, application_id: B, api_token_variable: DESK_TOKEN, url: "\(talkdesk)" }
    notices: { http: { url: "https://push.example", secret_variable: HOOK_SECRET } }
    callbacks: { dedupe_window: 0s, talkdesk_phone_numbers: ["+18500000000"] }

    """
  }

  private func credentials(_ request: RandomRequest) throws -> Fields {
    switch request.caller {
    case nil: return [:]
    case "app-users"?:
      guard case .object(var claims) = try JSONValue(parsing: Array(request.claims.utf8)) else { return [:] }
      claims["iss"] = "https://id.example"
      claims["aud"] = "callgate"
      claims["exp"] = .number(JSONNumber(SystemClock().unixTime.seconds + 600))
      if let subject = request.subject { claims["sub"] = .string(subject) }
      let key = try SymmetricKey(Secret(Array(Self.secret.utf8)), algorithm: .HS256)
      return [
        "Authorization": "Bearer "
          + (JWS.sign(header: ["alg": "HS256"], payload: claims.serialized(), with: key))
      ]
    case "ios-app"?: return ["X-API-Key": "canary-ios"]
    case _?: return ["Authorization": "Bearer canary-partner"]
    }
  }

  private func question(_ request: RandomRequest) throws -> JSONValue {
    var question: JSONObject = [
      "action": .string(request.action.rawValue), "address": .string(request.address),
    ]
    question["claims"] = try JSONValue(parsing: Array(request.claims.utf8))
    question["caller"] = .string(request.caller ?? Caller.anonymousID)
    if let subject = request.subject { question["subject"] = .string(subject) }
    if let app = request.app { question["app"] = .string(app) }
    if let phone = request.phone { question["phone"] = .string(phone) }
    var fields = JSONObject()
    for (name, values) in Dictionary(grouping: request.fields, by: { $0.name.lowercased() }).sorted(by: {
      $0.key < $1.key
    }) {
      fields[name] = .array(values.map { .string($0.value) })
    }
    question["fields"] = .object(fields)
    return .object(question)
  }

  /// A request's ID, and its explanation from before.
  private struct Expectation {
    let id: String
    let explained: JSONValue
    let isAllowed: Bool
  }

  @Test func `what a running server decides is what it explains`() async throws {
    let secretFile = FileManager.default.temporaryDirectory.appending(path: "callgate-\(UUID().uuidString)")
    try Self.secret.write(to: secretFile, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: secretFile) }
    let service = try RunningService(
      environment: [
        "CALLGATE_ADMIN_TOKEN": "canary-operators-token",
        "CALLGATE_STORE_KEY": String(repeating: "0f", count: 32), "DESK_TOKEN": "canary-desk-token",
        "HOOK_SECRET": "whsec_" + Base64.encode([UInt8](repeating: 7, count: 32)),
      ], yaml: "allow_anonymous: true")
    let environment = environment(secretFile: secretFile.path, talkdesk: service.talkdesk.server.baseURL)
    var dice = SeededGenerator(20_261_121)
    var expected: [Expectation] = []
    for round in 0..<10 {
      var rules = RandomRules()
      rules.isLive = true
      // No remote policy answers here, so each rule's own setting for that case counts.
      let yaml = rules.yaml(1 + dice.below(8), &dice)
        .replacingOccurrences(of: "https://policy.example", with: "http://127.0.0.1:1")
      // In some rounds, requests without credentials are refused before any rule is evaluated.
      let isClosed = round % 3 == 2
      let closed = environment.replacingOccurrences(of: "allow_anonymous: true\n", with: "")
        .replacingOccurrences(of: "[partner, anonymous]", with: "[partner]")
      service.rewrite((isClosed ? closed : environment) + yaml)
      #expect(await service.reload(), "\(yaml)")
      for number in 0..<30 {
        var request = RandomRequest(&dice)
        if request.caller == "app-users" { request.subject = request.subject ?? "ann" }
        // A server passes bytes beyond ASCII on, but this client cannot send them.
        request.fields.removeAll { !$0.value.utf8.allSatisfy { $0 < 0x80 } }
        let answer = try await service.ask(
          .post, "/admin/explain", Self.operators, content: try question(request).serialized())
        #expect(answer.status == 200)
        let explained = try JSONValue(parsing: answer.content)
        var fields = try credentials(request)
        // Addresses that a client puts in front of the proxy's own entry do not count.
        fields.append("X-Forwarded-For", "192.0.2.99, \(request.address)")
        for field in request.fields { fields.append(field.name, field.value) }
        let app = request.app.map { "app=\($0)" }
        // A ticket has neither probe nor validation.
        for isReal in request.action == .ticket ? [true] : [false, true] {
          let id = "r\(round)-\(number)-\(isReal)"
          let response: InboundResponse
          switch request.phone {
          case nil where request.action == .ticket:
            response = try await service.ask(
              .post, "/tickets?\(app ?? "")",
              fields.adding("X-Request-Id", id).adding("Content-Type", "application/json"),
              content: Array(#"{"title":"\#(id)"}"#.utf8))
          case nil:
            let query = [app, isReal ? nil : "probe"].compactMap { $0 }.joined(separator: "&")
            response = try await service.ask(
              .get, "/access?\(query)", fields.adding("X-Request-Id", id))
          case let phone?:
            let query = [app, isReal ? nil : "validate"].compactMap { $0 }.joined(separator: "&")
            response = try await service.ask(
              .post, "/calls/callback?\(query)",
              fields.adding("X-Request-Id", id).adding("Content-Type", "application/json"),
              content: Array(#"{"contact_phone_number":"\#(phone)"}"#.utf8))
          }
          let isAllowed = explained["decision"]?.string == "allow"
          #expect(
            (200..<300).contains(response.status) == isAllowed, "\(id): \(response.status) \(explained)")
          expected.append(Expectation(id: id, explained: explained, isAllowed: isAllowed))
        }
      }
    }
    let audits = try await service.end().filter { $0["log"]?.string == "audit" }
    let byID = Dictionary(audits.map { ($0["request_id"]?.string ?? "", $0) }) { first, _ in first }
    #expect(byID.count == audits.count && audits.count == expected.count)
    var unauthenticated = 0
    for expectation in expected {
      let audit = try #require(byID[expectation.id], "\(expectation.id)")
      #expect(audit["decision"]?.string == expectation.explained["decision"]?.string, "\(audit)")
      #expect(audit["code"]?.string == expectation.explained["code"]?.string, "\(audit)")
      #expect(audit["rule"]?.string == expectation.explained["rule"]?.string, "\(audit)")
      // A request that is refused before the rules has no verdicts.
      if expectation.explained["code"]?.string == "unauthenticated" { unauthenticated += 1 }
      guard
        expectation.explained["code"]?.string == "unauthenticated"
          || expectation.explained["code"]?.string != "unknown_app"
            && audit["verdicts"]?.array?.isEmpty == false
      else { continue }
      let verdicts = expectation.explained["verdicts"]?.array ?? []
      #expect(
        audit["verdicts"]?.array?.map { [$0["rule"], $0["verdict"]] }
          == verdicts.map { [$0["rule"], $0["verdict"]] }, "\(audit) \(expectation.explained)")
      #expect(verdicts.allSatisfy { $0["reason"]?.string?.isEmpty == false }, "\(expectation.explained)")
      #expect(
        verdicts.allSatisfy { ($0["because"] != nil) == ($0["verdict"]?.string == "skipped") },
        "\(expectation.explained)")
    }
    let allowed = expected.filter(\.isAllowed).count
    #expect(unauthenticated > 10, "\(unauthenticated)")
    // Tokens that come by push, and tickets without a desk for them, are refused before the rules.
    let reasons = expected.compactMap { $0.explained["reason"]?.string }
    for reason in [
      "tokens of the app come by push", "has no chat desk", "has no API token for tickets", "names no app",
    ] {
      #expect(reasons.contains { $0.contains(reason) }, "\(reason)")
    }
    #expect(allowed > 60 && expected.count - allowed > 60, "\(allowed) of \(expected.count)")
  }
}
