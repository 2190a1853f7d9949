// Tests that no number in a push provider's response crashes the process.

import HTTP
import Platform
import TestSupport
import Testing

@testable import Notices

@Suite struct StrangeNumberTests {
  private let now = ManualTime()

  private func replies(like text: String, more: [String] = []) throws -> [InboundResponse] {
    try StrangeNumbers.documents(like: text, more: more).enumerated().flatMap { index, content in
      let wait = StrangeNumbers.texts[index % StrangeNumbers.texts.count]
      return [200, 400, 401, 410, 429, 503].map { status in
        InboundResponse(status: status, fields: ["Retry-After": wait], content: Array(content.utf8))
      }
    }
  }

  private func expectShortWait(_ reaction: Reaction) {
    switch reaction.verdict {
    case .retry(let wait?, _), .restProvider(let wait, _), .restDevice(let wait, _):
      #expect(.zero <= wait && wait <= NoticeVerdict.longestWait, "\(reaction)")
    case .taken, .deviceGone, .retry(nil, _), .stopSender, .giveUp: break
    }
  }

  @Test func `every number of Google's token endpoint is read or refused, and no life is beyond a day`()
    throws
  {
    for reply in try replies(like: #"{"access_token":"t","expires_in":3600,"error":"no"}"#) {
      if case .success(let token) = GoogleTokens.token(
        in: reply, now.now, now.unixTime, unit: 0.5, setting: "notices.fcm")
      {
        #expect(token.usableUntil - now.now <= .seconds(86_400))
      }
    }
  }

  @Test func `no number in an answer of FCM makes a wait longer than an hour`() throws {
    let answer =
      #"{"error":{"code":404,"message":"m","status":"S","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}}"#
    for reply in try replies(like: answer) { expectShortWait(FCMAnswer.reaction(reply, now: now.unixTime)) }
  }

  @Test func `no number in an answer of APNs makes a wait longer than an hour`() throws {
    for reply in try replies(like: #"{"reason":"Unregistered","timestamp":1}"#) {
      expectShortWait(APNsAnswer.reaction(reply, now: now.unixTime))
    }
  }

  @Test(arguments: [("0", true), ("253402300799999", true), ("253402300800000", false), ("-1", false)])
  func `the time of a device that is gone is one from 1970 to 9999`(text: String, isTime: Bool) {
    let reply = InboundResponse(
      status: 410, fields: [:], content: Array(#"{"reason":"Unregistered","timestamp":\#(text)}"#.utf8))
    guard case .settled(.deviceGone(let since, _)) = APNsAnswer.reaction(reply, now: now.unixTime) else {
      Issue.record("not gone")
      return
    }
    #expect((since != nil) == isTime)
  }

  @Test func `every wait that a webhook asks for is bounded`() {
    for wait in StrangeNumbers.texts {
      for status in [200, 410, 429, 500, 503] {
        let reply = InboundResponse(status: status, fields: ["Retry-After": wait], content: [])
        if case .retry(let wait?, _) = HookAnswer.verdict(reply, now: now.unixTime) {
          #expect(wait <= NoticeVerdict.longestWait)
        }
      }
    }
  }
}
