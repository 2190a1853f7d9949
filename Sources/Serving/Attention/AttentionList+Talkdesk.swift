// Lists problems with Talkdesk: its identity service, its Callback API, its number lookups, and the server's
// credential with the service that signs for it.

import Callers
import Configuration
import Deciding
import Delivery
import Gate
import Platform
import Records
import Tokens

extension AttentionList {
  /// The problem of Talkdesk ID or of the service that signs (Vault or OpenBao), from the last exchange for
  /// each scope, and the problem of the next key of a rotation.
  func talkdeskID(_ generation: Generation, _ now: UnixTime) -> [Attention] {
    let status = generation.scopes.configured(runtime.tokens.status)
    let failures = status.scopes.compactMap {
      scope -> (scope: TokenSourceStatus.Scope, error: TokenExchangeError)? in
      guard case .failure(let error) = scope.lastRequest?.outcome, error.isOfProvider else { return nil }
      return (scope, error)
    }
    let hasAccount = generation.configuration.talkdesk.upstream != nil
    var entries: [Attention] = []
    let refused = failures.first { Cooldown.kind(of: $0.error) == .credential }
    if let failure = refused ?? failures.first, hasAccount,
      let trouble = troubles.note(.talkdeskID, isThere: true, at: now)
    {
      let pause = failures.compactMap(\.scope.coolDown?.remaining).max()
      let isPartial = failures.count < status.scopes.count { $0.lastRequest != nil }
      let scopes = isPartial ? " (scope \(failure.scope.scope))" : ""
      let cached = status.scopes.contains { $0.expiresIn != nil }
      entries.append(
        Attention(
          refused == nil ? .talkdeskID : .credential, since: trouble.since, until: after(pause, now),
          count: trouble.hits, "\(failure.error)\(scopes).",
          action: failure.error.isOfSigner
            ? "Check Vault or OpenBao (sealed, login, policy); run callgate doctor. The server retries automatically."
              + (cached ? " Cached tokens are served until they expire." : "")
            : refused == nil
              ? "Check Talkdesk's status page, egress, DNS and proxy; run callgate doctor. The server retries automatically."
                + (cached ? " Cached tokens are served until they expire." : "")
              : "Run callgate doctor: it shows the cause and the fix. Waiting does not help."))
    } else {
      troubles.ended(.talkdeskID)
    }
    let next = status.credentials.first { $0.role == .next && $0.state == .refused }
    if let next, hasAccount, let trouble = troubles.note(.nextKey, isThere: true, at: now) {
      entries.append(
        Attention(
          .nextKey, since: trouble.since, until: after(next.retryIn, now), count: trouble.hits,
          "Talkdesk ID rejects the next key \(next.name). The server uses the current key.",
          action: "Compare key id and algorithm with Talkdesk's; run callgate doctor."))
    } else {
      troubles.ended(.nextKey)
    }
    return entries
  }

  /// The problem of the lookup of numbers, if the last lookup failed.
  func screening(_ generation: Generation) -> [Attention] {
    guard generation.configuration.numbers?.screening != nil, generation.decider.policy.asksScreening,
      let trouble = troubles.present(.screening)
    else { return [] }
    return [
      Attention(
        .screening, since: trouble.since, count: trouble.hits,
        "Numbers cannot be checked before they are called: \(trouble.cause).",
        action:
          "Run callgate doctor: it names missing scopes and unknown lists. Until then on_failure decides.")
    ]
  }

  /// The problem of the Callback API, if the last callback met one there, and the end of its pause.
  func callbackAPI(_ generation: Generation, _ now: UnixTime) -> [Attention] {
    guard generation.configuration.talkdesk.upstream != nil, let trouble = troubles.present(.callbackAPI)
    else { return [] }
    let pause = runtime.callbacks.queue.pause
    let waits = pause == nil ? "" : " The server sends nothing until the pause ends."
    return [
      Attention(
        .callbackAPI, since: trouble.since, until: after(pause, now), count: trouble.hits,
        "Talkdesk's Callback API \(trouble.cause).\(waits)",
        action: "Check Talkdesk's status page, egress, DNS and proxy; run callgate doctor. "
          + "The server tries again with the next callback.")
    ]
  }
}
