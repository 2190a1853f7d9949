// Lists what refuses requests on purpose: stops by operators, brakes, quotas and rates.

import Configuration
import Deciding
import Delivery
import Gate
import Platform
import Records
import Store

extension AttentionList {
  /// Lists every stop, with the number of requests that it refused.
  func stops(_ now: UnixTime) -> [Attention] {
    let stops = runtime.stops.stops.list
    troubles.forget(.stop, besides: Set(stops.map(Self.name)))
    return stops.map { stop in
      let trouble = troubles.note(.stop, Self.name(stop), isThere: true, at: now)
      let what =
        switch stop.action.rawValue {
        case "access": "Tokens"
        case "callback": "Callbacks"
        case "ticket": "Tickets"
        case "enrol": "New installations"
        default: "All requests"
        }
      let (scope, id) = stop.target.parts
      let whom = id.isEmpty ? "everyone" : "\(scope) \(id)"
      let isOnlyHere = runtime.stops.isOnlyHere(stop)
      let place = isOnlyHere ? ", only here, until the database is back" : ""
      return Attention(
        .stop, since: UnixTime(seconds: stop.since), until: stop.until.map { UnixTime(seconds: $0) },
        count: trouble?.hits ?? 0,
        "\(what) of \(whom) are stopped by an operator\(place)\(stop.reason.map { ": “\($0)”" } ?? "").",
        action: isOnlyHere
          ? "Repeat the stop when the database is back. Until then, stop every other instance as well."
          : "To end the stop, press Resume on the operator's page or run callgate resume.")
    }
  }

  private static func name(_ stop: Stop) -> String {
    let (scope, id) = stop.target.parts
    return "\(scope):\(id):\(stop.action.rawValue)"
  }

  /// A limit that refuses requests now: until the next request would pass, but at most for a minute after the
  /// limit's last refusal.
  private struct Limit {
    let code: Attention.Code
    let name: String
    let concernsCallbacks: Bool
    let trouble: Troubles.Open
    /// The limit of a brake, in words.
    var figure = ""
  }

  private func refusing(_ generation: Generation, _ now: UnixTime) -> [Limit] {
    let policy = generation.decider.policy
    return troubles.all(.quota).compactMap { name, trouble in
      guard let last = trouble.lastHit, let passesAt = trouble.passesAt, now < passesAt,
        (.zero...Troubles.limitMemory).contains(now - last)
      else { return nil }
      func limit(_ code: Attention.Code, _ concernsCallbacks: Bool) -> Limit {
        Limit(code: code, name: name, concernsCallbacks: concernsCallbacks, trouble: trouble)
      }
      if let brake = Brake.allCases.first(where: { $0.ruleName == name }) {
        // The brake of one customer's number is not an incident. After a reload that raised the limit, the
        // next callback passes, although the brake refused the last one.
        guard brake != .number, let ratio = runtime.callbacks.brakes.usedRatio(brake, policy.brakes),
          ratio >= 1
        else { return nil }
        // The brake on lookups does not affect callbacks without a lookup.
        var limit = limit(.brake, brake != .lookups)
        limit.figure = " (\(policy.brakes[brake]) in \(brake == .burst ? "5 minutes" : "an hour"))"
        return limit
      }
      guard let rule = policy.rules.first(where: { $0.name == name }), rule.mode == .enforce else {
        return nil
      }
      let concernsCallbacks = rule.actions.contains(.callback)
      switch rule.kind {
      case .quota(_, let key, _) where key.isShared: return limit(.quota, concernsCallbacks)
      case .rate(_, let key, _) where key.isShared: return limit(.rate, concernsCallbacks)
      case .quota, .rate, .hours, .numbers, .addresses, .claims, .field, .remote, .agents, .ownNumber,
        .consent, .screened:
        return nil
      }
    }
  }

  /// Lists the enforced brakes, quotas and rates that refuse requests now. Only limits that many customers
  /// share count: brakes except the one on a single number, and quotas and rates for everybody, a caller or
  /// an app.
  func limits(_ generation: Generation, _ now: UnixTime) -> [Attention] {
    refusing(generation, now).map { limit in
      let (text, action) =
        switch limit.code {
        case .brake:
          (
            "Callbacks are refused: \(limit.name), a limit on all \(limit.name == Brake.lookups.ruleName ? "lookups of numbers" : "callbacks")\(limit.figure), is used up.",
            "Real traffic or abuse? Check callers and addresses under Recent decisions. "
              + "Stop a caller, or set callbacks.brakes and reload."
          )
        case .rate:
          (
            "Requests are refused: the rate \(limit.name) is used up.",
            "Check the decisions of this rule. Raise its limit and reload, or stop the caller."
          )
        default:
          (
            "Requests are refused: the quota \(limit.name) is used up.",
            "Check the decisions of this rule. Raise its limit and reload, or stop the caller."
          )
        }
      return Attention(
        limit.code, since: limit.trouble.since, until: limit.trouble.passesAt, count: limit.trouble.hits,
        text, action: action)
    }
  }

  /// Whether a stop, a brake, a quota or a rate refuses callbacks of some or all callers. The brake on number
  /// lookups does not count.
  func holdsCallbacks(_ generation: Generation, _ now: UnixTime) -> Bool {
    runtime.stops.stops.list.contains { ["callback", "all"].contains($0.action.rawValue) }
      || refusing(generation, now).contains(where: \.concernsCallbacks)
  }
}

extension Runtime {
  /// Removes the problems of quotas that a new policy raised, because their next request passes. Rates stay
  /// listed: a raised rate allows the next request sooner, but not at once.
  func endRaisedQuotas(from old: Policy, to new: Policy) {
    for (name, _) in metrics.troubles.all(.quota) {
      guard case .quota(let before, let oldKey, _) = old.rules.first(where: { $0.name == name })?.kind,
        case .quota(let after, let newKey, _) = new.rules.first(where: { $0.name == name })?.kind,
        oldKey == newKey, before.period == after.period, after.limit > before.limit
      else { continue }
      metrics.troubles.ended(.quota, name)
    }
  }
}

extension AllowanceScope {
  /// Whether many customers share the allowance.
  fileprivate var isShared: Bool { self == .global || self == .caller || self == .app }
}
