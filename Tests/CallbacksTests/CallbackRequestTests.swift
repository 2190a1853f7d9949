// Tests of how a callback request is parsed, and of the body that goes to Talkdesk.

import Foundation
import Gate
import JSON
import TestSupport
import Testing

@testable import API
@testable import Callbacks
@testable import Configuration
@testable import RoomSupport

@Suite struct CallbackRequestTests {
  static func example(_ name: String) throws -> [UInt8] {
    return [UInt8](
      try Data(contentsOf: Checkout.root.appendingPathComponent("Examples/samples/callbacks/\(name)")))
  }

  @Test func `interfaces without a list of fields read mistakes by the field's name`() throws {
    let fields = #"{"fields":[{"name":"a","value":5},{"name":"b","value":"ok"},{"name":"a","value":"x"},"#
    let terms = try CallbackTerms.plain()
    let content = body(context: fields + #"{"name":"c","value":"\u0000"}]}"#)
    for (namesFields, expected) in [
      (true, ["context.a", "context.a", "context.c"]),
      (false, ["context.fields[0].value", "context.fields[2].name", "context.fields[3].value"]),
    ] {
      do throws(Problem) {
        _ = try CallbackRequest(parsing: Array(content.utf8), terms: terms, namesFields: namesFields)
        Issue.record("it was taken")
      } catch {
        #expect(error.fields.map(\.name) == expected)
      }
    }
  }

  @Test func `Talkdesk's own body passes unchanged`() throws {
    let content = try Self.example("talkdesk-body.json")
    // The example has the sandbox's number, so that it can be tried there.
    let terms = CallbackTerms(talkdeskNumbers: [try E164("+18005550199")])
    let request = try CallbackRequest(parsing: content, terms: terms)
    #expect(try JSONValue(parsing: request.content) == JSONValue(parsing: content))
    #expect(request.maskedContact == "+*********00")
  }

  @Test func `the short form becomes both numbers and all five properties`() throws {
    let request = try CallbackRequest(parsing: Self.example("short-form.json"), terms: .plain())
    let sent = try JSONValue(parsing: request.content)
    #expect(sent["talkdesk_phone_number"] == .string(accountNumber))
    #expect(sent["contact_phone_number"] == .string(customerNumber))
    let fields = try #require(sent["context"]?["fields"]?.array)
    #expect(fields.count == 3)
    #expect(
      fields[0] == [
        "name": "issue", "display_name": "issue", "tooltip_text": "issue", "data_type": "text",
        "value": "My flight was canceled",
      ])
  }

  @Test func `without context none is sent`() throws {
    for text in [
      #"{"contact_phone_number":"+14155550100"}"#, body(context: "{}"), body(context: #"{"fields":[]}"#),
    ] {
      let request = try CallbackRequest(text, terms: .plain())
      #expect(
        String(decoding: request.content, as: UTF8.self)
          == #"{"talkdesk_phone_number":"+18500000000","contact_phone_number":"+14155550100"}"#)
    }
  }

  @Test(arguments: [
    #"{"contact_phone_number":"\u002b14155550100"}"#,
    body(context: #"{"issue":"\u0041 \"quoted\" \\ \/ é \ud83d\ude00"}"#),
    body(context: #"{"\u00e9":"composed","e\u0301":"decomposed"}"#),
    body(
      field: #"{"name":"p","display_name":"","tooltip_text":"t","data_type":"phone","value":"+351912345678"}"#
    ),
    body(
      field:
        #"{"name":"u","data_type":"url","value":"https://[::1]:8443/a?b=c%20d#e"}, {"name":"v","value":""}"#),
  ]) func `what is accepted is accepted again as it is sent`(text: String) throws {
    let first = try CallbackRequest(text, terms: .plain())
    let second = try CallbackRequest(parsing: first.content, terms: .plain())
    #expect(first.content == second.content)
    #expect(first.fields == second.fields)
    #expect(first.contactNumber == second.contactNumber && first.talkdeskNumber == second.talkdeskNumber)
  }

  @Test(arguments: [
    "https://a.example", "HTTP://a.example:8443/x?y=1#z", "https://", "https:///path",
    "https://user@a.example:",
    "https://a.example/%00", "https://[::1]:443", "https://[v1.a:b]", "https://256.1.1.1:65536", "https:/a",
    "x:", "x:#a?b/c",
    "mailto:ann@example.com", "tel:+14155550100", "ftp://h/x", "shop://order/1",
    "urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66",
    "vbscript:x", "datax:", "h323:a;b", "blob:https://a.example/x",
    "https://a.example/" + String(repeating: "x", count: 2030),
  ]) func `a url is any absolute URI`(text: String) throws {
    let request = try CallbackRequest(
      body(field: #"{"name":"u","data_type":"url","value":"\#(text)"}"#), terms: .plain())
    #expect(request.fields.map(\.value) == [text])
  }

  @Test func `made-up requests survive being sent and read again`() throws {
    var seed: UInt64 = 7
    func dice(_ sides: Int) -> Int {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(seed >> 33) % sides
    }
    let letters = Array("ab \"\\/é😀{}[],:+<>&".unicodeScalars)
    for _ in 0..<500 {
      var context = JSONObject()
      for number in 0..<dice(21) {
        var text = String.UnicodeScalarView()
        for _ in 0..<dice(256) { text.append(letters[dice(letters.count)]) }
        context.append("f\(number)", .string(String(text)))
      }
      let asked: JSONValue = [
        "contact_phone_number": .string("+1415555\(1000 + dice(9000))"), "context": .object(context),
      ]
      let content = asked.serialized()
      guard content.count <= CallbackLimits.contentBytes else { continue }
      let first = try CallbackRequest(parsing: content, terms: .plain())
      #expect(first.fields.map(\.value) == context.members.map(\.value.string))
      // The short form grows when it is expanded, so the body sent may exceed the limit for received bodies.
      guard first.content.count <= CallbackLimits.contentBytes else { continue }
      #expect(try CallbackRequest(parsing: first.content, terms: .plain()).content == first.content)
    }
  }

  @Test func `limits hold at their edge and break one beyond it`() throws {
    let terms = try CallbackTerms.plain()
    func field(name: Int = 1, label: Int = 1, value: Int = 1) -> String {
      let (n, l, v) = ("n", "l", "😀")
      return body(
        field:
          #"{"name":"\#(String(repeating: n, count: name))","display_name":"\#(String(repeating: l, count: label))","#
          + #""value":"\#(String(repeating: v, count: value))"}"#)
    }
    #expect(refusal(of: field(name: 64, label: 255, value: 255), terms: terms) == nil)
    #expect(refusal(of: field(name: 65), terms: terms)?.fields.map(\.name) == ["context.fields[0].name"])
    #expect(
      refusal(of: field(label: 256), terms: terms)?.fields.map(\.name)
        == ["context.fields[0].display_name"])
    #expect(refusal(of: field(value: 256), terms: terms)?.fields.map(\.name) == ["context.fields[0].value"])

    func fields(_ count: Int) -> String {
      body(context: "{" + (0..<count).map { #""f\#($0)":"""# }.joined(separator: ",") + "}")
    }
    #expect(refusal(of: fields(20), terms: terms) == nil)
    #expect(refusal(of: fields(21), terms: terms)?.fields.map(\.name) == ["context"])

    let shortest = #"{"contact_phone_number":"+14155550100"}"#
    let filler = String(repeating: " ", count: CallbackLimits.contentBytes - shortest.utf8.count)
    #expect(refusal(of: shortest + filler, terms: terms) == nil)
    #expect(refusal(of: shortest + filler + " ", terms: terms)?.code == .contentTooLarge)
  }

  @Test(arguments: [
    (#"{"phone":"+14155550100"}"#, "phone", "This member is unknown. Did you mean contact_phone_number?"),
    (#"{"contact_phone_numer":"+14155550100"}"#, "contact_phone_numer", "Did you mean contact_phone_number?"),
    (#"{"contact_phone_number":"+14155550100","phone":"x"}"#, "phone", "Did you mean talkdesk_phone_number?"),
    (
      #"{"contact_phone_number":"+14155550100","colour":"x"}"#, "colour",
      "This member is unknown. Leave it out."
    ),
    (#"{"contact_phone_number":"+14155550100","_":"x"}"#, "_", "Leave it out."),
    ("{\"contact_phone_number\u{200B}\":\"+14155550100\"}", "contact_phone_number\u{200B}", "U+200B"),
    (#"{"contact_phone_number":"+14155550100","at":1795458181}"#, "at", "such as 2026-11-23T10:00:00-05:00"),
  ])
  func `a slip is told with what was meant`(_ text: String, _ name: String, _ words: String) throws {
    let problem = try #require(refusal(of: text, terms: .plain()))
    let field = try #require(problem.fields.first { $0.name == name })
    #expect(field.description.contains(words), "\(field)")
  }

  @Test func `every problem is named in one answer`() throws {
    let problem = try #require(
      refusal(
        of: #"{"contact_phone_number":"001 415","talkdesk_phone_number":5,"priority":1,"context":{"fields":["#
          + #"{"name":"a","value":"x\ny"},{"name":"a","data_type":"URL","value":1,"color":"red"},7]}}"#,
        terms: .plain()))
    #expect(problem.code == .invalidRequest)
    #expect(
      problem.fields.map(\.name) == [
        "priority", "contact_phone_number", "talkdesk_phone_number", "context.fields[0].value",
        "context.fields[1].color", "context.fields[1].name", "context.fields[1].data_type",
        "context.fields[1].value", "context.fields[2]",
      ])
  }

  @Test(arguments: [
    ("+1 415 555 0100", "spaces"), ("+1-415-555-0100", "dashes"), ("0014155550100", "leading 00"),
    ("14155550100", "Begin with +"), ("+04155550100", "does not begin with 0"), ("", "E.164"),
    ("+1415555010a", "digits 0 to 9"), ("+１４１５５５５０１００", "digits 0 to 9"), ("+123", "at least 6 digits"),
    ("+1234567890123456", "at most 15 digits"), ("\u{202D}+14155550100\u{202C}", "U+202D"),
  ]) func `a number is never corrected, but the correction is suggested`(number: String, hint: String) throws
  {
    let problem = try #require(refusal(of: #"{"contact_phone_number":"\#(number)"}"#, terms: .plain()))
    #expect(problem.fields.map(\.name) == ["contact_phone_number"])
    #expect(problem.fields[0].description.contains(hint))
  }

  @Test func `the account's number has to be allowed`() throws {
    func text(_ number: String) -> String {
      #"{"contact_phone_number":"+14155550100","talkdesk_phone_number":"\#(number)"}"#
    }
    #expect(try CallbackRequest(text("+18500000001"), terms: .plain()).talkdeskNumber.text == "+18500000001")
    #expect(
      try refusal(of: text("+18500000002"), terms: .plain())?.fields.map(\.name) == ["talkdesk_phone_number"])
    let none = CallbackTerms(talkdeskNumbers: [])
    #expect(try CallbackRequest(text("+18500000002"), terms: none).talkdeskNumber.text == "+18500000002")
    #expect(
      refusal(of: #"{"contact_phone_number":"+14155550100"}"#, terms: none)?.fields.map(\.name)
        == ["talkdesk_phone_number"])
  }

  @Test func `in the sandbox any number of the account's is taken, and its own is only the default`() throws {
    let own = "talkdesk_phone_numbers: [\"+18500000001\"]"
    let yaml = "callbacks: { \(own) }\napps: { shop: { \(own) } }"
    for (purpose, isTaken) in [(ConfigurationPurpose.sandbox, true), (.serve, false)] {
      let configuration = try Fixture.load(yaml, for: purpose).configuration
      for app in [nil, configuration.apps.first] {
        let terms = CallbackTerms(app: app, configuration)
        let text = #"{"contact_phone_number":"+14155550100","talkdesk_phone_number":"+1850000000"}"#
        #expect((refusal(of: text, terms: terms) == nil) == isTaken)
        let usual = try CallbackRequest(#"{"contact_phone_number":"+14155550100"}"#, terms: terms)
        #expect(usual.talkdeskNumber.text == "+18500000001")
        let bad = #"{"contact_phone_number":"+14155550100","talkdesk_phone_number":"850000000"}"#
        #expect(refusal(of: bad, terms: terms)?.fields.map(\.name) == ["talkdesk_phone_number"])
      }
    }
  }

  @Test func `a name that may be a number is masked and a long one cut in the answer`() throws {
    let long = String(repeating: "x", count: 100)
    let problem = try #require(
      refusal(
        of: #"{"contact_phone_number":"+14155550100","+14155550123":1,"\#(long)":2,"a\u0000b":3}"#,
        terms: .plain()))
    #expect(
      problem.fields.map(\.name) == ["+*********23", String(repeating: "x", count: 64) + "…", "a?b"])
  }

  @Test func `an answer names a hundred problems and that there are more`() throws {
    let members = (0..<200).map { #""m\#($0)":0"# }.joined(separator: ",")
    let problem = try #require(refusal(of: "{\(members)}", terms: .plain()))
    #expect(problem.fields.count == 101)
    #expect(problem.fields.last?.name == "")
  }

  @Test func `a time is taken to the second, whatever its offset, and Talkdesk is not told of it`() throws {
    func asked(_ at: String) throws -> CallbackRequest {
      try CallbackRequest(#"{"contact_phone_number":"\#(customerNumber)","at":\#(at)}"#, terms: .plain())
    }
    let request = try asked(#""2026-11-23T10:00:00.999-05:00""#)
    #expect(request.at == Instant(rfc3339: "2026-11-23T15:00:00Z"))
    #expect(try request.fingerprint == asked(#""2026-11-23t15:00:00z""#).fingerprint)
    #expect(try request.fingerprint != asked(#""2026-11-23T15:00:01Z""#).fingerprint)
    let now = try asked("null")
    #expect(now.at == nil && now.fingerprint != request.fingerprint && now.content == request.content)
    let plain = try CallbackRequest(#"{"contact_phone_number":"\#(customerNumber)"}"#, terms: .plain())
    #expect(now.fingerprint == plain.fingerprint)
  }

  @Test func `the fingerprint is of what was asked, however it was written`() throws {
    let terms = try CallbackTerms.plain()
    let one = try CallbackRequest(body(context: #"{"issue":"A","name":"B"}"#), terms: terms)
    let same = try CallbackRequest(
      #"{ "context":{"fields":[{"value":"\u0041","name":"issue"},{"name":"name","value":"B","data_type":"text"}]},"#
        + #""contact_phone_number":"+14155550100"}"#, terms: terms)
    let other = try CallbackRequest(body(context: #"{"issue":"A","name":"C"}"#), terms: terms)
    let reordered = try CallbackRequest(body(context: #"{"name":"B","issue":"A"}"#), terms: terms)
    let elsewhere = try CallbackRequest(
      body(context: #"{"issue":"A","name":"B"}"#),
      terms: CallbackTerms(talkdeskNumbers: [E164("+351210000000")]))
    #expect(one.fingerprint == same.fingerprint)
    #expect(one.fingerprint == elsewhere.fingerprint)
    #expect(one.fingerprint != other.fingerprint)
    #expect(one.fingerprint != reordered.fingerprint)
    #expect(one.fingerprint.count == 64)
  }
}
