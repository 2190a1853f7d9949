// Tests that no number in a Sendbird response crashes the process.

import HTTP
import JSON
import Platform
import TestSupport
import Testing
import Tokens

@testable import ChatDesk

@Suite struct StrangeNumberTests {
  private let now: Int64 = 1_800_000_000_000

  private func token(_ content: String) -> Result<SessionToken, UnusableReply> {
    do throws(UnusableReply) {
      return .success(
        try SessionToken(
          parsing: Array(content.utf8), user: user().id, sent: (MonotonicTime(nanoseconds: 0), now),
          life: .seconds(3600)))
    } catch {
      return .failure(error)
    }
  }

  @Test(arguments: [
    "-9223372036854775808", "-9223372036854775807", "-9223370236854775808", "-9223370236854775809",
    "-99999999999999999999", "-1", "0", "1", "1800000000999",
  ])
  func `an end in the past, however far, makes a reply unusable`(end: String) {
    guard case .failure(.expired) = token(#"{"token":"t","expires_at":\#(end)}"#) else {
      Issue.record("not expired")
      return
    }
  }

  @Test(arguments: [
    "1800003600000", "9223372036854775807", "9223372036854775806", "9223372036854775808",
    "99999999999999999999",
  ])
  func `an end in the future, however far, leaves the requested life`(end: String) throws {
    let token = try token(#"{"token":"t","expires_at":\#(end)}"#).get()
    #expect(token.expiresAt == Expiry(MonotonicTime(nanoseconds: 3_600_000_000_000)))
  }

  /// Expects that a parser accepts some of the documents with strange numbers, and refuses others.
  private func expectBoth(
    like text: String, more: [String] = [], _ read: (_ content: [UInt8]) throws -> Void
  ) throws {
    var (taken, refused) = (0, 0)
    for content in try StrangeNumbers.documents(like: text, more: more) {
      do {
        try read(Array(content.utf8))
        taken += 1
      } catch {
        refused += 1
      }
    }
    #expect(taken > 0 && refused > 0, "\(text): \(taken) taken, \(refused) refused")
  }

  @Test func `every number in every reply is read or refused`() throws {
    try expectBoth(like: #"{"token":"t","expires_at":1}"#, more: ["user_id"]) { content in
      _ = try token(String(decoding: content, as: UTF8.self)).get()
    }
    try expectBoth(like: #"{"results":[{"id":1,"sendbirdId":"ann"},{"id":2,"sendbird_id":"bob"}]}"#) {
      content in
      _ = try DeskAPI.customer(of: user().id, in: content)
    }
    try expectBoth(like: #"{"id":1,"channelUrl":"c"}"#) { _ = try DeskAPI.newCustomer(in: $0) }
    try expectBoth(like: #"{"id":1,"channelUrl":"c"}"#) { _ = try DeskAPI.ticket(in: $0) }
    for content in try StrangeNumbers.documents(like: #"{"error":true,"code":400301,"message":"no"}"#) {
      for status in [0, 200, 300, 400, 404, 500, 999] {
        _ = SendbirdFailure(status: status, content: Array(content.utf8), retryAfter: nil)
      }
    }
  }

  @Test func `a whole session with such replies ends with a token or a failure`() async throws {
    var outcomes: [String: Int] = [:]
    for content in try StrangeNumbers.documents(like: #"{"token":"t","expires_at":1800003600000,"code":1}"#) {
      for status in [200, 400, 500] {
        let desk = Desk { _, _ in .status(status, content, fields: ["Retry-After": "9223372036854775807"]) }
        outcomes[try await desk.vend(), default: 0] += 1
      }
    }
    #expect(outcomes["t"] ?? 0 > 0 && outcomes.count > 1, "\(outcomes.keys)")
  }
}
