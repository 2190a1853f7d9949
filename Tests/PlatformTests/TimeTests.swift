// Tests of arithmetic with times: no value from a clock, a row or a response may crash the process.

import Platform
import Testing

@Suite struct TimeTests {
  private static let extremes: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]

  @Test func `sums, differences and products stop at the ends of what a type holds`() {
    #expect(Int64.max.addingClamped(1) == .max && Int64.min.addingClamped(-1) == .min)
    #expect(Int64.min.subtractingClamped(1) == .min && Int64.max.subtractingClamped(-1) == .max)
    #expect(Int64(0).subtractingClamped(.min) == .max && Int64(-1).subtractingClamped(.min) == .max)
    #expect(Int64.max.multipliedClamped(by: -2) == .min && Int64.min.multipliedClamped(by: -1) == .max)
    #expect(Int64(7).addingClamped(-9) == -2 && Int64(7).multipliedClamped(by: -9) == -63)
    #expect(UInt8(200).addingClamped(100) == 255 && UInt8(1).subtractingClamped(2) == 0)
  }

  @Test func `spans between any two times are clamped`() {
    for a in Self.extremes {
      for b in Self.extremes {
        let (difference, overflow) = a.subtractingReportingOverflow(b)
        let clamped: Int64 = overflow ? (a > b ? .max : .min) : difference
        let span: Duration = MonotonicTime(nanoseconds: a) - MonotonicTime(nanoseconds: b)
        #expect(span == Duration.nanoseconds(clamped))
        #expect(UnixTime(seconds: a) - UnixTime(seconds: b) == Duration.seconds(clamped))
        #expect(UnixTime(seconds: a).advanced(bySeconds: b).seconds == a.addingClamped(b))
      }
    }
  }

  @Test(arguments: TimeTests.extremes) func `any time can be written`(seconds: Int64) {
    var octets: [UInt8] = []
    UnixTime(seconds: seconds, nanoseconds: 999_999_999).appendRFC3339(to: &octets)
    #expect(octets.count == UnixTime.rfc3339Count)
  }

  @Test func `whole numbers of any span are clamped`() {
    let longest = Duration.seconds(Int64.max) * 10
    #expect(longest.nanosecondsClamped == .max && (.zero - longest).nanosecondsClamped == .min)
    #expect(longest.secondsClamped == .max && (.zero - longest).secondsClamped == .min)
    #expect(longest.wholeSecondsRoundedUp == .max && (.zero - longest).wholeSecondsRoundedUp == 1)
    #expect(Duration.milliseconds(-1500).secondsClamped == -1)
    #expect(Duration.milliseconds(1500).wholeSecondsRoundedUp == 2)
    #expect(Duration.seconds(2).wholeSecondsRoundedUp == 2)
    #expect((Duration.seconds(2) + Duration.nanoseconds(1)).nanosecondsClamped == 2_000_000_001)
  }
}
