// Tests of how octets are searched and compared, eight at once.

import Testing
import Texts

@Suite struct OctetSearchTests {
  // `#expect` does not accept a value that cannot escape.
  private func firstIndex(of octet: UInt8, in octets: [UInt8]) -> Int? { octets.span.firstIndex(of: octet) }
  private func hasControl(_ octets: [UInt8]) -> Bool { octets.span.hasControl }
  private func areEqual(_ octets: [UInt8], _ others: [UInt8]) -> Bool {
    octets.span.hasSameOctets(as: others.span)
  }

  @Test func `an octet is found at every index of every length`() {
    for length in 0..<40 {
      for index in 0..<length {
        var octets = [UInt8](repeating: 7, count: length)
        octets[index] = 9
        #expect(octets.span.firstIndex(of: 9) == index)
        #expect(octets.span.firstIndex(of: 9, from: index) == index)
        #expect(octets.span.firstIndex(of: 9, from: index + 1) == nil)
        // Neighboring values, which a borrow in the arithmetic could mark by mistake.
        for neighbour: UInt8 in [6, 8] {
          octets[index] = neighbour
          #expect(firstIndex(of: 7, in: octets) == (index > 0 ? 0 : length > 1 ? 1 : nil))
        }
      }
    }
  }

  @Test func `a control is found at every index of every length`() {
    for length in 0..<20 {
      #expect(!hasControl([UInt8](repeating: 0xFF, count: length)))
      for index in 0..<length {
        for octet in UInt8.min...UInt8.max {
          var octets = [UInt8](repeating: 0x80, count: length)
          octets[index] = octet
          #expect(hasControl(octets) == (octet < 0x20 || octet == 0x7F))
        }
      }
    }
  }

  @Test func `octets that differ at any index differ`() {
    for length in 0..<40 {
      let octets = [UInt8](repeating: 0x80, count: length)
      #expect(areEqual(octets, octets))
      #expect(!areEqual(octets, octets + [0x80]))
      for index in 0..<length {
        var others = octets
        others[index] = 0x81
        #expect(!areEqual(octets, others))
      }
    }
  }

  @Test func `a number is written in decimal and in hexadecimal digits`() {
    for number in [0, 1, 9, 10, 99, 100, 12_345, UInt64.max] {
      let decimal = [UInt8](capacity: 20) { $0.append(decimal: number) }
      #expect(String(decoding: decimal, as: UTF8.self) == String(number))
      let hexadecimal = [UInt8](capacity: 16) { $0.append(hexadecimal: number) }
      let digits = String(number, radix: 16)
      #expect(
        String(decoding: hexadecimal, as: UTF8.self) == String(repeating: "0", count: 16 - digits.count)
          + digits)
    }
  }
}
