// Tests of one-time passwords against the vectors of RFC 4226 and RFC 6238.

import JOSE
import Testing

@testable import Installations

@Suite struct OneTimePasswordTests {
  private let seed = Secret("12345678901234567890")

  @Test func `the codes of RFC 4226, appendix D`() {
    let codes = (0..<10).map { OneTimePassword.code(seed: seed, counter: $0) }
    #expect(
      codes == [
        "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
      ])
  }

  @Test(
    arguments: [
      (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"), (1_234_567_890, "89005924"),
      (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
    ] as [(Int64, String)])
  func `the codes of RFC 6238, appendix B`(seconds: Int64, code: String) {
    let step = OneTimePassword.step(at: seconds)
    #expect(OneTimePassword.code(seed: seed, counter: step, digits: 8) == code)
    #expect(OneTimePassword.code(seed: seed, counter: step) == code.suffix(6))
  }

  @Test func `a step lasts half a minute`() {
    #expect(OneTimePassword.secondsLeft(at: 0) == 30)
    #expect(OneTimePassword.secondsLeft(at: 29) == 1)
    #expect(OneTimePassword.secondsLeft(at: 30) == 30)
    #expect(OneTimePassword.step(at: 29) == 0 && OneTimePassword.step(at: 30) == 1)
  }

  @Test func `a user code is read however a person types it`() throws {
    for _ in 0..<1000 {
      let code = try UserCode.make()
      #expect(code.utf8.count == 8 && code.utf8.allSatisfy { UserCode.letters.contains($0) })
      #expect(UserCode.normalized(UserCode.shown(code)) == code)
    }
    #expect(UserCode.normalized(" bcdf ghjk ") == "BCDFGHJK")
    // An en dash, a minus sign, a no-break space and a full stop of Japanese.
    for typed in ["BCDF–GHJK", "bcdf−ghjk", "BCDF\u{A0}GHJK", "“BCDF。GHJK”", "(BCDF)\t/GHJK\r\n"] {
      #expect(UserCode.normalized(typed) == "BCDFGHJK", "\(typed)")
    }
    for wrong in ["", "BCDF-GHJ", "BCDF-GHJKL", "ACDF-GHJK", "BCDF-GHJ1", "BCDF+GHJK", "ＢCDFGHJK"] {
      #expect(UserCode.normalized(wrong) == nil, "\(wrong)")
    }
  }
}
