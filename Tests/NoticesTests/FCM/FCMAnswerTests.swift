// Tests of the reaction to each response of FCM.

import HTTP
import TestSupport
import Testing

@testable import Notices

@Suite struct FCMAnswerTests {
  private func reaction(_ status: Int, _ body: String, retryAfter: String? = nil) -> Reaction {
    FCMAnswer.reaction(
      InboundResponse(
        status: status, fields: retryAfter.map { ["Retry-After": $0] } ?? [:], content: Array(body.utf8)),
      now: ManualTime().unixTime)
  }

  private func body(code: String?, status: String = "X", more: String = "") -> String {
    let detail =
      code.map {
        "{\"@type\":\"type.googleapis.com/google.firebase.fcm.v1.FcmError\",\"errorCode\":\"\($0)\"}"
      } ?? "{\"@type\":\"type.googleapis.com/google.rpc.Help\",\"errorCode\":\"UNREGISTERED\"}"
    return
      "{\"error\":{\"code\":1,\"message\":\"device-token:1\",\"status\":\"\(status)\",\"details\":[\(detail)\(more)]}}"
  }

  /// The kind of a reaction, without its text.
  private enum Kind: Hashable { case taken, gone, retry, retryInAMinute, stop, giveUp, renew, other }

  private func kind(_ reaction: Reaction) -> Kind {
    switch reaction {
    case .settled(.taken): .taken
    case .settled(.deviceGone(since: nil, _)): .gone
    case .settled(.retry(after: nil, _)): .retry
    case .settled(.retry(after: .seconds(60), _)): .retryInAMinute
    case .settled(.stopSender): .stop
    case .settled(.giveUp): .giveUp
    case .renewCredential(atAnyAge: true, otherwise: .stopSender): .renew
    default: .other
    }
  }

  @Test(arguments: [
    ("UNREGISTERED", 404, Kind.gone), ("INVALID_ARGUMENT", 400, .giveUp), ("SENDER_ID_MISMATCH", 403, .gone),
    ("THIRD_PARTY_AUTH_ERROR", 401, .giveUp), ("APNS_AUTH_ERROR", 401, .giveUp),
    ("QUOTA_EXCEEDED", 429, .retryInAMinute), ("INTERNAL", 500, .retry), ("UNAVAILABLE", 503, .retry),
    // The code decides, not the status.
    ("UNREGISTERED", 400, .gone), ("QUOTA_EXCEEDED", 500, .retryInAMinute), ("NEW_CODE", 503, .retry),
  ])
  private func `every error code has its reaction`(code: String, status: Int, expected: Kind) {
    let reaction = reaction(status, body(code: code))
    #expect(kind(reaction) == expected)
    #expect("\(reaction)".contains("FCM \(status) \(code)"))
    #expect(!"\(reaction)".contains("device-token"))
  }

  @Test func `a malformed device token drops the device, and no other violation does`() {
    func more(_ field: String) -> String {
      ",{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\",\"fieldViolations\":[{\"field\":\"\(field)\"}]}"
    }
    #expect(kind(reaction(400, body(code: "INVALID_ARGUMENT", more: more("message.token")))) == .gone)
    #expect(kind(reaction(400, body(code: nil, more: more("message.token")))) == .gone)
    #expect(kind(reaction(400, body(code: "INVALID_ARGUMENT", more: more("message.data")))) == .giveUp)
    let unnamed =
      #"{"error":{"code":400,"message":"The registration token is not a valid FCM registration token","#
      + #""status":"INVALID_ARGUMENT"}}"#
    #expect(kind(reaction(400, unnamed)) == .gone)
  }

  @Test(arguments: [
    (200, Kind.taken), (302, .stop), (400, .giveUp), (401, .renew), (403, .stop), (404, .stop), (408, .retry),
    (413, .giveUp), (429, .retryInAMinute), (500, .retry), (503, .retry),
  ])
  private func `without an error code the status decides`(status: Int, expected: Kind) {
    for text in ["", "<html>", "{}", "{\"error\":7}", body(code: nil)] {
      #expect(kind(reaction(status, text)) == expected, "\(text)")
    }
  }

  @Test func `a stated wait is obeyed, up to an hour, and holds for every notice with 429 and 503`() {
    for (field, wait) in [("7", 7), ("99999", 3600)] {
      for (code, status) in [("QUOTA_EXCEEDED", 429), ("UNAVAILABLE", 503)] {
        #expect(
          reaction(status, body(code: code), retryAfter: field)
            == .settled(.restProvider(for: .seconds(wait), reason: "FCM \(status) \(code)")))
      }
      #expect(
        reaction(500, body(code: "INTERNAL"), retryAfter: field)
          == .settled(.retry(after: .seconds(wait), reason: "FCM 500 INTERNAL")))
    }
  }

  @Test(arguments: ["-1", "", "soon", "1e9", "1.5", " "])
  func `an invalid wait is ignored`(field: String) {
    #expect(kind(reaction(503, body(code: "UNAVAILABLE"), retryAfter: field)) == .retry)
    #expect(kind(reaction(429, body(code: "QUOTA_EXCEEDED"), retryAfter: field)) == .retryInAMinute)
  }

  @Test(arguments: [("Fri, 15 Jan 2027 08:01:00 GMT", 60), ("Sat, 15 Jan 2028 08:00:00 GMT", 3600)])
  func `a wait may be a date`(field: String, seconds: Int) {
    #expect(
      reaction(503, "", retryAfter: field)
        == .settled(.restProvider(for: .seconds(seconds), reason: "FCM 503")))
  }

  @Test(arguments: ["0", "000", "Fri, 15 Jan 2027 08:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"])
  func `no time at all is no rest`(field: String) {
    #expect(reaction(503, "", retryAfter: field) == .settled(.retry(after: .zero, reason: "FCM 503")))
  }
}
