// Lists the services without which attestations cannot be judged.

import AskingGoogle
import Callers
import Platform
import Records
import Trust

extension AttentionList {
  /// App Check's keys, and Play Integrity.
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
            ? "Google does not consume tokens of App Check (\(consuming?.rawValue ?? "")), so no phone enrols by one."
            : keys?.keys == 0
              ? "The server has no keys of App Check, so it cannot judge tokens of App Check."
              : "Google does not give the keys of App Check. The server uses its last keys for a day at most.",
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
        "Google's Play Integrity does not answer, so the server cannot judge tokens of Android phones.",
        "The server asks again with the next phone. Check egress and DNS if it lasts; run callgate doctor."
      )
    case .quota:
      (
        "The quota of Play Integrity is used up, so the server cannot judge tokens of Android phones.",
        "Ask for a larger quota in the Play Console."
      )
    case .refused:
      (
        "Google refuses this server's account for Play Integrity, so the server cannot judge tokens of Android phones.",
        "Link the service account's project in the Play Console, correct its file and reload; run callgate doctor."
      )
    case .nonsense:
      (
        "Google's Play Integrity answers with something that is no verdict.",
        "Check attestation.play_integrity.url; run callgate doctor."
      )
    }
  }
}
