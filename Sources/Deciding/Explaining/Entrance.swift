// Finds the caller and the app of a hypothetical request, as the server does before stops and rules.

import Callers
package import Configuration
package import Documents
package import Gate
import Installations
import Texts

/// The part of a hypothetical request that the configuration alone decides.
package struct Entrance: Sendable {
  /// The facts, with the caller and the installation as the rules see them. For a request of an installation,
  /// or an enrollment, the app is the installation's. Otherwise it is the app that the request names.
  package var facts: Facts
  /// The app of the installation that sends the request, or of an enrollment that no user authorizes. The
  /// app's `callers` need not list either of them.
  package var installedFor: String?
  /// Whether the caller has a subject of its own. Also true if the question names no caller.
  package var hasOwnSubject = true
  /// Whether the caller is an installation. Also true if the question names no caller.
  package var isInstallation = true
  /// The reason why the credential is refused; nil if it is accepted, or if none is needed.
  package var unauthenticated: String?
  /// The code and the reason of a refusal after the stops and before the rules; nil if there is none.
  package var refusal: (code: DenialCode, reason: String)?
}

extension Configuration {
  /// Resolves the caller and the app of a request.
  ///
  /// - Parameters:
  ///   - facts: The facts that the request itself contains. The caller is nil if the question names none. The
  ///     app is the one that the request names.
  ///   - owner: The caller whose user owns the installation that sends the request; nil if none is named.
  /// - Throws: The first member that is missing, names something unknown, or contradicts another member.
  package func entrance(_ facts: Facts, owner: String?) throws(Refusal) -> Entrance {
    var entrance = Entrance(facts: facts)
    entrance.hasOwnSubject =
      facts.callerID == nil || facts.isInstallations || hasUsers(facts.callerID)
    entrance.isInstallation = facts.callerID == nil || facts.isInstallations
    let isInstallation = facts.isInstallations && facts.action != .enrol
    guard isInstallation || owner == nil else {
      throw Refusal(
        at: "owner", "only an installation has an owner", "write the caller \"installation\", or remove it")
    }
    if isInstallation {
      try entrance.install(
        owner: try self.owner(owner, of: facts.subject), appWithInstallations(named: facts.appID),
        isThere: apps.contains { $0.installations != nil })
    } else if facts.action == .enrol {
      try entrance.enrol(for: appWithInstallations(named: facts.appID), isUser: hasUsers(facts.callerID))
    } else if facts.callerID?.hasSameBytes(as: Caller.anonymousID) == true, refusesAnonymous {
      entrance.unauthenticated = Explanation.noCredential
    }
    return entrance
  }

  /// The app that a request names, and its terms for installations, if it has any. Without a name, falls back
  /// to the only app with installations. If several apps have installations, falls back to the sandbox's
  /// sample app; without one, the request must name the app.
  private func appWithInstallations(named name: String?) throws(Refusal) -> (
    id: String, terms: InstallationTerms?
  ) {
    if let name { return (name, apps.first { $0.id.hasSameBytes(as: name) }?.installations) }
    let candidates = apps.filter { $0.installations != nil }
    guard let app = candidates.count == 1 ? candidates[0] : candidates.first(where: { $0.id == enrolmentApp })
    else {
      throw Refusal(
        at: "app", candidates.isEmpty ? "no app has installations" : "several apps have installations",
        candidates.isEmpty ? "give an app installations" : "name the app")
    }
    return (app.id, app.installations)
  }

  /// The caller of the user who authorized an installation. Nil for an installation without a user, which an
  /// operator or an attestation alone authorized.
  private func owner(_ owner: String?, of subject: String?) throws(Refusal) -> String? {
    guard subject != nil else {
      guard owner == nil else {
        throw Refusal(
          at: "owner", "there is no user without a subject", "name the user with subject, or remove it")
      }
      return nil
    }
    let users = callers.map(\.id).filter(hasUsers)
    // Use the sandbox's own users only if they are named, or if there are no others.
    let others = users.filter { !$0.hasSameBytes(as: Caller.sandboxUsersID) }
    let candidates = owner == nil && !others.isEmpty ? others : users
    if let owner {
      guard candidates.contains(exactly: owner) else { throw .unknown(at: "owner", owner, known: candidates) }
      return owner
    }
    guard let only = candidates.first, candidates.count == 1 else {
      throw Refusal(
        at: "subject",
        candidates.isEmpty ? "no caller has users who authorize installations" : "several callers have users",
        candidates.isEmpty
          ? "remove it: an operator's installation is its own subject" : "name the user's caller with owner")
    }
    return only
  }

  /// Whether the users of a caller authenticate with a JWT.
  private func hasUsers(_ callerID: String?) -> Bool {
    callers.contains { callerID?.hasSameBytes(as: $0.id) == true && $0.hasUsers }
  }
}

extension Facts {
  /// Whether the caller is `installation`, which all installations share.
  fileprivate var isInstallations: Bool { callerID?.hasSameBytes(as: Caller.installationID) == true }
}

extension Entrance {
  /// The ID used if the request names no installation.
  private static let unnamed = "00000000-0000-0000-0000-000000000000"

  /// Completes the facts for a request of an installation, which belongs to its app.
  ///
  /// - Parameter isThere: Whether any app has installations.
  fileprivate mutating func install(
    owner: String?, _ app: (id: String, terms: InstallationTerms?), isThere: Bool
  ) {
    let id = facts.installation?.id ?? Self.unnamed
    facts.installation = InstallationFacts(id: id, callerID: owner)
    facts.subject = facts.subject ?? id
    (facts.appID, installedFor) = (app.id, app.id)
    guard app.terms == nil else { return }
    if isThere {
      refusal = (
        .denied, "an installation may use only its own app, and the app \(app.id) has no installations"
      )
    } else {
      unauthenticated = "no app has installations"
    }
  }

  /// Completes the facts for a phone that enrolls, with a user's JWT or without one. The server ignores every
  /// other credential.
  fileprivate mutating func enrol(for app: (id: String, terms: InstallationTerms?), isUser: Bool) {
    facts.appID = app.id
    let isUser = isUser && app.terms?.authorize.contains(.user) != false
    if !isUser {
      (facts.callerID, facts.subject, installedFor) = (nil, nil, app.id)
    }
    guard let terms = app.terms else {
      refusal = (.denied, "the app \(app.id) has no installations")
      return
    }
    guard isUser || terms.makesUsers else {
      refusal = (
        .unauthenticated, "the app \(app.id) requires the JWT of a user who authorizes the installation"
      )
      return
    }
  }
}
