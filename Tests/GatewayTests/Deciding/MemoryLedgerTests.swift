import Gate
import Testing

@testable import Gateway

@Suite struct MemoryLedgerTests {
  private let start = Instant(seconds: 1_790_000_000)

  private static func charges(_ policy: Policy, caller: String, at now: Instant) -> [AllowanceCharge] {
    let facts = Facts(action: .access, callerID: caller, address: nil, phone: nil, instant: now)
    guard case .allow(let clearance) = policy.decide(facts, states: FetchedStates()).outcome else {
      return []
    }
    return clearance.charges
  }

  private static func isTaken(_ outcome: ChargeOutcome) -> Bool {
    if case .taken = outcome { true } else { false }
  }

  private let policy = { () throws in
    try Fixture.policy(
      """
        - { name: burst, kind: rate, key: caller, limit: 3, per: 1m }
        - { name: daily, kind: quota, key: global, limit: 5, per: day }
      """)
  }

  @Test func `what is taken stays taken, and all or nothing is taken`() throws {
    let ledger = MemoryLedger()
    let policy = try policy()
    for _ in 0..<3 {
      #expect(Self.isTaken(ledger.take(Self.charges(policy, caller: "a", at: start), at: start)))
    }
    guard case .refused(index: 0, _) = ledger.take(Self.charges(policy, caller: "a", at: start), at: start)
    else {
      Issue.record("the fourth was not refused by the first rule")
      return
    }
    // The refused one took nothing from the quota: two of five are left for another caller.
    for _ in 0..<2 {
      #expect(Self.isTaken(ledger.take(Self.charges(policy, caller: "b", at: start), at: start)))
    }
    guard case .refused(index: 1, _) = ledger.take(Self.charges(policy, caller: "b", at: start), at: start)
    else {
      Issue.record("the sixth was not refused by the quota")
      return
    }
  }

  @Test func `what is given back can be taken again`() throws {
    let ledger = MemoryLedger()
    let policy = try policy()
    for _ in 0..<20 {
      guard case .taken(let receipts) = ledger.take(Self.charges(policy, caller: "a", at: start), at: start)
      else {
        Issue.record("refused although everything was given back")
        return
      }
      ledger.giveBack(receipts, at: start)
    }
  }

  @Test func `expired allowances are forgotten, and the bound holds`() throws {
    let ledger = MemoryLedger(capacity: 2000)
    let policy = try Fixture.policy("  - { name: burst, kind: rate, key: caller, limit: 1, per: 1s }")
    var now = start
    for round in 0..<5 {
      for i in 0..<2000 {
        #expect(Self.isTaken(ledger.take(Self.charges(policy, caller: "\(round)-\(i)", at: now), at: now)))
      }
      #expect(ledger.count <= 2000)
      // Full of live ones: nobody new can be counted.
      guard case .unavailable = ledger.take(Self.charges(policy, caller: "one more", at: now), at: now) else {
        Issue.record("counted beyond the bound")
        return
      }
      now.seconds += 3
    }
  }

  @Test func `many at once take exactly what there is`() async throws {
    let ledger = MemoryLedger()
    let policy = try policy()
    let start = start
    let taken = await withTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        group.addTask {
          (0..<50).count { _ in
            Self.isTaken(ledger.take(Self.charges(policy, caller: "c\(task)", at: start), at: start))
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(taken == 5)
  }
}
