// How `callgate doctor` checks the push providers.

import Callers
import Configuration
import JOSE
import Notices
import Platform

extension Doctor {
  /// Reports what can be checked of each push provider without a notification, which would reach a real
  /// device: an access token of Google for FCM, and a signature for APNs. Nothing is sent to a webhook.
  mutating func reportNotices() async {
    guard let notices = configuration.notices else { return }
    if let fcm = notices.fcm { await reportFCM(fcm) }
    if let apns = notices.apns { reportAPNs(apns) }
    if let http = notices.http {
      report.ok(
        "webhooks",
        "push notifications go to \(KeySource.name(of: http.url)), signed; doctor does not send one")
    }
  }

  private mutating func reportFCM(_ settings: FCMSettings) async {
    let sender = FCMSender(settings, transport: transport, time: clock)
    let failure = await sender.check()
    switch failure?.verdict {
    case .stopSender(let reason)?:
      report.fail(
        "fcm", reason,
        fix: Self.clockFirst(failure) + "get the service account's file in the Firebase console again",
        .configuration)
    case .retry(_, let reason)?, .restProvider(_, let reason)?, .restDevice(_, let reason)?:
      report.fail(
        "fcm", reason,
        fix: "check that this machine can reach Google; until then no push notification is sent through FCM",
        .unreachable)
    case nil, .taken?, .deviceGone?, .giveUp?:
      report.ok("fcm", "Google issued an access token for the project \(settings.projectID)")
    }
  }

  /// The first part of a fix if Google may have refused an assertion because of its times; otherwise empty.
  static func clockFirst(_ failure: GoogleTokens.Failure?) -> String {
    failure?.mayBeOfClock == true ? "\(clockFix); if the refusal persists: " : ""
  }

  private mutating func reportAPNs(_ settings: APNsSettings) {
    do throws(OpenSSLError) {
      try settings.checkSigning(clock)
      report.ok(
        "apns", "the key is valid; APNs confirms it for \(settings.topic) with the first notification")
    } catch {
      report.fail(
        "apns", "the key cannot sign: \(error)", fix: "check notices.apns.key_file", .configuration)
    }
  }
}
