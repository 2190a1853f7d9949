// Tests of the sender of notices by APNs against a real HTTP/2 server.

import Certificates
import HTTP
import JSON
import Platform
import TestSupport
import Testing
import Upstream

@testable import Notices

@Suite(
  .serialized, .timeLimit(.minutes(5)),
  .enabled(if: HTTP2Server.isAvailable, "script/bootstrap test installs the HTTP/2 library"))
struct APNsConnectionTests {
  private let time = ManualTime()
  private let authority = TestIdentity("", isAuthority: true)

  private func with(_ streams: Int, _ body: (HTTP2Server, APNsSender) async throws -> Void) async throws {
    let identity = TestIdentity("DNS:localhost", issuer: authority)
    let settings = TransportSettings(
      authorities: .pem(authority.certificatePEM), proxies: .direct, multiplexing: Multiplexing())
    try await withHTTP2Server(
      certificatePEM: identity.certificatePEM, keyPEM: identity.keyPEM, streams: streams
    ) { server in
      let sender = APNsSender(
        try .sample(url: "https://localhost:\(try await server.port())"),
        transport: try CurlTransport(settings), connect: { try? CurlTransport(settings) }, time: time)
      try await body(server, sender)
    }
  }

  /// Sends notices to different devices at once.
  private func sendAll(_ count: Int, _ sender: APNsSender) async throws -> [NoticeVerdict] {
    let (notice, deadline) = (try Notice.sample(), time.now + .seconds(30))
    let devices = try (0..<count).map { number in
      let digits = String(number, radix: 16)
      return try #require(
        DeviceAddress(String(repeating: "0", count: 64 - digits.utf8.count) + digits, platform: .apns))
    }
    return await withTaskGroup { group in
      for device in devices { group.addTask { await sender.send(notice, to: device, deadline: deadline) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  private func expectTaken(
    _ count: Int, _ sender: APNsSender, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let verdicts = try await sendAll(count, sender)
    #expect(verdicts == Array(repeating: .taken, count: count), sourceLocation: sourceLocation)
  }

  @Test(arguments: [1, 100])
  func `notices to many devices share one connection and one provider token`(streams: Int) async throws {
    try await with(streams) { server, sender in
      try await expectTaken(200, sender)
      try await server.wait { server.requests.count >= 200 }
      #expect(server.events("connection").count == 1)
      #expect(Set(server.requests.compactMap { $0["path"]?.string }).count == 200)
      #expect(Set(server.requests.compactMap { $0["fields"]?["authorization"]?.string }).count == 1)
    }
  }

  @Test func `an answer's reason is read`() async throws {
    try await with(100) { server, sender in
      try await server.send([
        "status": 410, "body": "{\"reason\":\"Unregistered\",\"timestamp\":1800000000000}",
      ])
      let verdict = try await sendAll(1, sender)
      #expect(
        verdict == [
          .deviceGone(since: UnixTime(seconds: 1_800_000_000), reason: "APNs 410 Unregistered")
        ])
    }
  }

  @Test func `a shutdown moves the sender to a new connection, and the old one ends`() async throws {
    try await with(100) { server, sender in
      _ = try await sendAll(1, sender)
      time.advance(by: .seconds(60))
      try await server.send(["status": 503, "body": "{\"reason\":\"Shutdown\"}"])
      try await expectTaken(1, sender)
      try await server.wait { server.events("closed").count == 1 }
      try await server.wait { server.requests.count >= 3 }
      #expect(server.requests.map { $0["connection"] } == [1, 1, 2])
      #expect(server.events("closed").first?["connection"] == 1)
    }
  }

  @Test func `refused streams, GOAWAY and a broken connection lose no notice`() async throws {
    try await with(100) { server, sender in
      for answer in [["refuse": true], ["goaway": true], ["close": true]] as [JSONObject] {
        try await expectTaken(1, sender)
        time.advance(by: .seconds(60))
        try await server.send(answer)
        try await expectTaken(20, sender)
      }
    }
  }
}
