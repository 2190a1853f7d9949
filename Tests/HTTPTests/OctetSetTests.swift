// Tests of the character classes that the parser uses.

import Testing

@testable import HTTP

private let alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
private let unreserved = alphanumeric + "-._~"
private let subDelimiters = "!$&'()*+,;="

private func members(_ set: OctetSet) -> Set<UInt8> { Set((UInt8.min...UInt8.max).filter(set.contains)) }

@Test func `the character classes are those of the RFCs`() {
  #expect(members(.token) == Set((alphanumeric + "!#$%&'*+-.^_`|~").utf8))
  #expect(members(.path) == Set((unreserved + subDelimiters + ":@/%").utf8))
  #expect(members(.query) == Set((unreserved + subDelimiters + ":@/?%").utf8))
  #expect(members(.registeredName) == Set((unreserved + "%").utf8))
}

@Test func `digits have their values and nothing else has one`() {
  for octet in UInt8.min...UInt8.max {
    let character = Character(Unicode.Scalar(octet))
    let isASCII = octet < 128
    #expect(octet.hexValue == (isASCII ? character.hexDigitValue.map { UInt8($0) } : nil))
    #expect(octet.decimalValue == (isASCII && character.isNumber ? octet - 48 : nil))
    let isCapital = isASCII && character.isUppercase
    #expect(octet.lowercasedASCII == (isCapital ? octet + 32 : octet))
  }
}
