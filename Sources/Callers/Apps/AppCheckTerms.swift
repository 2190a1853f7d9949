// The terms on which apps must prove that they are genuine: App Check tokens for requests, attestations for
// enrollments.

package import HTTP
import Texts
package import Trust

/// The terms for an app's App Check tokens, in its requests or in its enrollments.
package struct AppCheckTerms: Sendable {
  /// What happens to a request without a valid token.
  package let mode: AttestationMode
  /// The accepted Firebase app ids, in the order of the configuration.
  package let appIDs: [String]
  private let known: Set<ExactText>

  package init(mode: AttestationMode, appIDs: [String]) {
    self.mode = mode
    self.appIDs = appIDs
    known = Set(appIDs.map { ExactText($0) })
  }

  /// The combined terms of several apps. A token of any of them passes. The mode is `enforce` only if all of
  /// them enforce.
  init(anyOf terms: [AppCheckTerms]) {
    self.init(
      mode: terms.allSatisfy { $0.mode == .enforce } ? .enforce : .audit, appIDs: terms.flatMap(\.appIDs))
  }

  /// The result for a verified token. It passes if it belongs to this app.
  func result(of claims: AppCheckClaims) -> AttestationResult {
    known.contains(ExactText(claims.appID)) ? .passed : .failed(.wrongApp)
  }
}

/// The terms on which enrolling a phone needs an attestation.
package struct AttestedTerms: Sendable {
  /// What happens to a request without a valid attestation.
  package let mode: AttestationMode
  /// How many installations a day attestation alone may approve.
  package let perDay: Int
  /// The terms for App Check tokens; nil if the app does not accept them.
  package let appCheck: AppCheckTerms?
  /// The terms for App Attest attestations (iOS); nil if the app does not accept them.
  package let appAttest: AppAttestTerms?
  /// The terms for Play Integrity tokens (Android); nil if the app does not accept them.
  package let play: PlayIntegrityTerms?

  package init(
    mode: AttestationMode, perDay: Int, appIDs: [String], appAttest: AppAttestTerms? = nil,
    play: PlayIntegrityTerms? = nil
  ) {
    self.mode = mode
    self.perDay = perDay
    appCheck = appIDs.isEmpty ? nil : AppCheckTerms(mode: mode, appIDs: appIDs)
    self.appAttest = appAttest
    self.play = play
  }

  /// The types of attestation that the app accepts.
  package var types: [AttestationType] {
    AttestationType.allCases.filter { type in
      switch type {
      case .appCheck: appCheck != nil
      case .appAttest: appAttest != nil
      case .playIntegrity: play != nil
      }
    }
  }
}

extension AppRegistry {
  /// The App Check terms for an authenticated request, and its app if it has one. Nil if the request needs no
  /// token.
  ///
  /// If every app of a caller has App Check, a request without an app's name needs a token of any of these
  /// apps. Otherwise, leaving out the name would bypass the check. A name that matches no app of the caller
  /// counts as no name, because some endpoints never read it.
  package func appCheck(named name: Request.QueryItem, by caller: Caller) -> (App?, AppCheckTerms)? {
    guard demandsAppCheck else { return nil }
    var claim = claim(named: name, by: caller.id, installedFor: caller.installedFor)
    if case .admitted = claim {
    } else {
      claim = self.claim(named: .absent, by: caller.id, installedFor: caller.installedFor)
    }
    guard case .admitted(let app) = claim else { return nil }
    guard app == nil else { return app?.appCheck.map { (app, $0) } }
    let takers = apps(taking: caller.id)
    let terms = takers.compactMap(\.appCheck)
    guard !terms.isEmpty, terms.count == takers.count else { return nil }
    return (nil, AppCheckTerms(anyOf: terms))
  }
}
