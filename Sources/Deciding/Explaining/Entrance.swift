// Finds the caller and the app of a hypothetical request, as the server does before the kill switch and the rules.

import Callers
package import Configuration
package import Documents
package import Gate
import Installations
import Texts

/// A hypothetical request, as far as the configuration alone decides about it.
package struct Entrance: Sendable {
  /// The facts, with the caller and the installation as the rules see them. The app is the one that the request is for only if an
  /// installation asks or is enrolled.
  package var facts: Facts
  /// The app of the installation that asks, or of an enrolment that an operator authorizes: the app's `callers` need not list them.
  package var installedFor: String?
  /// Whether the caller has a subject of its own. True where only the rules are asked.
  package var hasOwnSubject = true
  /// Whether the caller is an installation. True where only the rules are asked.
  package var isInstallation = true
  /// Why the credential is refused; nil if it is right, or if none is needed.
  package var unauthenticated: String?
  /// Why the request is refused after the kill switch and before the rules.
  package var refusal: (code: DenialCode, reason: String)?
}

extension Configuration {
  /// The entrance of a request.
  ///
  /// - Parameters:
  ///   - facts: The request's own facts. The caller is nil if the question concerns the rules only. The app is the named one.
  ///   - owner: The caller of the user whose installation asks, if it is named.
  /// - Throws: The members that are missing or contradict each other.
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

  /// The app that a request names, or else the only one with installations; and its terms, if it has some. Of several it
  /// is the sandbox's sample, if that is there.
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

  /// The caller of the user who authorized an installation; nil if an operator did.
  private func owner(_ owner: String?, of subject: String?) throws(Refusal) -> String? {
    guard subject != nil else {
      guard owner == nil else {
        throw Refusal(
          at: "owner", "there is no user without a subject", "name the user with subject, or remove it")
      }
      return nil
    }
    let users = callers.map(\.id).filter(hasUsers)
    // The sandbox's own users are meant only where they are named, or no others are there.
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

  /// Whether a caller's users prove themselves, by a JWT.
  private func hasUsers(_ callerID: String?) -> Bool {
    callers.contains { callerID?.hasSameBytes(as: $0.id) == true && $0.hasUsers }
  }
}

extension Facts {
  /// Whether the caller is the one of every installation.
  fileprivate var isInstallations: Bool { callerID?.hasSameBytes(as: Caller.installationID) == true }
}

extension Entrance {
  /// The id of an installation that the request does not name.
  private static let unnamed = "00000000-0000-0000-0000-000000000000"

  /// An installation asks. It belongs to its app.
  ///
  /// - Parameter isThere: Whether there is any installation.
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

  /// A phone asks for an installation: with a user's JWT, or without. The server ignores every other credential.
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
