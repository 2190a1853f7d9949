// Tests of SipHash with the vectors of its reference implementation.

import Testing

@testable import Store

@Suite struct SipHashTests {
  /// The key 00 01 … 0f of the reference implementation's vectors.
  private let key: (low: UInt64, high: UInt64) = (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)

  @Test(arguments: [
    (0, "a3817f04ba25a8e66df67214c7550293"), (1, "da87c1d86b99af44347659119b22fc45"),
    (2, "8177228da4a45dc7fca38bdef60affe4"), (3, "9c70b60c5267a94e5f33b6b02985ed51"),
    (8, "3b62a9ba6258f5610f83e264f31497b4"), (15, "5493e99933b0a8117e08ec0f97cfc3d9"),
    (16, "6ee2a4ca67b054bbfd3315bf85230577"),
  ])
  func `the reference implementation's vectors hold`(_ count: Int, _ expected: String) {
    let hash = SipHash.hash((0..<count).map { UInt8($0) }, key: key)
    // The vectors are bytes, each word the least significant first.
    let hex = StoreID(high: hash.low.byteSwapped, low: hash.high.byteSwapped).hex
    #expect(hex == expected)
  }
}
