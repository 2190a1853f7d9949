// Tests that a saved receipt gives back exactly what was taken, even if its rule has changed since.

import Gate
import Platform
import TestSupport
import Testing

@testable import Documents

struct KeptReceiptTests {
  private let noon = Instant(seconds: 1_795_003_200)

  private func kept(_ receipt: AllowanceReceipt) throws -> AllowanceReceipt {
    AllowanceReceipt(try #require(KeptReceipt(document: receipt.kept.document)))
  }

  /// A rule of each kind for each key, in a zone of its own.
  private func policy() throws -> Policy {
    var rules: [Rule] = []
    for scope in AllowanceScope.allCases {
      rules.append(
        try Rule(
          name: "rate-\(scope)",
          kind: .rate(
            RateLimit(limit: 7, per: 60 * second, burst: 3), key: scope, onStoreFailure: .deny)))
      for period in Quota.Period.allCases {
        rules.append(
          try Rule(
            name: "\(period)-\(scope)",
            kind: .quota(
              Quota(limit: 9, period: period, zone: Zone(named: "Asia/Kathmandu")), key: scope,
              onStoreFailure: .allow)))
      }
    }
    return try Policy(rules: rules, brakes: Brakes())
  }

  /// Requests: their address, app and subject.
  private static let askers: [(address: String?, app: String?, subject: String?)] = [
    ("203.0.113.9", "shop", "ann"), ("2001:db8:1:2:3:4:5:6", nil, nil), (nil, "a:b", "u\u{0}:v"),
  ]

  @Test(arguments: Self.askers)
  func `it is for the same party, and gives the same back at every time`(
    address: String?, app: String?, subject: String?
  ) throws {
    var facts = Facts.request(.callback, at: noon)
    facts.phone = try E164("+14155550123")
    facts.address = address.flatMap { IPAddress($0) }
    facts.appID = app
    facts.subject = subject
    facts.installation = subject.map { _ in InstallationFacts(id: "6f1c3d52", callerID: nil) }
    let states = TestStates()
    let policy = try policy()
    _ = policy.settle(facts, states)
    let receipts = try #require(policy.settle(facts, states).grant).receipts
    #expect(receipts.count == 4 * AllowanceScope.allCases.count + 3)
    var random = SeededGenerator(1)
    for receipt in receipts {
      let back = try kept(receipt)
      #expect(back.key == receipt.key && back.taken == receipt.taken && back.brake == receipt.brake)
      #expect(back.plan.expiry(of: receipt.taken) == receipt.plan.expiry(of: receipt.taken))
      for _ in 0..<50 {
        let now = Instant(seconds: noon.seconds + Int64.random(in: -60...60, using: &random))
        let state = AllowanceState(
          mark: receipt.taken.mark + Int64.random(in: -2...2, using: &random),
          count: receipt.taken.count + Int64.random(in: 0...3, using: &random))
        for state in [nil, receipt.taken, state] {
          #expect(back.givenBack(to: state, at: now) == receipt.givenBack(to: state, at: now))
        }
      }
      #expect(back.givenBack(to: receipt.taken, at: noon) != receipt.taken)
    }
  }

  @Test func `what is no receipt is not read`() throws {
    let states = TestStates()
    let receipt = try #require(policy().settle(.request(at: noon), states).grant?.receipts.first)
    guard case .object(let members) = receipt.kept.document else {
      Issue.record("a receipt is an object")
      return
    }
    #expect(KeptReceipt(document: .object(members)) != nil)
    for index in members.indices {
      var without = members
      without.remove(at: index)
      #expect(KeptReceipt(document: .object(without)) == nil, "without \(members[index].name)")
      var other = members
      other[index].value = .string("other")
      #expect(
        (KeptReceipt(document: .object(other)) == nil) == (members[index].name != "rule"), "\(other[index])")
    }
    for party in ["phone:0123", "address:here", "global:x", "nothing", ""] {
      var other = members
      other[1].value = .string(party)
      #expect(KeptReceipt(document: .object(other)) == nil, "\(party)")
    }
    #expect(KeptReceipt(document: .null) == nil)
  }
}
