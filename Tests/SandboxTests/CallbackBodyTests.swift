// Tests of which callback bodies the emulator accepts.

import HTTP
import JSON
import Testing

@testable import Sandbox

@Suite struct CallbackBodyTests {
  private func parse(_ text: String, numbers: [String]? = nil) throws(TalkdeskError) -> CallbackBody {
    try CallbackBody(parsing: Array(text.utf8), phoneNumbers: numbers)
  }

  /// The status and every `name: description` of a refusal.
  private func findings(_ text: String, numbers: [String]? = nil) -> (Int, [String]) {
    do throws(TalkdeskError) {
      _ = try parse(text, numbers: numbers)
      return (201, [])
    } catch {
      return (error.status.code, error.fields.map { "\($0.name): \($0.description)" })
    }
  }

  @Test func `a complete body is taken`() throws {
    let body = try parse(validCallback)
    #expect(body.contactPhoneNumber == "+14155550100")
    #expect(body.talkdeskPhoneNumber == "+18005550199")
    #expect(body.context?["fields"]?.array?.count == 1)
  }

  @Test func `a context may be left out`() throws {
    let body = try parse(#"{"talkdesk_phone_number":"+18005550199","contact_phone_number":"+14155550100"}"#)
    #expect(body.context == nil)
  }

  @Test(arguments: ["", "{", "talkdesk_phone_number=%2B1", #"{"a":1,"a":2}"#, "[]", "null", "\"x\""])
  func `what is not a JSON object is 400`(text: String) {
    #expect(findings(text).0 == 400)
  }

  @Test func `everything missing or unknown is named in one 400`() {
    let (status, fields) = findings(
      #"{"contact_phone_number":1,"extra":true,"context":{"fields":[{"name":"a"}],"b":1}}"#)
    #expect(status == 400)
    #expect(
      fields == [
        "extra: is unknown", "contact_phone_number: is not a string", "talkdesk_phone_number: is missing",
        "context.b: is unknown", "context.fields[0].display_name: is missing",
        "context.fields[0].tooltip_text: is missing", "context.fields[0].data_type: is missing",
        "context.fields[0].value: is missing",
      ])
  }

  @Test(arguments: [
    (#"[]"#, "context: is not an object"), ("{}", "context.fields: is missing"),
    (#"{"fields":{}}"#, "context.fields: is not an array"),
    (#"{"fields":["x"]}"#, "context.fields[0]: is not an object"),
  ])
  func `a context of another shape is 400`(context: String, finding: String) {
    let text =
      #"{"talkdesk_phone_number":"+18005550199","contact_phone_number":"+14155550100","context":\#(context)}"#
    #expect(findings(text) == (400, [finding]))
  }

  @Test(arguments: [
    "4155550100", "+0155550100", "+1", "+1415555010012345", "+1 415", "+1415555O100", "", "tel:+14155550100",
  ])
  func `a number that is not E.164 is 422`(number: String) {
    let text = #"{"talkdesk_phone_number":"+18005550199","contact_phone_number":"\#(number)"}"#
    #expect(findings(text) == (422, ["contact_phone_number: is not an E.164 number"]))
    let other = #"{"talkdesk_phone_number":"\#(number)","contact_phone_number":"+14155550100"}"#
    #expect(findings(other) == (422, ["talkdesk_phone_number: is not an E.164 number"]))
  }

  @Test func `fifteen digits are E.164`() {
    let text = #"{"talkdesk_phone_number":"+18005550199","contact_phone_number":"+141555501001234"}"#
    #expect(findings(text).0 == 201)
  }

  @Test func `a number the account does not have is 422`() {
    #expect(findings(validCallback, numbers: ["+18005550199"]).0 == 201)
    let refused = findings(validCallback, numbers: ["+18005550198"])
    #expect(refused == (422, ["talkdesk_phone_number: is not a number of this account"]))
  }

  @Test(arguments: [
    ("number", "x", "data_type: is not one of phone, text, url"),
    ("Text", "x", "data_type: is not one of phone, text, url"),
    ("phone", "12", "value: is not an E.164 number"), ("phone", "", "value: is not an E.164 number"),
    ("url", "example", "value: is not a URI"), ("url", "https://a b", "value: is not a URI"),
    ("url", "://x", "value: is not a URI"), ("url", "1a:x", "value: is not a URI"),
  ])
  func `a value that does not fit its type is 422`(type: String, value: String, finding: String) {
    #expect(findings(Self.body(type: type, value: value)) == (422, ["context.fields[0].\(finding)"]))
  }

  @Test(arguments: [
    ("phone", "+14155550100"), ("text", ""), ("text", "áß😀"), ("url", "https://example.com/a?b=c#d"),
    ("url", "mailto:a@b"),
  ])
  func `a value that fits its type is taken`(type: String, value: String) {
    #expect(findings(Self.body(type: type, value: value)).0 == 201)
  }

  @Test func `a name twice, or an empty one, is 422`() {
    let field = #"{"name":"n","display_name":"","tooltip_text":"","data_type":"text","value":""}"#
    let numbers = #""talkdesk_phone_number":"+18005550199","contact_phone_number":"+14155550100""#
    let twice = findings(#"{\#(numbers),"context":{"fields":[\#(field),\#(field)]}}"#)
    #expect(twice == (422, ["context.fields[1].name: is not unique"]))
    let empty = findings(#"{\#(numbers),"context":{"fields":[\#(field.replacing("\"n\"", with: "\"\""))]}}"#)
    #expect(empty == (422, ["context.fields[0].name: is empty"]))
  }

  private static func body(type: String, value: String) -> String {
    #"{"talkdesk_phone_number":"+18005550199","contact_phone_number":"+14155550100","context":{"fields":["#
      + #"{"name":"a","display_name":"A","tooltip_text":"A","data_type":"\#(type)","value":"\#(value)"}]}}"#
  }
}
