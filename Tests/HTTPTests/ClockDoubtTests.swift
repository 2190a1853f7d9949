// Tests of when a refusal is blamed on the clock.

import HTTP
import Testing

@Suite struct ClockDoubtTests {
  private static let now: Int64 = 1_800_000_000

  private func doubt(_ offset: Int64?, _ words: String? = nil) -> ClockDoubt? {
    var fields = Fields()
    if let offset { fields["Date"] = HTTPDate.string(unixSeconds: Self.now + offset) }
    return ClockDoubt(refusedAt: Self.now, fields, words: words)
  }

  @Test func `clocks that differ by more than two seconds may be the cause`() {
    for offset: Int64 in [-86_400, -3, 3, 600] { #expect(doubt(offset) == .difference(offset)) }
    for offset: Int64 in [-2, 0, 2] { #expect(doubt(offset) == nil) }
    #expect(doubt(nil) == nil)
    #expect(ClockDoubt(refusedAt: Self.now, ["Date": "yesterday"], words: nil) == nil)
    #expect(ClockDoubt(ahead: .min, words: nil) == .difference(.min))
  }

  @Test(arguments: [
    ("the client assertion's iat lies in the future", true), ("IAT", true), ("assertion expired", true),
    ("Check your iat and exp values in the JWT claim.", true), ("JWT is not valid: clock skew", true),
    ("no such key", false), ("the experiment is expected", false), ("", false), ("unexpired", false),
    (String(repeating: "x ", count: 512) + "iat", false),
  ])
  func `an issuer that speaks of times may mean the clock`(words: String, isDoubt: Bool) {
    #expect(doubt(0, words) == (isDoubt ? .said : nil))
    #expect(doubt(nil, words) == (isDoubt ? .said : nil))
    #expect(doubt(9, words) == .difference(9), "the number says more")
  }

  @Test func `the direction of the difference is named`() {
    #expect(doubt(9)?.words(for: "Google").contains("9 s behind Google's") == true)
    #expect(doubt(-9)?.words(for: "Google").contains("9 s ahead of Google's") == true)
  }
}
