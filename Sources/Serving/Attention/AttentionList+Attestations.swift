// Lists problems with the services that the server needs to verify attestations.

import AskingGoogle
import Callers
import Platform
import Records
import Trust

extension AttentionList {
  /// The problems with App Check's keys and consumption, and with Play Integrity.
  func attestations(_ generation: Generation, _ now: UnixTime) -> [Attention] {
    var found: [Attention] = []
    let (appCheck, play) = (AttestationType.appCheck.rawValue, AttestationType.playIntegrity.rawValue)
    let keys = generation.appCheck?.keys.status
    let consuming = generation.consumer?.service.status.outage
    let isWell = keys?.isWell != false && consuming == nil
    if let trouble = troubles.note(.attestation, appCheck, isThere: !isWell, at: now) {
      found.append(
        Attention(
          .attestation, since: trouble.since, count: trouble.hits,
          consuming != nil
            ? "Google does not consume App Check tokens (\(consuming?.rawValue ?? "")), so no phone can enroll with one."
            : keys?.keys == 0
              ? "The server has no App Check keys, so it cannot verify App Check tokens."
              : "The server cannot fetch the App Check keys from Google. It uses its last keys for at most a day.",
          action: "Check egress, DNS and the service account; run callgate doctor."))
    }
    let status = generation.play?.decoder.service.status
    let outage = status?.outage
    if let trouble = troubles.note(.attestation, play, isThere: outage != nil, at: now) {
      let (text, action) = Self.words(outage ?? .unreachable)
      found.append(
        Attention(
          .attestation, since: trouble.since, until: after(status?.rest, now), count: trouble.hits, text,
          action: action))
    }
    return found
  }

  private static func words(_ outage: AttestationOutage) -> (text: String, action: String) {
    switch outage {
    case .keys, .unreachable:
      (
        "Google Play Integrity does not respond, so the server cannot verify Android phones.",
        "The server tries again with the next phone. If it persists, check egress and DNS and run callgate doctor."
      )
    case .quota:
      (
        "The Play Integrity quota is used up, so the server cannot verify Android phones.",
        "Request a larger quota in the Play Console."
      )
    case .refused:
      (
        "Google rejected this server's account for Play Integrity, so the server cannot verify Android phones.",
        "Link the service account's project in the Play Console, correct its file and reload; run callgate doctor."
      )
    case .nonsense:
      (
        "Google Play Integrity returned an unexpected response.",
        "Check attestation.play_integrity.url; run callgate doctor."
      )
    }
  }
}
