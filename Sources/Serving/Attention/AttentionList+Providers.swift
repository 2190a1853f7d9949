// Lists problems with other services: chat desks, push notification providers, and issuers of the tokens of
// callers and operators.

import Callers
import ChatDesk
import Notices
import Platform
import PushDelivery
import Records
import Store
import Tokens

extension AttentionList {
  /// Each chat desk whose last request failed in a way that concerns all users.
  func desks(_ generation: Generation, _ now: UnixTime) -> [Attention] {
    troubles.forget(.desk, besides: Set(generation.desks.keys))
    return generation.desks.sorted { $0.key < $1.key }.compactMap { name, desk in
      let status = desk.source.status
      let isWell = status.isWell && desk.tickets?.source.isWell != false
      guard let trouble = troubles.note(.desk, name, isThere: !isWell, at: now) else { return nil }
      let cause = status.latest?.failure?.cause.words(for: "Sendbird") ?? "Sendbird does not accept tickets"
      return Attention(
        .desk, since: trouble.since, until: after(status.coolDown, now), count: trouble.hits,
        "The chat desk “\(name)” fails, so its users get no chat tokens: \(cause).",
        action: "Check Sendbird's status page and the desk's token; run callgate doctor.")
    }
  }

  /// Each push notification provider that is stopped, paused or failing.
  func providers(_ generation: Generation, _ now: UnixTime) -> [Attention] {
    guard let senders = generation.push?.senders else { return [] }
    return senders.platforms.compactMap { platform in
      let name = platform.rawValue
      let (isStopped, rest) = (senders.isStopped(platform), senders.rest(platform))
      let cause = troubles.present(.push, name)?.cause ?? ""
      guard
        let trouble = troubles.note(.push, name, isThere: isStopped || rest != nil || !cause.isEmpty, at: now)
      else { return nil }
      let text =
        isStopped
        ? "\(platform.words) rejected this server's push credentials. No push notifications are sent through it."
        : rest != nil
          ? "\(platform.words) asked for a pause. No push notifications are sent through it."
          : "No push notifications are sent through \(platform.words): \(cause)."
      return Attention(
        .push, since: trouble.since, until: after(rest, now), count: trouble.hits, text,
        action: isStopped
          ? "Run callgate doctor, fix the provider's settings and reload."
          : "The server retries automatically. If it persists, run callgate doctor.")
    }
  }

  /// Each issuer whose keys the server lacks or could not fetch.
  func issuers(_ generation: Generation, _ now: UnixTime) -> [Attention] {
    troubles.forget(.issuer, besides: Set(generation.issuers.map(\.name)))
    return generation.issuers.compactMap { name, keys in
      let status = keys.status
      guard let trouble = troubles.note(.issuer, name, isThere: !status.isWell, at: now) else {
        return nil
      }
      return Attention(
        .issuer, since: trouble.since, count: trouble.hits,
        status.keys == 0
          ? "The server has no keys from the issuer of \(name), so it rejects that issuer's tokens."
          : "The issuer of \(name) does not respond. The server uses its last keys.",
        action: "Check the issuer's key set, egress and DNS; run callgate doctor.")
    }
  }
}

extension PushPlatform {
  /// The provider's name in a sentence.
  fileprivate var words: String {
    switch self {
    case .fcm: "FCM"
    case .apns: "APNs"
    case .http: "the webhook (http)"
    }
  }
}
