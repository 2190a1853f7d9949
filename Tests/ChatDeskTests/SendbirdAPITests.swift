// Tests of the requests to Sendbird, and of how its responses are read.

import HTTP
import JOSE
import JSON
import Platform
import TestSupport
import Testing
import Tokens

@testable import ChatDesk

@Suite struct SendbirdAPITests {
  private let time = ManualTime()

  private func token(
    _ transport: ScriptedTransport, _ subject: String = "ann", retry: RetryPolicy = .never
  ) async -> Result<SessionToken, SendbirdFailure> {
    do throws(SendbirdFailure) {
      return .success(
        try await SendbirdAPI.scripted(transport, time, retry: retry)
          .sessionToken(for: user(subject).id, deadline: time.now + .seconds(10)))
    } catch {
      return .failure(error)
    }
  }

  @Test func `the master token goes in its header, and the life in milliseconds of the wall clock`()
    async throws
  {
    let transport = ScriptedTransport { _, _ in .session("t") }
    let result = await token(transport, "a b/ü?")
    #expect(try result.get().secret.exposedString() == "t")
    #expect(transport.count == 1)
    let request = transport.requests[0]
    #expect(request.method == .post)
    #expect(request.path == "/v3/users/a%20b%2F%C3%BC%3F/token")
    #expect(request.fields["Api-Token"] == "master")
    #expect(try request.members["expires_at"]?.int == 1_800_003_600_000)
    #expect(request.timeout == .seconds(10))
  }

  @Test func `a user that Sendbird does not know is created once, and then has a token`() async throws {
    for unknown in [400_201, 400_301] {
      let transport = ScriptedTransport { number, _ in
        switch number {
        case 0: .error(unknown)
        case 1: .status(200, "{}")
        default: .session("t")
        }
      }
      #expect(try await token(transport).get().secret.exposedString() == "t")
      #expect(
        transport.requests.map(\.path) == ["/v3/users/ann/token", "/v3/users", "/v3/users/ann/token"])
      let members = try transport.requests[1].members
      #expect(members["user_id"]?.string == "ann")
      #expect(members["nickname"]?.string == "")
      #expect(members["profile_url"]?.string == "")
    }
  }

  @Test func `a user that another instance has just created is no failure`() async throws {
    let transport = ScriptedTransport { number, _ in
      number == 0 ? .error(400_301) : number == 1 ? .error(400_202) : .session("t")
    }
    #expect(try await token(transport).get().secret.exposedString() == "t")
  }

  @Test func `a user that stays unknown is not created twice`() async throws {
    let transport = ScriptedTransport { _, request in
      request.path == "/v3/users" ? .status(200, "{}") : .error(400_301)
    }
    guard case .failure(let failure) = await token(transport) else {
      Issue.record("a token")
      return
    }
    #expect(failure.concern == .unknownUser)
    #expect(transport.count == 3)
  }

  @Test(arguments: [
    (400, "400105", "refused", SendbirdFailure.Concern.thisUser), (400, "400111", "refused", .thisUser),
    (400, "400403", "refused", .thisUser), (400, "400108", "refused", .everyUser),
    (400, "400401", "refused", .everyUser), (401, "400401", "refused", .everyUser),
    (400, "403100", "refused", .everyUser), (403, "403100", "refused", .everyUser),
    (400, "400202", "refused", .knownUser), (400, "400201", "refused", .unknownUser),
    (400, "500910", "rate_limited", .everyUser), (429, "500910", "rate_limited", .everyUser),
    (429, "", "rate_limited", .everyUser), (400, "500901", "failed", .everyUser),
    (500, "500901", "failed", .everyUser), (400, "500902", "failed", .everyUser),
    (500, "", "unavailable", .everyUser), (503, "900000", "unavailable", .everyUser),
    (408, "", "unavailable", .everyUser), (400, "", "refused", .thisUser),
    (404, "", "refused", .perhapsEveryUser),
    (401, "", "refused", .everyUser), (403, "", "refused", .thisUser), (403, "999999", "refused", .thisUser),
    (400, "999999", "refused", .thisUser), (302, "", "unusable_reply", .perhapsEveryUser),
    (410, "", "refused", .perhapsEveryUser), (404, "404000", "refused", .thisUser),
  ])
  func `an error means what its code says, or else its status`(
    status: Int, code: String, label: String, concern: SendbirdFailure.Concern
  ) {
    let content = code.isEmpty ? "<html>" : #"{"error":true,"code":\#(code),"message":"no"}"#
    let failure = SendbirdFailure(status: status, content: Array(content.utf8), retryAfter: nil)
    #expect(failure.cause.label == label)
    #expect(failure.concern == concern)
  }

  @Test(arguments: [
    ("", UnusableReply.notJSON), ("[]", .notJSON), ("{}", .noToken), (#"{"token":""}"#, .noToken),
    (#"{"token":7}"#, .noToken), (#"{"token":"a b"}"#, .malformedToken), (#"{"token":"ü"}"#, .malformedToken),
    (#"{"token":"t","expires_at":1800000000999}"#, .expired), (#"{"token":"t","expires_at":0}"#, .expired),
  ])
  func `a success without a usable token is no token`(content: String, reason: UnusableReply) async {
    let result = await token(ScriptedTransport { _, _ in .status(200, content) })
    guard case .failure(let failure) = result, case .unusableReply(let found) = failure.cause else {
      Issue.record("\(result)")
      return
    }
    #expect(found == reason)
  }

  @Test func `a token of the greatest length is taken, and no longer one`() async throws {
    let longest = String(repeating: "t", count: SendbirdAPI.longestToken)
    #expect(
      try await token(ScriptedTransport { _, _ in .session(longest) }).get().secret.count
        == longest.utf8.count)
    await #expect(throws: SendbirdFailure.self) {
      try await token(ScriptedTransport { _, _ in .session(longest + "t") }).get()
    }
  }

  @Test func `the life is the requested one, or a shorter one that Sendbird gives`() async throws {
    for (end, life) in [(nil, 3600), (1_800_000_600_000, 600), (1_900_000_000_000, 3600)] as [(Int64?, Int)] {
      let token = try await token(ScriptedTransport { _, _ in .session("t", expiresAt: end) }).get()
      #expect(token.expiresAt == Expiry(time.now + .seconds(life)))
      #expect(token.vendableUntil == Expiry(time.now + .seconds(life * 4 / 5)))
    }
  }

  @Test func `what passes is tried again within the deadline, and a refusal is not`() async throws {
    for first in [ScriptedTransport.Answer.error(500_901), .lost(), .status(503)] {
      let transport = ScriptedTransport { number, _ in number == 0 ? first : .session("t") }
      async let result = token(transport, retry: RetryPolicy())
      try await eventually { time.sleeperCount == 1 }
      time.advance(by: .seconds(2))
      #expect(try await result.get().secret.exposedString() == "t")
      #expect(transport.count == 2)
    }
    for last in [ScriptedTransport.Answer.error(400_401), .error(500_910), .lost(.timedOut)] {
      let transport = ScriptedTransport { _, _ in last }
      await #expect(throws: SendbirdFailure.self) { try await token(transport, retry: RetryPolicy()).get() }
      #expect(transport.count == 1)
    }
  }

  @Test func `a check asks for a token of a user that nobody has, and creates none`() async {
    let well = ScriptedTransport { _, _ in .error(400_301) }
    #expect(await SendbirdAPI.scripted(well, time).check()?.cause.label == nil)
    #expect(well.requests.map(\.path) == ["/v3/users/callgate-doctor/token"])
    let refusing = ScriptedTransport { _, _ in .error(400_401) }
    #expect(await SendbirdAPI.scripted(refusing, time).check()?.cause.label == "refused")
  }

  @Test func `nothing that prints a failure or a token holds a secret`() async throws {
    let token = try await token(ScriptedTransport { _, _ in .session("s3cret-token") }).get()
    #expect(!"\(token)".contains("s3cret") && !String(reflecting: token).contains("s3cret"))
    var dumped = ""
    dump(token, to: &dumped)
    #expect(!dumped.contains("s3cret"))
  }
}
