// Tests of how long a request may reuse an attestation that works only once.

import TestSupport
import Testing

@testable import Gate

@Suite struct AttestationPassTests {
  private let start = Instant(seconds: 1_800_000_000, nanoseconds: 5)

  @Test func `a request may be repeated for ten minutes from its first use`() throws {
    let pass = AttestationLimits.pass("aa", request: "bb")
    guard case .taken(let receipts) = [pass].take(from: [nil], at: start) else {
      Issue.record("not taken")
      return
    }
    let state = try #require(receipts.first).taken
    #expect(AttestationLimits.passTaken(state, at: start) == start)
    let last = start.advanced(by: .seconds(600) - .nanoseconds(1))
    #expect(AttestationLimits.passTaken(state, at: last) == start)
    #expect(AttestationLimits.passTaken(state, at: start.advanced(by: .seconds(600))) == nil)
    #expect(AttestationLimits.passTaken(nil, at: start) == nil)
    // The request's outcome was certain, so the use is given back.
    let left = receipts[0].givenBack(to: state, at: start)
    #expect(AttestationLimits.passTaken(left, at: start) == nil)
  }

  @Test(arguments: [0, 3, 10, 599])
  func `a pass that was given back is not taken where the clock is ten seconds behind`(used: Int64) throws {
    let taking = [AttestationLimits.pass("aa", request: "bb")].take(from: [nil], at: start)
    guard case .taken(let receipts) = taking else {
      Issue.record("not taken")
      return
    }
    let state = try #require(receipts.first).taken
    let end = start.advanced(by: .seconds(used))
    let left = receipts[0].givenBack(to: state, at: end)
    for behind in [0, 1, 10] as [Int64] {
      #expect(AttestationLimits.passTaken(left, at: end.advanced(by: .seconds(-behind))) == nil)
      // While the use is taken, a clock that is behind makes no difference.
      #expect(AttestationLimits.passTaken(state, at: start.advanced(by: .seconds(-behind))) == start)
    }
  }

  @Test func `another request, and another challenge, have a pass of their own`() {
    let keys = [("aa", "bb"), ("aa", "bc"), ("ab", "bb")].map { AttestationLimits.pass($0, request: $1).key }
    #expect(Set(keys).count == 3)
    #expect(keys.someAndAll { AttestationLimits.isPass($0) && !AttestationLimits.isToken($0) })
    #expect(!AttestationLimits.isPass(AttestationLimits.charge(challenge: "aa").key))
    #expect(!AttestationLimits.isPass(AttestationLimits.charge(token: "aa").key))
  }
}
