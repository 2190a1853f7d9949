// Tests of when a token is renewed.

import Testing

@testable import Talkdesk
@testable import Tokens

@Suite struct TokenPolicyTests {
  @Test(
    arguments: [
      (600, 120, 300.0, 480.0), (600, 60, 300, 480), (300, 120, 150, 180), (200, 120, 100, 100),
      (3, 120, 1.5, 1.5),
      (86_400, 120, 43_200, 69_120), (600, 0, 300, 480),
    ] as [(Int, Int, Double, Double)])
  func `a renewal falls between 50 and 80 percent of a life, and before its end as a token to vend`(
    life: Int, minimum: Int, earliest: Double, latest: Double
  ) {
    let policy = TokenPolicy(minRemaining: .seconds(minimum))
    #expect(policy.renewalAge(of: .seconds(life), unit: 0) == .seconds(earliest))
    #expect(policy.renewalAge(of: .seconds(life), unit: 1) == .seconds(latest))
    #expect(policy.renewalAge(of: .seconds(life), unit: 0.5) == .seconds((earliest + latest) / 2))
  }
}
