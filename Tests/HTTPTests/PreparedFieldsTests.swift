// Tests of header fields that are serialized once and used in many responses.

import HTTP
import Testing

@Test func `prepared fields are their lines in order`() throws {
  let lines = try #require(PreparedFields(["Vary": "Origin", "X": "a, b"])).lines
  #expect(String(decoding: lines, as: UTF8.self) == "Vary: Origin\r\nX: a, b\r\n")
}

@Test(arguments: [
  ("X", "a\r\nB: c"), ("X", "a\nb"), ("X Y", "a"), ("", "a"), ("Content-Length", "5"), ("Date", "a"),
])
func `fields that must not be written are not prepared`(name: String, value: String) {
  var fields = Fields()
  fields.append(name, value)
  #expect(PreparedFields(fields) == nil)
}
