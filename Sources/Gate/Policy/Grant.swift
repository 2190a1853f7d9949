// The proof that a policy allowed a request; only a policy can make one.

/// A request that no rule refuses: its charges, and the way to its grant (`Decision.settled`).
public struct Clearance: Sendable {
  /// The charges to take from allowances, all or none.
  public let charges: [AllowanceCharge]
  let held: Policy.Held<Facts>

  var facts: Facts { held.value }

  func grant(_ receipts: [AllowanceReceipt], _ charges: RecordCharges? = nil, at now: Instant) -> Grant {
    Grant(
      action: facts.action, callerID: facts.callerID, subject: facts.subject, appID: facts.appID,
      phone: facts.phone, receipts: receipts, charges: charges, grantedAt: now)
  }
}

/// Leave to do one thing, once: proof that the policy was asked, allowed it, and its allowances are taken, or will be with its record.
///
/// Only a policy makes one, and nothing copies one: a function that consumes a grant cannot be reached past the rules, nor
/// twice with one permission.
public struct Grant: ~Copyable, Sendable {
  /// The granted action.
  public let action: Action
  /// To whom; nil for an anonymous caller.
  public let callerID: String?
  /// On whose behalf.
  public let subject: String?
  /// For which app.
  public let appID: String?
  /// The number that may be called.
  public let phone: E164?
  /// The receipts of the taken allowances, to give them back if no token or call follows.
  public let receipts: [AllowanceReceipt]
  /// What is yet to be taken, in the transaction that saves the request's record; nil for nothing.
  public let charges: RecordCharges?
  /// When it was granted.
  public let grantedAt: Instant

  init(
    action: Action, callerID: String?, subject: String?, appID: String?, phone: E164?,
    receipts: [AllowanceReceipt], charges: RecordCharges? = nil, grantedAt: Instant
  ) {
    self.action = action
    self.callerID = callerID
    self.subject = subject
    self.appID = appID
    self.phone = phone
    self.receipts = receipts
    self.charges = charges
    self.grantedAt = grantedAt
  }

  /// The rest of the caller's allowances, for the fields of the response; brakes are left out.
  public var statuses: [AllowanceStatus] { receipts.statuses(at: grantedAt) }
}

extension [AllowanceReceipt] {
  /// The rest of the caller's allowances; brakes are left out.
  func statuses(at now: Instant) -> [AllowanceStatus] {
    var statuses: [AllowanceStatus] = []
    statuses.reserveCapacity(count)
    for receipt in self
    where receipt.rule.isEnforced && receipt.rule.brake == nil && !receipt.rule.isOfProofs {
      statuses.append(AllowanceStatus(rule: receipt.rule.name, count: receipt.count(at: now)))
    }
    return statuses
  }
}
