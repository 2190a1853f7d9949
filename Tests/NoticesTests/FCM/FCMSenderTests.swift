// Tests of the sender of notices by FCM, and of its access token, on a scripted network.

import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing

@testable import Notices

@Suite(.timeLimit(.minutes(5))) struct FCMSenderTests {
  private static let key = Result { try PrivateKey.generate(for: .RS256) }
  private static let tokenURL = "https://oauth2.googleapis.com/token"
  private let time = ManualTime()

  private func sender(_ network: ScriptedTransport) throws -> FCMSender {
    let account = try ServiceAccount(parsing: try ServiceAccount.members(Self.key.get()).serialized())
    return FCMSender(FCMSettings(account), transport: network, time: time, jitter: { 0 })
  }

  /// A network with a token endpoint: the first exchange brings `token-1`, the next `token-2`.
  private static func network(
    _ answer: @escaping @Sendable (OutboundRequest) -> ScriptedTransport.Answer = { _ in .status(200) }
  ) -> ScriptedTransport {
    ScriptedTransport { number, request in
      guard request.url == tokenURL else { return answer(request) }
      return .status(
        200, "{\"access_token\":\"token-\(number)\",\"expires_in\":3600,\"token_type\":\"Bearer\"}")
    }
  }

  private func send(_ sender: FCMSender) async throws -> NoticeVerdict {
    await sender.send(try .sample(), to: try .sample(.fcm), deadline: time.soon)
  }

  private func exchanges(_ network: ScriptedTransport) -> Int {
    network.requests.count { $0.url == Self.tokenURL }
  }

  @Test func `a notice has its pointer as data, a text to show, and the time that is left`() async throws {
    let network = Self.network()
    #expect(try await send(try sender(network)) == .taken)
    let request = try #require(network.requests.last)
    #expect(request.url == "https://fcm.googleapis.com/v1/projects/shop-1/messages:send")
    #expect(request.fields["Authorization"] == "Bearer token-0")
    #expect(
      request.json == [
        "message": [
          "token": "device-token:1", "data": ["message": .string(try Notice.sample().message)],
          "notification": ["body": "Your call"], "android": ["priority": "high", "ttl": "60s"],
        ]
      ])
  }

  @Test func `the assertion is an RS256 JWT for the token endpoint`() async throws {
    let network = Self.network()
    _ = try await send(try sender(network))
    let form = String(decoding: Array(try #require(network.requests.first).content), as: UTF8.self)
    let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
    #expect(form.hasPrefix(prefix))
    let (header, claims) = try verified(
      String(form.dropFirst(prefix.count)), by: Self.key.get().publicKey, .RS256)
    #expect(header == ["alg": "RS256", "kid": "0f1e2d", "typ": "JWT"])
    #expect(
      claims == [
        "iss": "push@shop-1.iam.gserviceaccount.com",
        "scope": "https://www.googleapis.com/auth/firebase.messaging", "aud": .string(Self.tokenURL),
        "iat": 1_800_000_000, "exp": 1_800_003_600,
      ])
  }

  @Test func `notices at the same time share one exchange`() async throws {
    let network = ScriptedTransport { _, request in
      request.url == Self.tokenURL ? .hold : .status(200)
    }
    let sender = try sender(network)
    let (notice, device, deadline) = (try Notice.sample(), try PushToken.sample(.fcm), time.soon)
    let verdicts = try await withThrowingTaskGroup { group in
      for _ in 1...50 {
        group.addTask { await sender.send(notice, to: device, deadline: deadline) }
      }
      // Each has a timer for its deadline.
      await time.untilSleepers(50)
      try await network.answer(0, .status(200, "{\"access_token\":\"t\",\"expires_in\":3600}"))
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(verdicts == Array(repeating: .taken, count: 50))
    #expect(exchanges(network) == 1)
  }

  @Test func `a notice waits for a token until its deadline`() async throws {
    let network = ScriptedTransport { _, _ in .hold }
    let sender = try sender(network)
    async let verdict = send(sender)
    await time.untilSleepers(1)
    time.advance(by: .seconds(5))
    guard case .retry = try await verdict else {
      Issue.record("no retry")
      return
    }
    #expect(network.count == 1)
    // For the exchange, which no deadline of a notice ends.
    try await network.answer(0, .lost())
  }

  @Test func `a used token is renewed at half of its life, while it still serves`() async throws {
    let network = Self.network()
    let sender = try sender(network)
    _ = try await send(sender)
    await time.untilSleepers(1)
    time.advance(by: .seconds(1800))
    try await until { exchanges(network) == 2 }
    try await until { time.sleeperCount == 1 }
    _ = try await send(sender)
    #expect(network.requests.last?.fields["Authorization"] == "Bearer token-2")
  }

  @Test func `a token that no notice uses ends, and the next notice gets another`() async throws {
    let network = Self.network()
    let sender = try sender(network)
    _ = try await send(sender)
    await time.untilSleepers(1)
    time.advance(by: .seconds(1800))
    try await until { exchanges(network) == 2 }
    await time.untilSleepers(1)
    time.advance(by: .seconds(1800))
    await settle()
    #expect(exchanges(network) == 2)
    time.advance(by: .seconds(3600))
    #expect(try await send(sender) == .taken)
    #expect(exchanges(network) == 3)
  }

  @Test func `a token that is refused is renewed once, and the notice sent once more`() async throws {
    let network = Self.network { request in
      request.fields["Authorization"] == "Bearer token-0" ? .status(401) : .status(200)
    }
    let sender = try sender(network)
    // It was good at first.
    time.advance(by: .seconds(1))
    guard case .stopSender = try await send(sender) else {
      Issue.record("a token that has just come was renewed")
      return
    }
    #expect(exchanges(network) == 1)
    time.advance(by: FCMTokens.shortestLife)
    #expect(try await send(sender) == .taken)
    #expect(exchanges(network) == 2)
  }

  @Test func `a notice is sent twice at most`() async throws {
    let network = Self.network { _ in .status(401) }
    let sender = try sender(network)
    _ = try await send(sender)
    time.advance(by: .seconds(60))
    guard case .stopSender = try await send(sender) else {
      Issue.record("not stopped")
      return
    }
    #expect(network.requests.count { $0.url != Self.tokenURL } == 3)
  }

  @Test(arguments: [
    (400, "{\"error\":\"invalid_grant\"}", "invalid_grant"), (401, "", "401"), (403, "<html>", "403"),
  ])
  func `an account that Google refuses stops the sender`(
    status: Int, body: String, word: String
  ) async throws {
    let network = ScriptedTransport { _, _ in .status(status, body) }
    guard case .stopSender(let reason) = try await send(try sender(network)) else {
      Issue.record("not stopped")
      return
    }
    #expect(reason.contains(word))
  }

  @Test func `while the token endpoint fails it is left alone for a while, and asked again after it`()
    async throws
  {
    let network = ScriptedTransport { number, _ in number < 2 ? .status(503) : .lost(.connect, sent: false) }
    let sender = try sender(network)
    for left in [500, 500, 400] {
      if left < 500 { time.advance(by: .milliseconds(100)) }
      #expect(
        try await send(sender)
          == .retry(after: .milliseconds(left), reason: "Google's token endpoint 503"))
    }
    #expect(network.count == 1)
    time.advance(by: .milliseconds(400))
    _ = try await send(sender)
    #expect(network.count == 2)
    time.advance(by: .milliseconds(999))
    _ = try await send(sender)
    #expect(network.count == 2)
    time.advance(by: .milliseconds(1))
    _ = try await send(sender)
    #expect(network.count == 3)
  }

  @Test(arguments: [
    "", "{}", "{\"access_token\":\"\",\"expires_in\":3600}", "{\"access_token\":\"a b\",\"expires_in\":3600}",
    "{\"access_token\":\"t\"}", "{\"access_token\":\"t\",\"expires_in\":0}", "[]",
  ])
  func `a reply without a usable token is a failure`(body: String) async throws {
    let network = ScriptedTransport { _, _ in .status(200, body) }
    guard case .retry = try await send(try sender(network)) else {
      Issue.record("no retry")
      return
    }
    #expect(network.count == 1)
  }

  @Test(arguments: [
    (1, 0.0, 500), (2, 0, 1000), (7, 0, 30_000), (60, 0, 30_000), (1, 1, 750),
  ])
  func `the token endpoint is left alone longer after each failure`(
    failures: Int, unit: Double, milliseconds: Int
  ) {
    let verdict = NoticeVerdict.retry(after: nil, reason: "")
    #expect(
      FCMTokens.rest(after: verdict, failures: failures, unit: unit) == .milliseconds(milliseconds))
    #expect(
      FCMTokens.rest(after: .retry(after: .seconds(9), reason: ""), failures: failures, unit: unit)
        == .seconds(9))
  }
}
