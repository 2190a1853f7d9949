// Tests of 128-bit ids as text.

import Testing

@testable import Store

@Suite struct StoreIDTests {
  private let id = StoreID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
  private let uuid = "01234567-89ab-cdef-fedc-ba9876543210"

  @Test func `an id is read in either case, with the hyphens of a UUID or without`() {
    let hex = "0123456789abcdeffedcba9876543210"
    #expect(id.hex == hex && id.uuid == uuid)
    for text in [hex, uuid, hex.uppercased(), uuid.uppercased()] { #expect(StoreID(hex: text) == id) }
    for text in [uuid, uuid.uppercased()] { #expect(StoreID(uuid: text.utf8.span) == id) }
  }

  @Test(arguments: [
    "", "0123456789abcdeffedcba987654321", "0123456789abcdeffedcba98765432100",
    "0123456789abcdeffedcba987654321g", "0123456789abcdeffedcba987654321/",
    "0123456789abcdeffedcba987654321:",
    "0123456789abcdeffedcba987654321`", "0123456789abcdeffedcba987654321@",
    "0123456789abcdeffedcba987654321G",
  ])
  func `other text is no id`(_ text: String) {
    #expect(StoreID(hex: text) == nil)
    #expect(StoreID(uuid: text.utf8.span) == nil)
  }

  @Test func `the hyphens of a UUID are at their places`() {
    for place in [8, 13, 18, 23] {
      for other in ["0", "_", " "] as [Character] {
        var text = Array(uuid)
        text[place] = other
        #expect(StoreID(uuid: String(text).utf8.span) == nil)
      }
    }
    for place in 0..<36 where ![8, 13, 18, 23].contains(place) {
      var text = Array(uuid)
      text[place] = "-"
      #expect(StoreID(uuid: String(text).utf8.span) == nil)
    }
  }
}
