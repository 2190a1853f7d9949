// Tests of the labels that an agent reads on a callback's fields: no caller can send one that looks like the
// server's own.

import JSON
import Testing

@testable import API
@testable import Callbacks
@testable import Configuration
@testable import RoomSupport

@Suite struct ContextLabelTests {
  private static let likenesses = [
    "verification_code", "Verification code", "VERIFICATION-CODE", "verification\u{00A0}code",
    "veri\u{200B}fication\u{2060}code", "verif\u{0301}ication code", "\u{FF36}erification\u{FF3F}code",
    "installation", "Installation ", "INSTALLAT\u{0130}ON", "The customer's app shows this code",
    "the CUSTOMER'S app shows this code", "The client_id of the customer's app", "channel", "Chan-nel",
  ]

  private static func terms() throws -> CallbackTerms {
    try .verified(.init(fields: [], additions: [.init(name: "channel", value: "ios")], allowsOthers: true))
  }

  @Test(arguments: likenesses)
  func `a field that looks like one of the server's own is refused, by its name or a label`(_ text: String)
    throws
  {
    let terms = try Self.terms()
    let short = try #require(refusal(of: body(context: #"{"\#(text)":"111111"}"#), terms: terms))
    #expect(short.code == .invalidRequest && short.fields.count == 1)
    let path = "context.fields[0]"
    for (property, rest) in [
      ("name", ""), ("display_name", #","name":"note""#), ("tooltip_text", #","name":"note""#),
    ] {
      let field = #"{"\#(property)":"\#(text)","value":"111111"\#(rest)}"#
      #expect(refusal(of: body(field: field), terms: terms)?.fields.map(\.name) == ["\(path).\(property)"])
      let named = try? CallbackRequest(
        parsing: Array(body(field: field).utf8), terms: terms, namesFields: true)
      #expect(named == nil)
    }
    // Without verification codes, only the names of fields that the server adds are reserved.
    let plain = try CallbackTerms.strict(others: true)
    let isAdded = text == "channel"
    #expect(
      (refusal(of: body(context: #"{"issue":"late","\#(text)":"1"}"#), terms: plain) == nil) == !isAdded)
  }

  @Test(arguments: [
    "code", "my verification code", "verification.code", "note", "", "\u{0432}erification code",
    "the customer's app",
  ]) func `other labels pass, look-alikes of other scripts too`(_ text: String) throws {
    let field = #"{"name":"note","value":"1","display_name":"\#(text)","tooltip_text":"\#(text)"}"#
    #expect(refusal(of: body(field: field), terms: try Self.terms()) == nil)
  }

  @Test func `labels of the schema take the place of the client's, which are ignored`() throws {
    let schema = Configuration.ContextSchema(
      fields: [
        .made("note", displayName: "Note", tooltip: "From the form"), .made("half", displayName: "Half"),
      ], additions: [], allowsOthers: true)
    let terms = try CallbackTerms.verified(schema)
    let asked = #"""
      {"fields":[{"name":"note","display_name":"Verification code","tooltip_text":1,"value":"a"},
      {"name":"half","display_name":"x","tooltip_text":"tip","value":"b"},{"name":"free","display_name":"Free","value":"c"}]}
      """#
    let request = try CallbackRequest(body(context: asked), terms: terms)
    func shown(_ request: CallbackRequest) throws -> [[String?]] {
      try #require(try JSONValue(parsing: request.content)["context"]?["fields"]?.array).map {
        [$0["display_name"]?.string, $0["tooltip_text"]?.string]
      }
    }
    #expect(try shown(request) == [["Note", "From the form"], ["Half", "tip"], ["Free", "free"]])
    let short = try CallbackRequest(body(context: #"{"note":"a","half":"b"}"#), terms: terms)
    #expect(try shown(short) == [["Note", "From the form"], ["Half", "half"]])
    // If an operator changes a label between two attempts, the second still counts as the same request.
    let before = try CallbackRequest(body(context: #"{"note":"a","half":"b"}"#), terms: try .plain())
    #expect(before.fingerprint == short.fingerprint)
  }
}
