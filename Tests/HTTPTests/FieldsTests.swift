// Tests of the ordered list of header fields.

import HTTP
import Testing

@Test func `fields are ordered and found without case`() {
  var fields: Fields = ["A": "1", "b": "2"]
  fields.append("a", "3")
  #expect(fields["a"] == "1")
  #expect(fields.values(of: "A") == ["1", "3"])
  #expect(fields.lines.map(\.name) == ["A", "b", "a"])
  #expect(fields["c"] == nil)
}

@Test func `setting a field replaces every line of its name and nil removes them`() {
  var fields: Fields = ["A": "1", "b": "2", "a": "3"]
  fields["a"] = "4"
  #expect(fields.lines == [Fields.Line(name: "b", value: "2"), Fields.Line(name: "a", value: "4")])
  fields["B"] = nil
  #expect(fields.lines == [Fields.Line(name: "a", value: "4")])
}
