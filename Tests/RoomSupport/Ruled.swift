// Asks a decider as the gateway does, and keeps what tests look at.

import Gate
import Platform

@testable import API
@testable import Deciding

/// What a ruling says. A ruling holds a grant, so nothing copies it: tests look at this.
struct Ruled: Sendable {
  /// What is left of a grant.
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
  /// The ruling, if it needs to wait for nobody.
  func ruledAtOnce(_ facts: Facts, taking takes: Bool) -> Ruled? {
    switch ruleAtOnce(facts, taking: takes) {
    case .ruled(let ruling): Ruled(ruling)
    default: nil
    }
  }

  /// The ruling, by the way that it needs.
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
