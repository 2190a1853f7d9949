// Tests of what the certificates of the emulated Apple may be used for.

import JOSE
import JSON
import Testing
import Texts

@testable import Sandbox

@Suite struct PhoneMakerTests {
  /// A key usage of RFC 5280 §4.2.1.3 in DER: critical, with these bits.
  private static func usage(unused: UInt8, _ bits: UInt8) -> [UInt8] {
    [0x06, 0x03, 0x55, 0x1D, 0x0F, 0x01, 0x01, 0xFF, 0x04, 0x04, 0x03, 0x02, unused, bits]
  }
  private static let digitalSignature = usage(unused: 7, 0x80)
  private static let certificatesAndLists = usage(unused: 1, 0x06)

  private static func count(_ part: [UInt8], in whole: [UInt8]) -> Int {
    whole.indices.count { whole[$0...].starts(with: part) }
  }

  @Test func `a phone's certificate may sign data, and those of its authorities sign certificates`() throws {
    let maker = try PhoneMaker()
    let apps = AttestedApps.sample
    let made = try maker.attestation(
      "ABCDE12345.com.example", of: apps, on: nil, clientData: "data", challenge: "c", system: 26, nil,
      now: 1_795_000_000)
    let object = try #require(made["object"]?.string.flatMap { Base64.decode($0) })
    #expect(Self.count(Self.digitalSignature, in: object) == 1)
    #expect(Self.count(Self.certificatesAndLists, in: object) == 1)
    #expect(Self.count(Self.certificatesAndLists, in: maker.root.der) == 1)
  }
}
