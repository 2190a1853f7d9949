// Helpers for the tests of the gate: fixtures, times, policies and facts.

import Documents
import Foundation
import Gate
import Platform
import TestSupport
import Testing

/// The URL of a file in Tests/Fixtures.
func fixture(_ path: String) -> URL {
  Checkout.root.appending(path: "Tests").appending(path: "Fixtures")
    .appending(path: path)
}

/// A point in time from its text.
func at(_ text: String) throws -> Instant { try #require(Instant(rfc3339: text), "\(text)") }

/// A second in nanoseconds.
let second: Int64 = 1_000_000_000

/// A week with the same windows on the days of a list, Monday being 0.
func week(_ days: [Int], _ windows: String...) throws -> [[OpeningWindow]] {
  let windows = try windows.map { try OpeningWindow($0) }
  return (0..<7).map { days.contains($0) ? windows : [] }
}

/// Allowance states that tests set.
final class TestStates: AllowanceStates {
  var states: [AllowanceKey: AllowanceState] = [:]
  var isDown = false

  func lookup(_ key: AllowanceKey) -> AllowanceLookup {
    isDown ? .unavailable : states[key].map { .state($0) } ?? .unused
  }

  /// Takes the charges of an allowed request, as a store does.
  func take(_ charges: [AllowanceCharge], at now: Instant) -> ChargeOutcome {
    let outcome = charges.take(from: charges.map { states[$0.key] }, at: now)
    if case .taken(let receipts) = outcome {
      for receipt in receipts { states[receipt.key] = receipt.taken }
    }
    return outcome
  }

  func giveBack(_ receipts: [AllowanceReceipt], at now: Instant) {
    for receipt in receipts { states[receipt.key] = receipt.givenBack(to: states[receipt.key], at: now) }
  }
}

extension Policy {
  /// Evaluates the rules, takes the allowances, and returns the final decision.
  func settle(_ facts: Facts, _ states: TestStates) -> (decision: Decision, grant: Granted?) {
    let decision = decide(facts, states: states)
    guard case .allow(let clearance) = decision.outcome else { return (decision, nil) }
    return decision.settled(states.take(clearance.charges, at: facts.instant), at: facts.instant).parts()
  }
}

extension Facts {
  /// A request with few facts.
  static func request(
    _ action: Action = .access, caller: String? = "ios-app", at now: Instant = Instant(seconds: 1_795_000_000)
  ) -> Facts {
    Facts(action: action, callerID: caller, address: IPAddress("203.0.113.9"), phone: nil, instant: now)
  }
}

extension DocumentNode: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  init(stringLiteral value: String) { self.init(.text(value)) }
  init(arrayLiteral elements: DocumentNode...) { self.init(.list(elements)) }
  init(dictionaryLiteral elements: (String, DocumentNode)...) {
    self.init(.mapping(elements.map { Member($0, $1) }))
  }
}

extension PolicyReading {
  var policy: Policy? { if case .policy(let policy) = self { policy } else { nil } }
  var problems: [DocumentProblem] { if case .problems(let problems) = self { problems } else { [] } }
}

/// A copy of what a grant contains. A `Grant` itself cannot be copied.
struct Granted: Sendable {
  let receipts: [AllowanceReceipt]
  let statuses: [AllowanceStatus]
  let phone: E164?

  init(_ grant: borrowing Grant) {
    receipts = grant.receipts
    statuses = grant.statuses
    phone = grant.phone
  }
}

extension Decision.Settled {
  /// The decision, and a copy of its grant.
  consuming func parts() -> (decision: Decision, grant: Granted?) {
    switch consume self {
    case .granted(let decision, let grant): (decision, Granted(grant))
    case .refused(let decision): (decision, nil)
    }
  }
}
