// Tests of the sender of notices by FCM, and of its access token, on a scripted network.

import HTTP
import JOSE
import JSON
import Platform
import Synchronization
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
        "iat": 1_799_999_970, "exp": 1_800_003_570,
      ])
  }

  @Test(arguments: [
    (#"{"error":"invalid_grant","error_description":"Token must be in a reasonable timeframe."}"#, 0, true),
    (#"{"error":"invalid_grant"}"#, 3, true), (#"{"error":"invalid_grant"}"#, -3, true),
    (#"{"error":"invalid_grant"}"#, 2, false), (#"{"error":"invalid_grant"}"#, -2, false),
  ])
  func `a refused assertion is blamed on the clock where Google speaks of time or its clock differs`(
    body: String, offset: Int64, isBlamed: Bool
  ) async throws {
    let date = HTTPDate.string(unixSeconds: time.unixTime.seconds + offset)
    let failure = try await sender(ScriptedTransport { _, _ in .status(400, body, fields: ["Date": date]) })
      .check()
    #expect(failure?.mayBeOfClock == isBlamed)
    let reason = try #require(failure?.verdict.reason)
    #expect(reason.contains("set the clock first") == isBlamed, "\(reason)")
  }

  @Test func `notices at the same time share one exchange`() async throws {
    let network = ScriptedTransport { _, request in
      request.url == Self.tokenURL ? .hold : .status(200)
    }
    let sender = try sender(network)
    let (notice, device, deadline) = (try Notice.sample(), try DeviceAddress.sample(.fcm), time.soon)
    let verdicts = try await withThrowingTaskGroup { group in
      for _ in 1...50 {
        group.addTask { await sender.send(notice, to: device, deadline: deadline) }
      }
      // Each notification has a timer for its deadline.
      try await time.untilSleepers(50)
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
    try await time.untilSleepers(1)
    time.advance(by: .seconds(5))
    guard case .retry = try await verdict else {
      Issue.record("no retry")
      return
    }
    #expect(network.count == 1)
    // Answers the token exchange, which does not end at a notification's deadline.
    try await network.answer(0, .lost())
  }

  @Test func `a used token is renewed at half of its life, while it still serves`() async throws {
    let network = Self.network()
    let sender = try sender(network)
    _ = try await send(sender)
    try await time.untilSleepers(1)
    time.advance(by: .seconds(1800))
    try await eventually { exchanges(network) == 2 }
    try await eventually { time.sleeperCount == 1 }
    _ = try await send(sender)
    #expect(network.requests.last?.fields["Authorization"] == "Bearer token-2")
  }

  @Test func `notices that find a token past half of its life begin one renewal`() async throws {
    let answered = Mutex(0)
    let network = ScriptedTransport { _, request in
      guard request.url == Self.tokenURL else { return .status(200) }
      let number = answered.withLock { count in
        count += 1
        return count
      }
      return number < 3 ? .status(200, "{\"access_token\":\"t-\(number)\",\"expires_in\":3600}") : .hold
    }
    let sender = try sender(network)
    _ = try await send(sender)
    try await time.untilSleepers(1)
    time.advance(by: .seconds(1800))
    try await eventually { exchanges(network) == 2 }
    try await time.untilSleepers(1)
    // Nothing used the second token, so nothing renews it until a notification does.
    time.advance(by: .seconds(1800))
    await settle()
    for _ in 0..<5 { #expect(try await send(sender) == .taken) }
    try await eventually { exchanges(network) == 3 }
    await settle()
    #expect(exchanges(network) == 3)
    let last = try #require(network.requests.lastIndex { $0.url == Self.tokenURL })
    try await network.answer(last, .lost())
  }

  @Test func `a token that no notice uses ends, and the next notice gets another`() async throws {
    let network = Self.network()
    let sender = try sender(network)
    _ = try await send(sender)
    try await time.untilSleepers(1)
    time.advance(by: .seconds(1800))
    try await eventually { exchanges(network) == 2 }
    try await time.untilSleepers(1)
    time.advance(by: .seconds(1800))
    await settle()
    #expect(exchanges(network) == 2)
    time.advance(by: .seconds(3600))
    #expect(try await send(sender) == .taken)
    #expect(exchanges(network) == 3)
  }

  @Test(arguments: [0, 1, 29, 30, 1000])
  func `a token that is refused is renewed once, whatever its age, and the notice sent once more`(
    age: Int
  ) async throws {
    let refuses = Atomic(false)
    let network = Self.network { request in
      refuses.load(ordering: .relaxed) && request.fields["Authorization"] == "Bearer token-0"
        ? .status(401) : .status(200)
    }
    let sender = try sender(network)
    _ = try await send(sender)
    refuses.store(true, ordering: .relaxed)
    time.advance(by: .seconds(age))
    #expect(try await send(sender) == .taken)
    #expect(exchanges(network) == 2)
  }

  @Test func `a new token that is refused stops the sender, and the next notice asks Google again`()
    async throws
  {
    let network = Self.network { request in
      request.fields["Authorization"] == "Bearer token-4" ? .status(200) : .status(401)
    }
    let sender = try sender(network)
    guard case .stopSender = try await send(sender) else {
      Issue.record("not stopped")
      return
    }
    #expect(network.requests.map { $0.url == Self.tokenURL } == [true, false, true, false])
    #expect(try await send(sender) == .taken)
    #expect(exchanges(network) == 3)
  }

  @Test func `at most three POSTs are made, and the last one stops no sender`() async throws {
    let network = Self.network { _ in .status(401) }
    let sender = try sender(network)
    var posts = NoticePosts(count: 2)
    let verdict = await sender.send(
      try .sample(), to: try .sample(.fcm), deadline: time.soon, posts: &posts)
    #expect(verdict == .retry(after: nil, reason: "FCM 401; check the service account"))
    #expect(network.requests.count { $0.url != Self.tokenURL } == 1 && !posts.hasMore)
  }

  @Test func `a POST on a connection that dies is repeated once, and counted`() async throws {
    let network = Self.network { _ in .lost() }
    let sender = try sender(network)
    var posts = NoticePosts()
    guard
      case .retry(after: nil, _) = await sender.send(
        try .sample(), to: try .sample(.fcm), deadline: time.soon, posts: &posts)
    else {
      Issue.record("no retry")
      return
    }
    let sent = network.requests.filter { $0.url != Self.tokenURL }
    #expect(sent.count == 2 && posts.count == 2)
    #expect(sent.someAndAll { $0.reuse == .allowed }, "the transport may repeat it uncounted")
  }

  @Test func `after a reload Google is asked at once, whatever failed before`() async throws {
    let network = ScriptedTransport { number, request in
      guard request.url == Self.tokenURL else { return .status(200) }
      return number == 0
        ? .status(400, "{\"error\":\"invalid_grant\"}")
        : .status(200, "{\"access_token\":\"t\",\"expires_in\":3600}")
    }
    let sender = try sender(network)
    _ = try await send(sender)
    _ = try await send(sender)
    #expect(exchanges(network) == 1)
    sender.startAnew()
    #expect(try await send(sender) == .taken)
    sender.startAnew()
    #expect(try await send(sender) == .taken)
    #expect(exchanges(network) == 2, "a token that serves stays")
    sender.forgetTokens()
    #expect(try await send(sender) == .taken)
    #expect(exchanges(network) == 3)
  }

  @Test func `what an exchange brings that was begun before is ignored`() async throws {
    let network = ScriptedTransport { _, request in
      request.url == Self.tokenURL ? .hold : .status(200)
    }
    let sender = try sender(network)
    async let verdict = send(sender)
    try await time.untilSleepers(1)
    try await eventually { network.held == [0] }
    sender.startAnew()
    try await eventually { network.held == [0, 1] }
    try await network.answer(0, .status(403))
    try await network.answer(1, .status(200, "{\"access_token\":\"t\",\"expires_in\":3600}"))
    #expect(try await verdict == .taken)
    #expect(try await send(sender) == .taken)
    #expect(exchanges(network) == 2)
  }

  @Test func `while Google names a wait for tokens, no notice can go to FCM`() async throws {
    let network = ScriptedTransport { _, _ in .status(503, fields: ["Retry-After": "4000"]) }
    let sender = try sender(network)
    let words = "Google's token endpoint 503"
    #expect(try await send(sender) == .restProvider(for: .seconds(3600), reason: words))
    time.advance(by: .seconds(3599))
    #expect(try await send(sender) == .restProvider(for: .seconds(1), reason: words))
    #expect(network.count == 1)
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
      GoogleTokens.rest(after: verdict, failures: failures, unit: unit) == .milliseconds(milliseconds))
    #expect(
      GoogleTokens.rest(after: .retry(after: .seconds(9), reason: ""), failures: failures, unit: unit)
        == .seconds(9))
  }
}
