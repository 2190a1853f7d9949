// Tests of how DER is read and written.

import Testing

@testable import JOSE

@Suite struct DERTests {
  @Test func `a signature goes from DER to R and S and back`() throws {
    let joined = [UInt8](repeating: 0, count: 31) + [0x7F] + [0x80] + [UInt8](repeating: 1, count: 31)
    let der = try #require(ECDSASignature.der(fromJoined: joined, size: 32))
    #expect(Array(der.prefix(7)) == [0x30, 0x26, 0x02, 0x01, 0x7F, 0x02, 0x21])
    #expect(ECDSASignature.joined(fromDER: der, size: 32) == joined)
  }

  @Test func `a P-521 signature needs a long length and keeps it`() throws {
    let joined = [UInt8](repeating: 0x01, count: 132)
    let der = try #require(ECDSASignature.der(fromJoined: joined, size: 66))
    #expect(Array(der.prefix(3)) == [0x30, 0x81, 0x88])
    #expect(ECDSASignature.joined(fromDER: der, size: 66) == joined)
  }

  @Test func `R and S of another length have no DER`() {
    for count in [0, 1, 63, 65, 96, 128] {
      #expect(ECDSASignature.der(fromJoined: [UInt8](repeating: 1, count: count), size: 32) == nil)
    }
  }

  @Test(
    arguments: [
      ("empty", []),
      ("no sequence", [0x02, 1, 1, 0x02, 1, 1]),
      ("one integer", [0x30, 3, 0x02, 1, 1]),
      ("three integers", [0x30, 9, 0x02, 1, 1, 0x02, 1, 1, 0x02, 1, 1]),
      ("a byte after the sequence", [0x30, 6, 0x02, 1, 1, 0x02, 1, 1, 0]),
      ("a sequence longer than the bytes", [0x30, 7, 0x02, 1, 1, 0x02, 1, 1]),
      ("a sequence shorter than its content", [0x30, 5, 0x02, 1, 1, 0x02, 1, 1]),
      ("a length in long form for no reason", [0x30, 0x81, 6, 0x02, 1, 1, 0x02, 1, 1]),
      ("an indefinite length", [0x30, 0x80, 0x02, 1, 1, 0x02, 1, 1, 0, 0]),
      ("a negative integer", [0x30, 6, 0x02, 1, 0x80, 0x02, 1, 1]),
      ("a padded integer", [0x30, 7, 0x02, 2, 0, 1, 0x02, 1, 1]),
      ("an integer without bytes", [0x30, 5, 0x02, 0, 0x02, 1, 1]),
      ("another tag", [0x30, 6, 0x04, 1, 1, 0x02, 1, 1]),
      ("a long tag", [0x3F, 6, 0x02, 1, 1, 0x02, 1, 1]),
      ("an integer longer than the curve", [0x30, 8, 0x02, 3, 1, 0, 0, 0x02, 1, 1]),
    ] as [(String, [UInt8])])
  func `a signature that is not exact DER is refused`(name: String, bytes: [UInt8]) {
    #expect(ECDSASignature.joined(fromDER: bytes, size: 2) == nil, "\(name)")
  }

  @Test func `the smallest signature is read`() {
    #expect(ECDSASignature.joined(fromDER: [0x30, 6, 0x02, 1, 1, 0x02, 1, 2], size: 2) == [0, 1, 0, 2])
    #expect(ECDSASignature.joined(fromDER: [0x30, 6, 0x02, 1, 0, 0x02, 1, 2], size: 2) == [0, 0, 0, 2])
  }

  @Test func `long contents get long lengths`() {
    #expect(Array(DER.element(0x04, [UInt8](repeating: 0, count: 127)).prefix(2)) == [0x04, 127])
    #expect(Array(DER.element(0x04, [UInt8](repeating: 0, count: 128)).prefix(3)) == [0x04, 0x81, 128])
    #expect(Array(DER.element(0x04, [UInt8](repeating: 0, count: 256)).prefix(4)) == [0x04, 0x82, 1, 0])
    #expect(DER.integer([] as [UInt8]) == [0x02, 1, 0])
    #expect(DER.integer([0, 0, 0x80] as [UInt8]) == [0x02, 2, 0, 0x80])
  }
}
