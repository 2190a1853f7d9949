// Tests of requests that are refused by their head, before their body is read: by endpoint, code and audit line.

import Foundation
import HTTP
import HTTPServer
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct EarlyRefusalTests {
  private let environment = [
    "DEFAULT_USERNAME": "app", "DEFAULT_PASSWORD": "canary-pass",
    "CALLGATE_ADMIN_TOKEN": "canary-operators-token",
    "CALLGATE_STORE_KEY": Base64.encode([UInt8](repeating: 7, count: 32)),
  ]
  private let yaml = """
    apps:
      shop: { callers: [default], installations: { authorize: [operator] } }
      plain: { callers: [default] }
    gms: { services: { support: { app: shop } } }
    """
  private static let credentials = "Authorization: Basic " + Base64.encode(Array("app:canary-pass".utf8))

  /// A request whose head alone is sent.
  struct Head: Sendable, CustomTestStringConvertible {
    let line: String
    var fields: [String] = []
    /// The content length in the head.
    var length = 100
    /// The status line of the response.
    let answer: String

    var testDescription: String { "\(line): \(answer)" }
  }

  private static let json = "Content-Type: application/json"
  private static let heads = [
    Head(line: "POST /calls/callback", fields: [json], answer: "401 Unauthorized"),
    Head(line: "GET /access", answer: "401 Unauthorized"),
    Head(line: "POST /token/shop", answer: "401 Unauthorized"),
    Head(line: "DELETE /callbacks/x", answer: "401 Unauthorized"),
    Head(line: "PATCH /callbacks/x", answer: "401 Unauthorized"),
    Head(line: "POST /codes/verify", fields: [json], answer: "401 Unauthorized"),
    Head(line: "POST /access/claim", fields: [json], answer: "401 Unauthorized"),
    Head(line: "PUT /installations/self/push", fields: [json], answer: "401 Unauthorized"),
    Head(line: "POST /tickets", fields: [json], answer: "401 Unauthorized"),
    Head(line: "POST /genesys/1/service/callback/support", fields: [json], answer: "401 Unauthorized"),
    Head(line: "POST /admin/stop", fields: [json], answer: "401 Unauthorized"),
    // Only the store knows that there is no such installation.
    Head(
      line: "POST /calls/callback",
      fields: [
        json,
        "Authorization: Basic "
          + Base64.encode(Array("6f1c3d52-9a4b-4b7e-8c1d-0e5f7a9b2c44:canary-secret".utf8)),
      ], answer: "401 Unauthorized"),
    Head(line: "POST /calls/callback?app=none", fields: [credentials, json], answer: "404 Not Found"),
    Head(line: "POST /fetch-code?app=none", fields: [json], answer: "404 Not Found"),
    Head(line: "POST /nowhere", answer: "404 Not Found"),
    Head(line: "POST /hooks/talkdesk/x", fields: [json], answer: "404 Not Found"),
    Head(line: "POST /access", answer: "405 Method Not Allowed"),
    Head(line: "POST /livez", answer: "405 Method Not Allowed"),
    Head(line: "POST /calls/callback", fields: [credentials], answer: "415 Unsupported Media Type"),
    Head(line: "PATCH /callbacks/x", fields: [credentials], answer: "415 Unsupported Media Type"),
    Head(line: "POST /codes/verify", fields: [credentials], answer: "415 Unsupported Media Type"),
    Head(line: "POST /fetch-code?app=shop", answer: "415 Unsupported Media Type"),
    Head(
      line: "PUT /genesys/1/service/callback/support/x", fields: [credentials],
      answer: "415 Unsupported Media Type"),
    Head(
      line: "POST /calls/callback", fields: [credentials, json], length: 16_385,
      answer: "413 Content Too Large"),
    Head(line: "POST /fetch-code?app=shop", fields: [json], length: 32_769, answer: "413 Content Too Large"),
    Head(
      line: "POST /codes/verify", fields: [credentials, json], length: 4097, answer: "413 Content Too Large"),
    Head(
      line: "POST /fetch-code?app=shop",
      fields: ["Content-Type: application/x-www-form-urlencoded", "Origin: https://evil.example"],
      answer: "403 Forbidden"),
    Head(line: "POST /fetch-code?app=plain", fields: [json], answer: "403 Forbidden"),
    // Endpoints for installations, and for callers that are listed.
    Head(line: "POST /codes/verify", fields: [credentials, json], answer: "403 Forbidden"),
    Head(line: "POST /access/claim", fields: [credentials, json], answer: "403 Forbidden"),
    Head(line: "PUT /installations/self/push", fields: [credentials, json], answer: "403 Forbidden"),
    Head(line: "DELETE /installations/self/push", fields: [credentials], answer: "403 Forbidden"),
    Head(line: "DELETE /installations/self", fields: [credentials], answer: "403 Forbidden"),
    // IDs never have this form.
    Head(
      line: "PATCH /callbacks/x", fields: [credentials, "Content-Type: application/merge-patch+json"],
      answer: "404 Not Found"),
    Head(line: "DELETE /callbacks/x", fields: [credentials], answer: "404 Not Found"),
    // GMS clients only understand 400.
    Head(
      line: "PUT /genesys/1/service/callback/none/x", fields: [credentials, json], answer: "400 Bad Request"),
    Head(line: "DELETE /genesys/1/service/callback/none/x", fields: [credentials], answer: "400 Bad Request"),
    // The server requests the body if the head is acceptable.
    Head(
      line: "PUT /genesys/1/service/callback/support/x", fields: [credentials, json], answer: "100 Continue"),
    Head(
      line: "DELETE /genesys/1/service/callback/support/x", fields: [credentials], answer: "100 Continue"),
    Head(line: "POST /calls/callback", fields: [credentials, json], length: 16_384, answer: "100 Continue"),
    Head(line: "POST /fetch-code?app=shop", fields: [json], length: 32_768, answer: "100 Continue"),
    Head(line: "GET /access", fields: [credentials], answer: "100 Continue"),
    Head(line: "GET /livez", answer: "100 Continue"),
    Head(line: "OPTIONS /access", answer: "100 Continue"),
  ]

  /// Sends only a head, on a new connection, and returns the status line of the response.
  private func send(_ head: Head, to service: RunningService) throws -> String {
    let port = try #require(service.baseURL.split(separator: ":").last.flatMap { UInt16($0) })
    let socket = try StreamSocket(
      connectedTo: SocketAddress(try #require(IPAddress("127.0.0.1")), port: port))
    let lines =
      ["\(head.line) HTTP/1.1", "Host: a", "Expect: 100-continue", "Content-Length: \(head.length)"]
      + head.fields
    let text = lines.joined(separator: "\r\n") + "\r\n\r\n"
    #expect(socket.send(Array(text.utf8)) == .bytes(text.utf8.count))
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !received.contains(0x0D) {
      switch socket.receive(into: &buffer) {
      case .bytes(0), .failed: return "closed"
      case .bytes(let count): received += buffer[..<count]
      case .wouldBlock: continue
      }
    }
    return String(
      String(decoding: received.prefix { $0 != 0x0D }, as: UTF8.self).dropFirst("HTTP/1.1 ".count))
  }

  /// Runs a service with a store for appointments, which GMS clients need, and returns its log.
  private func serve(_ body: (RunningService) async throws -> Void) async throws -> [JSONValue] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "early-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let service = try await RunningService(
      preparing: environment.merging(["CALLGATE_STATE": folder.appending(path: "state.sqlite3").path]) { $1 },
      yaml: yaml)
    try await body(service)
    return try await service.end()
  }

  @Test func `what the head alone decides is answered without waiting for the body`() async throws {
    _ = try await serve { service in
      for head in Self.heads {
        let line = try send(head, to: service)
        #expect(line == head.answer, "\(head.line) \(head.fields)")
      }
    }
  }

  @Test(arguments: [
    (#"{"scope":"all","action":"all"}"#, "of everyone at "),
    (#"{"scope":"caller","id":"default","action":"all"}"#, "of caller default at "),
  ])
  func `a stop refuses before the body is read`(stop: String, reason: String) async throws {
    let lines = [
      "POST /calls/callback", "GET /access", "PATCH /callbacks/x", "POST /access/claim",
      "PUT /genesys/1/service/callback/support/x",
    ]
    let log = try await serve { (service: RunningService) async throws in
      let fields: Fields = [
        "Authorization": "Bearer canary-operators-token", "Content-Type": "application/json",
      ]
      let stopped = try await service.ask(.post, "/admin/stop", fields, content: Array(stop.utf8))
      #expect(stopped.status == 200)
      for line in lines {
        let head = Head(line: line, fields: [Self.credentials, Self.json], answer: "")
        let answer = line.contains("genesys") ? "503 Service Unavailable" : "403 Forbidden"
        #expect(try send(head, to: service) == answer, "\(line)")
      }
      // The caller would be in the body, which is not sent.
      let enrolment = Head(line: "POST /fetch-code?app=shop", fields: [Self.json], answer: "")
      #expect(
        try send(enrolment, to: service) == (stop.contains("caller") ? "100 Continue" : "403 Forbidden"))
    }
    let stopped = log.filter { $0["log"]?.string == "audit" && $0["code"]?.string == "stopped" }
    #expect(stopped.count == lines.count + (stop.contains("caller") ? 0 : 1))
    #expect(stopped.someAndAll { $0["reason"]?.string?.contains(reason) == true })
  }

  @Test func `a stop of an app refuses changes of its callbacks before the body is read`() async throws {
    let log = try await serve { (service: RunningService) async throws in
      let stop = Array(#"{"scope":"app","id":"shop","action":"callback"}"#.utf8)
      let fields: Fields = [
        "Authorization": "Bearer canary-operators-token", "Content-Type": "application/json",
      ]
      let stopped = try await service.ask(.post, "/admin/stop", fields, content: stop)
      #expect(stopped.status == 200)
      let head = Head(
        line: "PUT /genesys/1/service/callback/support/x", fields: [Self.credentials, Self.json], answer: "")
      #expect(try send(head, to: service) == "503 Service Unavailable")
    }
    let line = try #require(log.first { $0["code"]?.string == "stopped" })
    #expect(line["app"]?.string == "shop" && line["action"]?.string == "change")
  }

  @Test func `a login that is refused by its head counts once, and has one audit line`() async throws {
    let service = try await RunningService(preparing: environment, yaml: yaml)
    let head = Head(
      line: "POST /calls/callback",
      fields: [Self.json, "Authorization: Basic " + Base64.encode(Array("app:wrong".utf8))],
      answer: "401 Unauthorized")
    // As many wrong passwords as an address may send.
    for _ in 0..<10 { #expect(try send(head, to: service) == head.answer) }
    #expect(try send(head, to: service) == "429 Too Many Requests")
    let lines = try await service.end().filter { $0["log"]?.string == "audit" }
    #expect(lines.count == 11)
    #expect(lines.filter { $0["code"]?.string == "unauthenticated" }.count == 10)
  }
}
