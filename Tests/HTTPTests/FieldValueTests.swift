// Tests of how field values are read octet by octet.

import HTTP
import Testing

@Suite struct FieldValueTests {
  private func decimal(_ text: String, _ digits: Int) -> Int64? {
    Array(text.utf8)[...].decimal(digits: digits)
  }

  @Test func `a number has as many digits as are allowed, and nothing else`() {
    #expect(decimal("0", 1) == 0 && decimal("7", 5) == 7 && decimal("65535", 5) == 65_535)
    #expect(decimal("00012", 5) == 12)
    #expect(decimal("999999999999999999", 18) == 999_999_999_999_999_999)
    for text in ["", "123456", "+1", "-1", " 1", "1 ", "1.0", "0x1", "1e3", "١"] {
      #expect(decimal(text, 5) == nil)
    }
  }
}
