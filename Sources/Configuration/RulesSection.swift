// Reads the `rules` section and reports each mistake at its line in the file.

import Callers
import Documents
import Gate
import Platform
import Texts

extension ConfigurationBuilder {
  /// Reads `rules` and `callbacks.brakes`. Gate reads each rule, and a mistake in it becomes a problem at its
  /// position in the file. Without rules, the policy allows everything except what the built-in rules refuse.
  ///
  /// - Parameter desks: Nil if callers, apps or desks have problems. Rules are then not checked against
  ///   possible requests, so that one mistake does not cause a problem in every rule.
  mutating func policy(
    callers: [ConfiguredCaller], apps: [Configuration.App], desks: [Configuration.Desk]?,
    _ numbers: Configuration.Numbers? = nil
  ) -> Policy {
    let brakes = brakes()
    guard let section = partial.sections["rules"] else { return Policy(brakes: brakes) }
    var known = KnownNames(callers: Set(callerIDs(callers)), apps: Set(appIDs(apps)))
    if let numbers { known.numbers = numbers.terms }
    let requests = desks.map { PossibleRequests(callers, apps, $0) }
    if let requests { known.objection = { requests.objection(to: $0, $1, $2) } }
    switch Policy.reading(section, known: known, brakes: brakes) {
    case .policy(let policy):
      for names in policy.exclusiveHours(at: Instant(sources.clock.unixTime)) {
        problems.note(
          section.place,
          "the opening hours of \(names.joined(separator: ", ")) are never open at the same time: "
            + "the server refuses every request that they all apply to")
      }
      judgeAgents(policy, section)
      judgeNumbers(policy, section, numbers)
      if let requests, case .list(let items) = section.content {
        // A policy without problems has its rules in the order of the file.
        for (rule, item) in zip(policy.rules, items) {
          for notice in requests.notices(of: rule) { problems.note(item.place, notice) }
          if let numbers,
            let notice = requests.unprovable(
              by: rule, callers, apps, numbers,
              takesAnonymous: stated(Settings.allowAnonymous) ?? (purpose == .sandbox))
          {
            problems.note(item.place, notice)
          }
        }
      }
      return policy
    case .problems(let found):
      problems.add(contentsOf: found)
      return .open
    }
  }

  /// Refuses rules about available agents if `availability.live` is missing.
  private mutating func judgeAgents(_ policy: Policy, _ section: DocumentNode) {
    guard !hasLive, case .list(let items) = section.content else { return }
    for (rule, item) in zip(policy.rules, items) {
      guard case .agents = rule.kind else { continue }
      problems.add(
        item.place(of: "kind"), "rule \(quoted(rule.name)).kind",
        Refusal("needs availability.live, which says how many agents there are", "add it, or remove the rule")
      )
    }
  }

  /// The ids of all apps, invalid ones included, so that one mistake causes only one problem.
  private func appIDs(_ apps: [Configuration.App]) -> [String] {
    guard case .mapping(let members)? = partial.sections["apps"]?.content else { return apps.map(\.id) }
    return apps.map(\.id) + members.map(\.name)
  }
}

/// The requests that callers can make for apps, to check that each rule applies to some of them.
private struct PossibleRequests: Sendable {
  private let all: Set<AppRegistry.PossibleRequest>
  private let hasInstallations: Bool
  /// For each caller with users, the apps whose installations those users may authorize.
  private let authorizedApps: [ExactText: [String]]

  init(_ callers: [ConfiguredCaller], _ apps: [Configuration.App], _ desks: [Configuration.Desk]) {
    let terms = apps.compactMap { app in app.installations.map { (app.id, $0) } }
    hasInstallations = !terms.isEmpty
    all = AppRegistry(apps.map { $0.served(by: desks) })
      .possibleRequests(of: callers, installations: Dictionary(uniqueKeysWithValues: terms))
    let enrolments = all.filter { $0.action == .enrol && !$0.callerID.hasSameBytes(as: Caller.anonymousID) }
    authorizedApps = Dictionary(grouping: enrolments) { ExactText($0.callerID) }
      .mapValues { $0.compactMap(\.appID) }
  }

  private func those(_ actions: Set<Action>, _ apps: [String]?, _ callers: [String]?) -> [AppRegistry
    .PossibleRequest]
  {
    all.filter { request in
      actions.contains(request.action)
        && (apps.map { apps in request.appID.map(apps.contains(exactly:)) ?? false } ?? true)
        && (callers?.contains(exactly: request.callerID) ?? true)
    }
  }

  /// The problem of a rule for these actions, apps and callers (nil for all) that applies to no request. Nil
  /// if it applies to some request.
  func objection(to actions: Set<Action>, _ apps: [String]?, _ callers: [String]?) -> Refusal? {
    guard those(actions, apps, callers).isEmpty else { return nil }
    let end = "so the rule would never be asked"
    if actions == [.enrol] || callers == [Caller.installationID], !hasInstallations {
      return Refusal(
        at: actions == [.enrol] ? "on" : "callers", "no app has installations, \(end)",
        "give an app installations, or remove the rule")
    }
    if actions == [.ticket], those(actions, nil, nil).isEmpty {
      return Refusal(
        at: "on", "no app has a chat desk that accepts tickets, \(end)",
        "give the desk of an app a desk_api_token_file, or remove the rule")
    }
    let asked = Action.allCases.filter(actions.contains).map(\.rawValue).joined(separator: ", ")
    let place = apps.map { " for \($0.joined(separator: ", "))" } ?? ""
    guard let callers, !those(actions, apps, nil).isEmpty else {
      return Refusal(
        at: apps == nil ? "on" : "apps", "no caller can make a request (\(asked))\(place), \(end)",
        "change on or apps, or remove the rule")
    }
    return Refusal(
      at: "callers", "\(callers.joined(separator: ", ")) cannot make a request (\(asked))\(place), \(end)",
      "change on, apps or callers, or remove the rule")
  }

  /// The notice that names the callers that a rule `own_number` would always refuse. Nil if there are none.
  func unprovable(
    by rule: Rule, _ callers: [ConfiguredCaller], _ apps: [Configuration.App],
    _ numbers: Configuration.Numbers,
    takesAnonymous: Bool
  ) -> String? {
    // Any caller can send a proof. A number in a claim comes from the JWT of a user, or of the user who
    // authorized the installation.
    guard case .ownNumber = rule.kind, rule.mode != .off, numbers.firebase == nil else { return nil }
    func isUser(_ id: String) -> Bool {
      callers.contains { caller in
        if case .jwt = caller.proof { caller.id.hasSameBytes(as: id) } else { false }
      }
    }
    let stuck = Set(
      those(rule.actions.intersection([.callback]), rule.apps, rule.callers).filter { request in
        // Anonymous requests count only if the server accepts them.
        guard !request.callerID.hasSameBytes(as: Caller.anonymousID) || takesAnonymous else { return false }
        guard request.callerID.hasSameBytes(as: Caller.installationID) else {
          return !isUser(request.callerID)
        }
        let app = request.appID
        return numbers.remember == .zero
          || !authorizedApps.contains { isUser($0.key.text) && $0.value.contains { $0 == app } }
      }.map { $0.callerID + ($0.appID.map { " (app \($0))" } ?? "") })
    guard !stuck.isEmpty else { return nil }
    return
      "rule \"\(rule.name)\" refuses every callback of \(stuck.sorted().joined(separator: ", ")), which cannot prove a "
      + "number — add numbers.proofs.firebase, or name callers with jwt"
  }

  /// Notices about a rule on claims whose effect an operator may have overlooked.
  func notices(of rule: Rule) -> [String] {
    guard case .claims = rule.kind, rule.mode != .off else { return [] }
    var notices: [String] = []
    let asked = those(rule.actions, rule.apps, rule.callers)
    // A rule only for anonymous requests is meant to refuse them.
    let callers = Set(asked.map(\.callerID)).subtracting([Caller.anonymousID])
    if !asked.contains(where: \.hasClaims), !callers.isEmpty {
      notices.append(
        "rule \"\(rule.name)\" requires claims, and \(callers.sorted().joined(separator: ", ")) never has any: the rule refuses every request "
          + "that it applies to — name callers with jwt")
    }
    if !rule.actions.contains(.enrol), let callers = rule.callers,
      !callers.contains(exactly: Caller.installationID)
    {
      let apps = Set(callers.flatMap { authorizedApps[ExactText($0)] ?? [] }).filter {
        rule.apps?.contains(exactly: $0) ?? true
      }
      if !apps.isEmpty {
        notices.append(
          "rule \"\(rule.name)\" does not apply to the installations of its users (app "
            + "\(apps.sorted().joined(separator: ", "))), which are the caller installation — add \"enrol\" to \"on\" "
            + "to require these claims of the user who enrolls a phone")
      }
    }
    return notices
  }
}
