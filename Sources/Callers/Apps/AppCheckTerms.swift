// The terms by which an app has to prove that it is genuine, and which of them hold for a request.

package import HTTP
import Texts
package import Trust

/// The terms by which an app's requests need a token of App Check.
package struct AppCheckTerms: Sendable {
  /// What becomes of a request without a good one.
  package let mode: AttestationMode
  /// The Firebase app ids that are the app, in the order written.
  package let appIDs: [String]
  private let known: Set<ExactText>

  package init(mode: AttestationMode, appIDs: [String]) {
    self.mode = mode
    self.appIDs = appIDs
    known = Set(appIDs.map { ExactText($0) })
  }

  /// The terms where each of several apps would do.
  init(anyOf terms: [AppCheckTerms]) {
    self.init(
      mode: terms.allSatisfy { $0.mode == .enforce } ? .enforce : .audit, appIDs: terms.flatMap(\.appIDs))
  }

  /// Whether a token that is Google's is this app's.
  func result(of claims: AppCheckClaims) -> AttestationResult {
    known.contains(ExactText(claims.appID)) ? .passed : .failed(.wrongApp)
  }
}

/// The terms by which an app's first requests for an installation need an attestation.
package struct AttestedTerms: Sendable {
  /// What becomes of a request without a good one.
  package let mode: AttestationMode
  /// How many installations a day an attestation alone may make.
  package let perDay: Int
  /// The Firebase app ids that are the app; nil where it takes no tokens of App Check.
  package let appCheck: AppCheckTerms?
  /// The app on iOS; nil where it takes no attestations of App Attest.
  package let appAttest: AppAttestTerms?
  /// The app on Android; nil where it takes no tokens of Play Integrity.
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

  /// The types that the app takes.
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
  /// The terms of App Check for a request that is authenticated; nil where none are judged.
  ///
  /// A request that names no app, of a caller that only apps with App Check take, needs a token of any of them: leaving the name
  /// out must not open what each app closes. Nor must a name that is no app of the caller's: some endpoints never look at it.
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
