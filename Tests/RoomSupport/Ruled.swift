// Gets rulings from a decider as the gateway does, in a form that tests can keep.

import Gate
import Platform

@testable import API
@testable import Deciding

/// A copy of what a ruling says. `Ruling` itself contains a grant, so it cannot be copied.
struct Ruled: Sendable {
  /// The part of a grant that can be copied.
  struct Granted: Sendable {
    let receipts: [AllowanceReceipt]
  }

  let verdicts: RuleVerdicts
  let statuses: [AllowanceStatus]
  let reason: String?
  var grant: Granted?
  var denial: Denial?

  init(_ ruling: consuming Ruling) {
    verdicts = ruling.verdicts
    statuses = ruling.statuses
    reason = ruling.reason
    switch ruling.concluded() {
    case .granted(let grant): self.grant = Granted(receipts: grant.receipts)
    case .refused(let denial): self.denial = denial
    }
  }
}

extension Decider {
  /// The ruling, if the decider can make it without waiting; nil otherwise.
  func ruledAtOnce(_ facts: Facts, taking takes: Bool) -> Ruled? {
    switch ruleAtOnce(facts, taking: takes) {
    case .ruled(let ruling): Ruled(ruling)
    default: nil
    }
  }

  /// The ruling, made at once if possible and after waiting otherwise.
  func ruled(_ facts: Facts, taking takes: Bool, deadline: MonotonicTime? = nil) async throws(Problem)
    -> Ruled
  {
    switch ruleAtOnce(facts, taking: takes) {
    case .ruled(let ruling): Ruled(ruling)
    case .undecided(let known):
      Ruled(try await ruling(facts, taking: takes, after: known, deadline: deadline))
    }
  }
}
