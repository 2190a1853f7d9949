// The proof that a policy allowed a request; only a policy can make one.

/// A request that no enforced rule refuses, with its charges. `Decision.settled` and `settledWithRecord` turn
/// a clearance into a grant.
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

/// Permission for one action, once. A grant proves that the policy allowed the request, and that its
/// allowances are taken or will be taken when its record is saved. If the store fails and the rules allow
/// requests then (`on_store_failure`), nothing is taken.
///
/// Only a policy creates a grant, and a grant cannot be copied. So a function that consumes a grant cannot be
/// called without a decision of the rules, nor twice with one permission.
public struct Grant: ~Copyable, Sendable {
  /// The granted action.
  public let action: Action
  /// The caller's id, as in `Facts.callerID`.
  public let callerID: String?
  /// The subject, as in `Facts.subject`.
  public let subject: String?
  /// The app that the request is for; nil if there is none.
  public let appID: String?
  /// The number that may be called; nil if the action calls none.
  public let phone: E164?
  /// The receipts of the taken allowances, to give them back if the request fails later.
  public let receipts: [AllowanceReceipt]
  /// The charges to take in the transaction that saves the request's record; nil if there are none.
  public let charges: RecordCharges?
  /// The time at which the request was granted.
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

  /// The status of the enforced allowances, for the headers of the response. Brakes and number proofs are
  /// left out.
  public var statuses: [AllowanceStatus] { receipts.statuses(at: grantedAt) }
}

extension [AllowanceReceipt] {
  /// The status of the enforced allowances. Brakes and number proofs are left out.
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
