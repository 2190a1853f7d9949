// How `callgate doctor` checks the clock, the credentials and the scopes.

import Callers
import Configuration
import Documents
import HTTP
import JOSE
import Platform
import Talkdesk
import Tokens

extension Doctor {
  /// The clock difference, in seconds, up to which doctor reports no exact number.
  private static let closeEnough: Int64 = 5
  static let clockFix =
    "synchronize the clock: timedatectl set-ntp true, or chrony; in a container, on its host"

  private var signsAssertions: Bool {
    client.credentials.contains { if case .secret = $0 { false } else { true } }
  }

  /// Compares this machine's clock with the `Date` of Talkdesk's responses, and reports the effect of the
  /// difference. This is a failure only if Talkdesk refused every assertion and the clock may be the reason.
  mutating func reportClock(_ trials: [Trial]) {
    let skew = trials.lazy.compactMap({ $0.report?.clockSkew }).first
    // A refused scope says nothing about the assertion.
    if signsAssertions,
      trials.allSatisfy({ trial in trial.refusal.map { $0.code != "invalid_scope" } ?? false }),
      let doubt = trials.lazy.compactMap({ trial in
        ClockDoubt(
          ahead: trial.report?.clockSkew?.components.seconds, words: trial.report?.errorDescription)
      }).first
    {
      let found =
        switch doubt {
        case .difference(let ahead): difference(ahead)
        case .said: doubt.words(for: "Talkdesk")
        }
      return report.fail("clock", found, fix: "\(Self.clockFix); fix this first", .refused)
    }
    guard let skew else {
      return report.skip("clock", "the response has no Date header to compare with")
    }
    let behind = skew.components.seconds
    let amount = abs(behind)
    guard amount > TokenRequestReport.tolerableClockSkew.components.seconds else {
      return report.ok(
        "clock",
        amount <= Self.closeEnough
          ? "within \(Self.closeEnough) s of Talkdesk's"
          : "\(amount) s \(behind > 0 ? "behind" : "ahead of") Talkdesk's, which is harmless")
    }
    report.warn("clock", difference(behind), fix: Self.clockFix)
  }

  /// A difference between the clocks and its effect on assertions.
  /// - Parameter behind: The seconds by which this machine's clock is behind; negative if it is ahead.
  private func difference(_ behind: Int64) -> String {
    let margin = JWS.issuedAtMargin
    let life = ClientAssertion.maximumLifetime - margin
    let effect =
      !signsAssertions
      ? "the server checks callers' JWTs with this clock"
      : behind >= life
        ? "every assertion has expired when it arrives (exp is \(life) s after it is signed)"
        : behind > 0
          ? "an assertion has \(life - behind) s left of its \(life) s when it arrives"
          : -behind > margin
            ? "iat is in the future for Talkdesk, which may refuse it"
            : "iat is in the past all the same: assertions are dated \(margin) s back"
    return "this machine is \(behind.magnitude) s \(behind > 0 ? "behind" : "ahead of") Talkdesk: \(effect)"
  }

  /// Reports whether each credential works. If none got a token, requests a token without a scope for each
  /// refused one, to tell a refused scope from a refused credential.
  mutating func reportCredentials(_ trials: [Trial]) async {
    let isServed = trials.contains { $0.token != nil }
    var granted: String?
    var isScopeReported = false
    for (place, trial) in trials.enumerated() {
      let name = title(trial)
      switch trial.result {
      case .success(let token):
        report.ok("credential", "\(name) is accepted")
        granted = token.scope
      case .failure(.unusableReply(.scope(let missing))):
        report.ok("credential", "\(name) is accepted")
        reportMissingScope("the token lacks \(missing)", has: nil)
        isScopeReported = true
      case .failure(.refused(let status, let code)):
        // Only a token for a request without a scope proves that Talkdesk accepts the credential.
        let open = isServed ? nil : await attempt(trial.credential, trial.role, scope: "").token
        if let open {
          report.ok("credential", "\(name) is accepted")
          reportMissingScope(
            "\(quoted(trial.scope)) is refused (\(Self.words(status, code, trial)))", has: open.scope)
          isScopeReported = true
        } else {
          reportRefusal(trial, status, code, isServed: isServed)
        }
      case .failure(let error):
        // The earlier checks have already reported the first credential's error.
        if place > 0 { reportUnjudged(trial, error, isServed: isServed) }
      }
    }
    if let granted, !isScopeReported {
      report.ok("scope", granted + Self.uses(of: granted, ", for ") + needOfSDK)
    }
  }

  private mutating func reportMissingScope(_ found: String, has scopes: String?) {
    report.fail(
      "scope", found + (scopes.map { ": the client has \($0)" } ?? ""),
      fix:
        "add it to the OAuth client in Talkdesk (Builder, OAuth Clients) and wait some minutes, or set TD_SCOPE to "
        + "what the client has", .refused)
  }

  /// A hint if no configured scope is for Talkdesk's Mobile SDK; otherwise empty. Without the hint, the
  /// missing scope would show only at an app's first interaction.
  private var needOfSDK: String {
    let asked = [configuration.talkdesk.scope] + configuration.apps.compactMap(\.scope)
    let isAsked = asked.contains { $0.split(separator: " ").contains { $0 == TokenScopes.mobileSDK } }
    return isAsked
      ? "" : "; an app with Talkdesk's Mobile SDK needs \(TokenScopes.mobileSDK) (apps.*.scope, or TD_SCOPE)"
  }

  /// The known uses of a token's scopes.
  private static func uses(of scopes: String, _ link: String) -> String {
    let uses = scopes.split(separator: " ").compactMap { scope in
      switch scope {
      case TokenScopes.callbackWrite: "callbacks"
      case TokenScopes.mobileSDK: "interactions of Talkdesk's Mobile SDK"
      default: nil
      }
    }
    return uses.isEmpty ? "" : link + uses.joined(separator: " and ")
  }

  /// Requests tokens with the scopes for callbacks and for apps, if they differ from the configured scope,
  /// using a credential that works. Also warns if no number is configured for callbacks.
  mutating func reportFurtherScopes(with trial: Trial) async {
    reportNumbers()
    var asked: Set<String> = [trial.scope]
    if !TokenScopes.allowsCallbacks(trial.scope) {
      asked.insert(TokenScopes.callbackWrite)
      await reportCallbackScope(with: trial)
    }
    for app in configuration.apps {
      guard let scope = app.scope, asked.insert(scope).inserted else { continue }
      let further = await attempt(trial.credential, trial.role, scope: scope)
      if let token = further.token {
        report.ok("scope", "\(token.scope), for app \(app.id)\(Self.uses(of: token.scope, ": "))")
      } else if let (status, code) = further.refusal {
        report.fail(
          "scope", "\(quoted(scope)), for app \(app.id), is refused (\(Self.words(status, code, further)))",
          fix: "add it to the OAuth client in Talkdesk and wait some minutes, or change apps.\(app.id).scope",
          .refused)
      } else if let error = further.error {
        report.fail(
          "scope", "\(quoted(scope)), for app \(app.id): \(error)",
          fix: "add it to the OAuth client in Talkdesk, or ask again",
          { if case .unusableReply(.scope) = error { .refused } else { .unreachable } }())
      }
    }
  }

  /// Warns if the configured scope allows callbacks but no Talkdesk number is configured. Then each callback
  /// request must name one.
  private mutating func reportNumbers() {
    guard TokenScopes.allowsCallbacks(configuration.talkdesk.scope), !hasNumbers else { return }
    report.warn(
      "callbacks", "no Talkdesk number is configured, so each request for a callback must name one",
      fix:
        "set TD_PHONE_NUMBER, or callbacks.talkdesk_phone_numbers; ignore it if your apps only fetch tokens")
  }

  private var hasNumbers: Bool {
    !configuration.callbacks.talkdeskPhoneNumbers.isEmpty
      || configuration.apps.contains { !$0.talkdeskPhoneNumbers.isEmpty }
  }

  /// Requests a token with the scope for callbacks, which `TD_SCOPE` lacks. If Talkdesk issues none, this is
  /// a failure only if numbers are configured or an app has this scope; otherwise it is a warning.
  private mutating func reportCallbackScope(with trial: Trial) async {
    let scope = TokenScopes.callbackWrite
    let isMeant = hasNumbers || configuration.apps.contains { $0.scope == scope }
    let further = await attempt(trial.credential, trial.role, scope: scope)
    guard let error = further.error else { return report.ok("scope", "\(scope), for callbacks") }
    let isRefusal =
      switch error {
      case .refused, .unusableReply(.scope): true
      case .rateLimited, .unavailable, .redirected, .failed, .unusableReply, .timedOut, .transport,
        .signingFailed, .signer:
        false
      }
    let found =
      further.refusal.map { "is refused (\(Self.words($0.status, $0.code, further)))" }
      ?? "could not be fetched: \(error)"
    let fix =
      isRefusal
      ? "add it to the OAuth client in Talkdesk (Builder, OAuth Clients) and wait some minutes; until then every callback "
        + "is refused" : "run doctor again: this check has no result"
    let what = "\(quoted(scope)), which callbacks need whatever TD_SCOPE is, \(found)"
    if isMeant {
      report.fail("scope", what, fix: fix, isRefusal ? .refused : .unreachable)
    } else {
      report.warn("scope", what, fix: "\(fix); ignore this if you do not use callbacks")
    }
  }

  private mutating func reportRefusal(_ trial: Trial, _ status: Int, _ code: String?, isServed: Bool) {
    let found = "\(title(trial)) is refused (\(Self.words(status, code, trial)))"
    if isServed {
      switch trial.role {
      case .next:
        report.warn(
          "credential", "\(found); the server uses the current key",
          fix:
            "wait some minutes until Talkdesk knows it, then compare it with the key line above"
        )
      case .current:
        report.warn(
          "credential", "\(found); the server uses the next key",
          fix: "finish the rotation: make the next key the current one (docs/operate/keys.md)")
      }
      return
    }
    func isAtFault(_ check: String) -> Bool {
      report.findings.contains { $0.check == check && $0.status == .fail }
    }
    report.fail(
      "credential", found,
      fix: (isAtFault("clock") ? "set the clock first; if the refusal persists: " : "")
        + (isAtFault("signer") ? "set the signer's key_version first; if the refusal persists: " : "")
        + Self.remedy(code, trial.credential, isDescribed: trial.report?.errorDescription != nil),
      .refused)
  }

  /// Reports a credential that Talkdesk ID neither accepted nor refused.
  private mutating func reportUnjudged(_ trial: Trial, _ error: TokenExchangeError, isServed: Bool) {
    let found = "\(title(trial)) could not be checked: \(error)"
    let fix = "run doctor again: this check has no result"
    if isServed {
      report.warn("credential", "\(found); the server uses the other key", fix: fix)
    } else {
      report.fail("credential", found, fix: fix, .unreachable)
    }
  }

  private static func remedy(
    _ code: String?, _ credential: ClientCredential, isDescribed: Bool
  ) -> String {
    switch code {
    case "unauthorized_client", "unsupported_grant_type":
      return "allow the client the grant type client_credentials in Talkdesk (Builder, OAuth Clients)"
    case "access_denied":
      return
        "ask Talkdesk: it knows the client but refuses it, perhaps because of the account's list of allowed addresses"
    default: break
    }
    switch credential {
    case .secret(let clientID, _):
      return
        (isDescribed
        ? "start with Talkdesk's words above: "
        : "Talkdesk does not say whether client id or secret is wrong: ")
        + "compare the client id (\(clientID)), copy the secret again, and check TD_REGION; an account of another "
        + "region gets the same response"
    case .signedJWT(let clientID, let keyID, let signer):
      return remedy(clientID, keyID, signer.algorithm, isDescribed: isDescribed)
    case .transit(let clientID, let keyID, let signer):
      return remedy(clientID, keyID, signer.algorithm, isDescribed: isDescribed)
    }
  }

  private static func remedy(
    _ clientID: String, _ keyID: String, _ algorithm: SignatureAlgorithm, isDescribed: Bool
  ) -> String {
    (isDescribed
      ? "start with Talkdesk's words above, and" : "Talkdesk does not say which of these is wrong, so")
      + " compare each with the OAuth client there: client id "
      + "(\(clientID)), key id (\(keyID)), algorithm (\(algorithm.rawValue)), the public key (by the SHA-256 above), "
      + "and TD_REGION; Talkdesk needs some minutes to accept a new client or key"
  }

  private func title(_ trial: Trial) -> String {
    if case .secret = trial.credential { return "the client secret" }
    return client.credentials.count > 1
      ? "the \(trial.role.rawValue) key \(trial.credential.name)" : "key \(trial.credential.name)"
  }

  /// The status and Talkdesk ID's words: bounded, printable, and never with a run of characters as long as a
  /// credential.
  private static func words(_ status: Int, _ code: String?, _ trial: Trial) -> String {
    let description = trial.report?.errorDescription.map { "\(quoted($0, limit: 200)), " } ?? ""
    return "\(description)status \(status)\(code.map { " \($0)" } ?? "")"
  }
}
