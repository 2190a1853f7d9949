// The saved form of a receipt, so that a charge can be given back after a restart or a reload.

import Documents
import Platform

/// A receipt that outlives its process and its policy. It contains the limits of its rule, because the rule
/// may have been changed or removed before the charge is given back.
///
/// The time zone of a quota is left out: a charge goes back to the period that its state names.
public struct KeptReceipt: Hashable, Sendable {
  fileprivate enum Plan: Hashable {
    case rate(RateLimit)
    case quota(limit: Int64, Quota.Period, outlastsPeriod: Bool)
  }

  fileprivate let key: AllowanceKey
  fileprivate let plan: Plan
  fileprivate let taken: AllowanceState
  fileprivate let brake: Brake?
}

extension AllowanceReceipt {
  /// The receipt in its saved form.
  public var kept: KeptReceipt {
    let plan: KeptReceipt.Plan =
      switch rule.plan {
      case .rate(let rate): .rate(rate)
      case .quota(let quota):
        .quota(limit: quota.limit, quota.period, outlastsPeriod: quota.outlastsPeriod)
      }
    return KeptReceipt(key: key, plan: plan, taken: taken, brake: brake)
  }

  /// Restores a saved receipt, to give its charge back.
  public init(_ kept: KeptReceipt) {
    let plan: AllowancePlan =
      switch kept.plan {
      case .rate(let rate): .rate(rate)
      case .quota(let limit, let period, let outlastsPeriod):
        .quota(Quota(kept: limit, period, outlastsPeriod: outlastsPeriod))
      }
    // Scope and modes matter only for a charge. Giving back uses neither.
    let rule = AllowanceRule(
      name: kept.key.rule, plan: plan, scope: .global, isEnforced: true, onStoreFailure: .deny,
      index: 0, brake: kept.brake)
    self.init(rule: rule, party: kept.key.party, taken: kept.taken)
  }
}

extension Quota {
  /// Creates the quota of a saved receipt.
  fileprivate init(kept limit: Int64, _ period: Period, outlastsPeriod: Bool) {
    do throws(Refusal) {
      try self.init(limit: limit, period: period)
    } catch {
      preconditionFailure("a saved limit that is not valid: \(error.message)")
    }
    self.outlastsPeriod = outlastsPeriod
  }
}

// MARK: As a document

extension KeptReceipt {
  /// The receipt as a JSON value. Never log this value: it may contain a whole phone number.
  public var document: FactValue {
    func number(_ value: Int64) -> FactValue { .number(String(value)) }
    var members = [FactMember("rule", .string(key.rule)), FactMember("party", .string(key.partyText))]
    switch plan {
    case .rate(let rate):
      members += [
        FactMember("limit", number(rate.limit)), FactMember("per", number(rate.per)),
        FactMember("burst", number(rate.burst)),
      ]
    case .quota(let limit, let period, let outlastsPeriod):
      members += [
        FactMember("limit", number(limit)), FactMember("period", .string(period.rawValue)),
        FactMember("outlasts", .bool(outlastsPeriod)),
      ]
    }
    members += [FactMember("mark", number(taken.mark)), FactMember("count", number(taken.count))]
    if let brake { members.append(FactMember("brake", .string(brake.rawValue))) }
    return .object(members)
  }

  /// Reads a result of `document`; nil for anything else.
  public init?(document: FactValue) {
    func text(_ name: String) -> String? {
      if case .string(let text)? = document[name] { text } else { nil }
    }
    func number(_ name: String) -> Int64? {
      if case .number(let text)? = document[name] { Int64(text) } else { nil }
    }
    guard let rule = text("rule"), let party = text("party").flatMap(AllowanceParty.init(text:)),
      let limit = number("limit"), let mark = number("mark"), let count = number("count")
    else { return nil }
    do throws(Refusal) {
      if let per = number("per"), let burst = number("burst") {
        plan = .rate(try RateLimit(limit: limit, per: per, burst: burst))
      } else if let period = text("period").flatMap(Quota.Period.init(rawValue:)),
        case .bool(let outlastsPeriod)? = document["outlasts"]
      {
        plan = .quota(
          limit: try Quota(limit: limit, period: period).limit, period, outlastsPeriod: outlastsPeriod)
      } else {
        return nil
      }
    } catch {
      return nil
    }
    brake = text("brake").flatMap(Brake.init(rawValue:))
    key = AllowanceKey(rule: rule, party: party)
    taken = AllowanceState(mark: mark, count: count)
  }
}
