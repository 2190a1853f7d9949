// Tests of the reaction to each response of APNs.

import HTTP
import Platform
import TestSupport
import Testing

@testable import Notices

@Suite struct APNsAnswerTests {
  private func reaction(_ status: Int, _ body: String, fields: Fields = [:]) -> Reaction {
    APNsAnswer.reaction(
      InboundResponse(status: status, fields: fields, content: Array(body.utf8)), now: ManualTime().unixTime)
  }

  /// The kind of a reaction, without its text.
  private enum Kind: Hashable {
    case taken, gone, retry, stop, giveUp, renew, renewAtAnyAge, older, reconnectOrStop, reconnectOrRetry,
      other
  }

  private func kind(_ reaction: Reaction) -> Kind {
    switch reaction {
    case .settled(.taken): .taken
    case .settled(.deviceGone(since: nil, _)): .gone
    case .settled(.retry(after: nil, _)): .retry
    case .settled(.stopSender): .stop
    case .settled(.giveUp): .giveUp
    case .renewCredential(atAnyAge: false, otherwise: .stopSender): .renew
    case .renewCredential(atAnyAge: true, otherwise: .stopSender): .renewAtAnyAge
    case .useOlderCredential(otherwise: .retry): .older
    case .reconnect(otherwise: .stopSender): .reconnectOrStop
    case .reconnect(otherwise: .retry): .reconnectOrRetry
    default: .other
    }
  }

  @Test func `every reason has its reaction`() {
    let table: [(Int, [String], Kind)] = [
      (400, ["BadDeviceToken", "DeviceTokenNotForTopic"], .gone),
      (400, ["BadTopic", "MissingTopic", "TopicDisallowed"], .stop),
      (
        400,
        [
          "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "InvalidPushType",
          "DuplicateHeaders", "PayloadEmpty", "MissingDeviceToken",
        ], .giveUp
      ),
      (400, ["IdleTimeout"], .reconnectOrRetry),
      (403, ["ExpiredProviderToken"], .renew),
      (
        403,
        [
          "InvalidProviderToken", "MissingProviderToken", "BadEnvironmentKeyIdInToken",
          "BadEnvironmentKeyInToken", "Forbidden", "BadCertificate", "BadCertificateEnvironment",
        ], .stop
      ),
      (403, ["UnrelatedKeyIdInToken"], .reconnectOrStop),
      (404, ["BadPath"], .giveUp), (405, ["MethodNotAllowed"], .giveUp),
      (410, ["Unregistered", "ExpiredToken"], .gone),
      (413, ["PayloadTooLarge"], .giveUp),
      (429, ["TooManyProviderTokenUpdates"], .older), (429, ["TooManyRequests"], .retry),
      (500, ["InternalServerError"], .retry), (503, ["ServiceUnavailable"], .retry),
      (503, ["Shutdown"], .reconnectOrRetry),
    ]
    for (status, reasons, expected) in table {
      for reason in reasons {
        let reaction = reaction(status, "{\"reason\":\"\(reason)\"}")
        #expect(kind(reaction) == expected, "\(reason)")
        #expect("\(reaction)".contains("APNs \(status) \(reason)"), "\(reaction)")
      }
    }
  }

  @Test(arguments: [
    (200, Kind.taken), (201, .taken), (302, .stop), (400, .giveUp), (401, .renewAtAnyAge),
    (403, .stop), (404, .giveUp), (408, .retry), (410, .gone), (413, .giveUp), (429, .retry), (500, .retry),
    (502, .retry), (599, .retry),
  ])
  private func `without a known reason the status decides`(status: Int, expected: Kind) {
    for body in ["", "<html>", "{}", "{\"reason\":7}", "{\"reason\":\"NewReason\"}", "[]"] {
      #expect(kind(reaction(status, body)) == expected, "\(body)")
    }
  }

  @Test(arguments: ["Unregistered", "ExpiredToken"])
  func `a device that is gone is gone since the time that APNs names, in milliseconds`(reason: String) {
    guard
      case .settled(.deviceGone(let since, _)) = reaction(
        410, "{\"reason\":\"\(reason)\",\"timestamp\":1800000000123}")
    else {
      Issue.record("not gone")
      return
    }
    #expect(since == UnixTime(seconds: 1_800_000_000, nanoseconds: 123_000_000))
  }

  @Test func `a negative timestamp is none`() {
    #expect(kind(reaction(410, "{\"reason\":\"Unregistered\",\"timestamp\":-1}")) == .gone)
  }

  @Test(arguments: [("30", Duration.seconds(30)), ("7200", .seconds(3600)), ("soon", nil), ("0", .zero)])
  func `a wait is obeyed up to an hour: 429 speaks of the device, 503 of all`(field: String, wait: Duration?)
  {
    for (status, code) in [(429, "TooManyRequests"), (503, "ServiceUnavailable")] {
      let reason = "APNs \(status) \(code)"
      let expected: NoticeVerdict =
        if let wait, wait > .zero {
          status == 429
            ? .restDevice(for: wait, reason: reason) : .restProvider(for: wait, reason: reason)
        } else {
          .retry(after: wait, reason: reason)
        }
      let reaction = reaction(status, "{\"reason\":\"\(code)\"}", fields: ["Retry-After": field])
      #expect(reaction == .settled(expected))
    }
  }

  @Test func `a reason that is no plain word is not shown`() {
    #expect(
      reaction(500, "{\"reason\":\"a b\\n\"}") == .settled(.retry(after: nil, reason: "APNs 500")))
  }
}
