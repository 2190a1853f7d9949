// Tests of header fields that are serialised once and used in many responses.

import HTTP
import Testing

@Test func `prepared fields are their lines in order`() throws {
  var output = octets("before")
  try #require(PreparedFields(["Vary": "Origin", "X": "a, b"])).appendLines(to: &output)
  #expect(String(decoding: output, as: UTF8.self) == "beforeVary: Origin\r\nX: a, b\r\n")
}

@Test(arguments: [
  ("X", "a\r\nB: c"), ("X", "a\nb"), ("X Y", "a"), ("", "a"), ("Content-Length", "5"), ("Date", "a"),
])
func `fields that must not be written are not prepared`(name: String, value: String) {
  var fields = Fields()
  fields.append(name, value)
  #expect(PreparedFields(fields) == nil)
}
