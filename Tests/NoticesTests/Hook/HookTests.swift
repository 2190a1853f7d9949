// Tests of signed webhooks: the published example, the file of secrets, the responses and the sender.

import HTTP
import JSON
import TestSupport
import Testing

@testable import Notices

@Suite struct HookTests {
  private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  private static let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
  private let time = ManualTime()

  /// Standard Webhooks' own example.
  @Test func `the published example has the published signature`() throws {
    let secrets = try HookSecrets(parsing: Array(Self.secret.utf8))
    let signature = secrets.signature(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330,
      content: Array("{\"test\": 2432232314}".utf8))
    #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test func `each secret signs, in the order of the file`() throws {
    func signature(_ file: String) throws -> String {
      try HookSecrets(parsing: Array(file.utf8)).signature(id: "a", timestamp: 1, content: [])
    }
    let (one, two) = (try signature(Self.secret), try signature(Self.other))
    #expect(one != two)
    #expect(try signature("\n \(Self.secret)\r\n\n\(Self.other) \n") == "\(one) \(two)")
  }

  @Test(arguments: [
    ("", "no secret"), ("\n\n", "no secret"), ("whsec_", "0 bytes"),
    ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "line 1"),
    ("\(secret)\nwhsec_!", "line 2"), ("whsec_" + String(repeating: "A", count: 28) + "AAA=", "23 bytes"),
    ("whsec_" + String(repeating: "A", count: 84) + "AAA=", "65 bytes"),
    (Array(repeating: secret, count: 5).joined(separator: "\n"), "5 secrets"),
  ])
  func `a file that cannot be used is refused with its line`(file: String, words: String) {
    do throws(NoticeSettingError) {
      _ = try HookSecrets(parsing: Array(file.utf8))
      Issue.record("it was taken")
    } catch {
      #expect(error.setting == "secret_file")
      #expect(error.words.contains(words), "\(error)")
      #expect(!error.words.contains("MfKQ"))
    }
  }

  @Test(arguments: [
    "whsec_" + String(repeating: "A", count: 32), "whsec_" + String(repeating: "A", count: 84) + "AA==",
  ])
  func `secrets of 24 and of 64 bytes are taken`(file: String) throws {
    #expect(throws: Never.self) { try HookSecrets(parsing: Array(file.utf8)) }
  }

  @Test(
    arguments: [
      (200, nil, NoticeVerdict.taken), (204, "5", .taken), (299, nil, .taken),
      (302, nil, .retry(after: nil, reason: "webhook 302")),
      (404, nil, .retry(after: nil, reason: "webhook 404")),
      (429, "5", .restProvider(for: .seconds(5), reason: "webhook 429")),
      (503, "5", .restProvider(for: .seconds(5), reason: "webhook 503")),
      (503, "0", .retry(after: .zero, reason: "webhook 503")),
      (503, "99999", .restProvider(for: .seconds(3600), reason: "webhook 503")),
      (500, "5", .retry(after: nil, reason: "webhook 500")),
      (
        410, nil,
        .stopSender(reason: "webhook 410: the receiver accepts no more notifications; check notices.http.url")
      ),
    ] as [(Int, String?, NoticeVerdict)])
  func `every status has its verdict`(status: Int, retryAfter: String?, verdict: NoticeVerdict) {
    let reply = InboundResponse(
      status: status, fields: retryAfter.map { ["Retry-After": $0] } ?? [:], content: [])
    #expect(HookAnswer.verdict(reply, now: time.unixTime) == verdict)
  }

  @Test func `a hook has device and message, and its signature covers what is sent`() async throws {
    let network = ScriptedTransport { _, _ in .status(204) }
    let secrets = try HookSecrets(parsing: Array(Self.secret.utf8))
    let sender = HookSender(url: "https://hooks.example/in", secrets: secrets, transport: network, time: time)
    let notice = try Notice.sample(.changed)
    #expect(await sender.send(notice, to: try .sample(.http), deadline: time.soon) == .taken)
    time.advance(by: .seconds(2))
    #expect(await sender.send(notice, to: try .sample(.http), deadline: time.soon) == .taken)
    let (first, second) = (network.requests[0], network.requests[1])
    #expect(first.url == "https://hooks.example/in")
    #expect(first.json == ["deviceId": "device-token:1", "message": .string(notice.message)])
    #expect(first.fields["webhook-id"] == notice.id.publicID)
    #expect(second.fields["webhook-id"] == notice.id.publicID, "another try is the same message")
    #expect(first.fields["webhook-timestamp"] == "1800000000")
    #expect(second.fields["webhook-timestamp"] == "1800000002")
    #expect(
      second.fields["webhook-signature"]
        == secrets.signature(
          id: notice.id.publicID, timestamp: 1_800_000_002, content: Array(second.content)))
  }

  @Test func `what no response came to is tried again, and a status that came counts`() async throws {
    let network = ScriptedTransport { number, _ in
      guard number == 1 else { return .lost(.connect, sent: false) }
      var error = TransportError(.responseTooLarge, sent: true, detail: "scripted")
      error.head = InboundResponse(status: 200, fields: [:], content: [])
      return .fail(error)
    }
    let sender = HookSender(
      url: "https://hooks.example/in", secrets: try HookSecrets(parsing: Array(Self.secret.utf8)),
      transport: network, time: time)
    guard
      case .retry(after: nil, _) = await sender.send(
        try .sample(), to: try .sample(.http), deadline: time.soon)
    else {
      Issue.record("no retry")
      return
    }
    #expect(await sender.send(try .sample(), to: try .sample(.http), deadline: time.soon) == .taken)
  }

  @Test(arguments: [0, 1, 2])
  func `a POST on a connection that dies is repeated once where one is left, and counted`(
    before: Int
  ) async throws {
    let network = ScriptedTransport { _, _ in .lost() }
    let sender = HookSender(
      url: "https://hooks.example/in", secrets: try HookSecrets(parsing: Array(Self.secret.utf8)),
      transport: network, time: time)
    var posts = NoticePosts(count: before)
    guard
      case .retry(after: nil, _) = await sender.send(
        try .sample(), to: try .sample(.http), deadline: time.soon, posts: &posts)
    else {
      Issue.record("no retry")
      return
    }
    #expect(posts.count == min(before + 2, NoticePosts.most) && network.count == posts.count - before)
    #expect(network.requests.someAndAll { $0.reuse == .allowed }, "the transport may repeat it uncounted")
  }
}
