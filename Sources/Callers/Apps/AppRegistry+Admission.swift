// Decides which requests an app accepts before any rule is evaluated, and lists all possible requests.

package import API
package import Gate
import HTTP
package import Installations
package import Texts

extension AppRegistry {
  /// The refusal of a request whose caller may use the app.
  package struct Objection: Sendable {
    /// The problem for its response.
    package let problem: Problem
    /// The reason, for operators.
    package let reason: String
  }

  /// Checks a request for an admitted app before any rule is evaluated. Returns the refusal, or nil if there
  /// is none.
  ///
  /// - Parameters:
  ///   - app: The app that `claim` admitted; nil if the request has none.
  ///   - hasTalkdesk: Whether there is a Talkdesk credential. A server whose apps all have chat desks needs
  ///     none.
  package func objection(
    to action: Action, of applicant: Applicant, for app: App?, hasTalkdesk: Bool
  ) -> Objection? {
    let caller = applicant.callerID ?? Caller.anonymousID
    guard app != nil || action != .access || !needsName(caller) else {
      return Objection(
        problem: .noAppNamed,
        reason: "every app of caller \(caller) has tokens by push or a chat desk, and the request names none")
    }
    if action == .ticket {
      guard let app else {
        return Objection(
          problem: .noAppNamed,
          reason: "the request names no app, and only an app's chat desk accepts tickets")
      }
      guard app.takesTickets else {
        return Objection(
          problem: Problem(.denied, "This app has no chat desk that accepts tickets."),
          reason: app.desk.map { "the chat desk \($0) of app \(app.id) has no API token for tickets" }
            ?? "the app \(app.id) has no chat desk")
      }
    }
    guard applicant.isInstallation || action != .access || app?.isPushed != true else {
      return Objection(
        problem: Problem(
          .denied, "This app delivers its tokens by push, so only installations can request them."),
        reason: "tokens of the app come by push, and caller \(caller) is no installation")
    }
    let asksDesk = app?.desk != nil && (action == .access || action == .ticket)
    guard applicant.hasOwnSubject || !asksDesk else {
      return Objection(
        problem: Problem(.denied, "This app's chat desk is for signed-in users and installations only."),
        reason: "caller \(caller) has no users, whom the app's chat desk needs")
    }
    // Loading the configuration checks for equal user ids only among the callers that the app lists. Users of
    // other callers, and of a caller that is no longer listed, could share a user id.
    if asksDesk, let app, let ownerID = applicant.ownerID, !lists(ownerID, for: app) {
      return Objection(
        problem: Problem(.denied, "The caller that this installation belongs to is not listed for this app."),
        reason: "caller \(ownerID), whose user has this installation, is not listed for app \(app.id)")
    }
    let needsTalkdesk = action == .callback || action == .access && app?.desk == nil
    guard hasTalkdesk || !needsTalkdesk else {
      return Objection(
        problem: Problem(.denied, "This server has no Talkdesk account. It only serves chat desks."),
        reason: "there is no Talkdesk credential, and the request needs one")
    }
    return nil
  }

  /// The parts of a request that decide whether a rule applies to it.
  package struct PossibleRequest: Hashable, Sendable {
    package let action: Action
    /// Nil for a request without an app.
    @Exact package private(set) var appID: String?
    @Exact package private(set) var callerID: String
    /// Whether the caller has claims: those of a JWT, or an app's description of its installation.
    package let hasClaims: Bool
  }

  /// Every combination of action, app and caller with which a request can reach the rules. Anonymous requests
  /// always count, so that a rule for them can stay while the server does not accept them.
  ///
  /// - Parameter installations: The terms of each app that has installations, by its id.
  package func possibleRequests(
    of callers: [ConfiguredCaller], installations: [String: InstallationTerms]
  ) -> Set<PossibleRequest> {
    let users = callers.filter(\.hasUsers).map(\.id)
    var found: Set<PossibleRequest> = []
    for caller in callers.map(\.id) + [Caller.anonymousID] {
      let isUser = users.contains(exactly: caller)
      let applicant = Applicant(
        callerID: caller, installedFor: nil, hasOwnSubject: isUser, isInstallation: false, ownerID: nil)
      let names: [Request.QueryItem] = [.absent] + ids.map { .value($0) }
      for name in names {
        guard case .admitted(let app) = claim(named: name, by: caller) else { continue }
        for action in Action.usual
        where objection(to: action, of: applicant, for: app, hasTalkdesk: true) == nil {
          found.insert(
            PossibleRequest(action: action, appID: app?.id, callerID: caller, hasClaims: isUser))
        }
      }
    }
    for (id, terms) in installations {
      guard let app = self[id] else { continue }
      func insert(_ action: Action, _ caller: String) {
        found.insert(PossibleRequest(action: action, appID: id, callerID: caller, hasClaims: true))
      }
      let applicant = Applicant(
        callerID: Caller.installationID, installedFor: id, hasOwnSubject: true, isInstallation: true,
        ownerID: nil)
      for action in Action.usual
      where objection(to: action, of: applicant, for: app, hasTalkdesk: true) == nil {
        insert(action, Caller.installationID)
      }
      if terms.makesUsers { insert(.enrol, Caller.anonymousID) }
      guard terms.authorize.contains(.user) else { continue }
      for user in users where lists(user, for: app) { insert(.enrol, user) }
    }
    return found
  }
}

extension Problem {
  /// The problem of a request that must name its app.
  fileprivate static var noAppNamed: Problem {
    Problem(.denied, "Name the app of this request, such as ?app=NAME.")
  }
}
