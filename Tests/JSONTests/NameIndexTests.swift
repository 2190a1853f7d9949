// Tests of how configured names are found, and how ids are written.

import Testing

@testable import Texts

@Suite struct NameIndexTests {
  @Test func `every name is found by its octets, and nothing else is`() {
    let names =
      [""] + (1...40).map { String(repeating: "n", count: $0) } + (0..<200).map { "example-app-\($0)" }
    let index = NameIndex(names)
    for (number, name) in names.enumerated() {
      #expect(index.number(of: name) == number)
      #expect(index.number(of: Array(name.utf8).span) == number)
      #expect(index.number(of: name + "\u{0}") == nil)
      #expect(index.number(of: "N" + name.dropFirst()) == nil)
    }
    #expect(index.number(of: "example-app-200") == nil)
    #expect(!index.isEmpty)
  }

  @Test func `canonically equal names differ`() {
    let twins = ["caf\u{E9}", "cafe\u{301}"]
    #expect(NameIndex([twins[0]]).number(of: twins[1]) == nil)
    #expect(NameIndex(twins).number(of: twins[1]) == 1)
  }

  @Test func `names of one length that share a slot are told apart`() {
    // With twice as many slots as names, many names share a slot: about a third of 4,096.
    for count in [2, 3, 4, 4096] {
      let names = (0..<count).map { "n\(10_000 + $0)" }
      let index = NameIndex(names)
      #expect(names.map { index.number(of: $0) } == Array(0..<count))
      for other in 0..<count { #expect(index.number(of: "m\(10_000 + other)") == nil) }
    }
  }

  @Test func `names with the same hash are told apart`() {
    // The second halves differ exactly as the hashes of the first halves, so that the hashes are equal.
    let twins = ["app-0000chat-app", "app-0001chac-apg"]
    let index = NameIndex(twins)
    #expect(NameIndex.hash(twins[0].utf8.span) == NameIndex.hash(twins[1].utf8.span))
    #expect(twins.map { index.number(of: $0) } == [0, 1])
    #expect(NameIndex([twins[0]]).number(of: twins[1]) == nil)
  }

  @Test func `a name twice ends the process`() async {
    await #expect(processExitsWith: .failure) { _ = NameIndex(["a", "b", "a"]) }
  }

  @Test func `an index without names finds nothing`() {
    #expect(NameIndex([]).number(of: "") == nil)
    #expect(NameIndex([]).isEmpty)
  }

  @Test func `a UUID has its hyphens`() {
    var octets: [UInt8] = []
    octets.append(upTo: 36) { $0.append(uuid: 0x0123_4567_89AB_CDEF, 0x0f1e_2d3c_4b5a_6978) }
    #expect(String(decoding: octets, as: UTF8.self) == "01234567-89ab-cdef-0f1e-2d3c4b5a6978")
  }
}
