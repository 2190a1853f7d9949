// Tests of how an app's schema checks and extends the context of a callback.

import JSON
import Testing

@testable import API
@testable import Callbacks
@testable import RoomSupport

@Suite struct ContextSchemaTests {
  @Test func `the schema's types apply and the server's fields come last`() throws {
    let request = try CallbackRequest(
      body(context: #"{"issue":"late","mobile":"+351912345678"}"#), terms: .strict())
    let fields = try #require(try JSONValue(parsing: request.content)["context"]?["fields"]?.array)
    #expect(fields.map { $0["name"] } == ["issue", "mobile", "channel"])
    #expect(fields.map { $0["data_type"] } == ["text", "phone", "text"])
    #expect(fields[2]["value"] == "ios" && fields[2]["display_name"] == "channel")
  }

  @Test(arguments: [
    (#"{"mobile":"+351912345678"}"#, "context.issue"),
    (#"{"issue":"longer"}"#, "context.issue"),
    (#"{"issue":"late","mobile":"912345678"}"#, "context.mobile"),
    (#"{"issue":"late","page":"javascript:alert(1)"}"#, "context.page"),
    (#"{"issue":"late","channel":"android"}"#, "context.channel"),
    (#"{"issue":"late","colour":"red"}"#, "context.colour"),
    (
      #"{"fields":[{"name":"issue","data_type":"url","value":"late"}]}"#, "context.fields[0].data_type"
    ),
  ]) func `what the schema does not allow is refused by name`(context: String, path: String) throws {
    let problem = try #require(refusal(of: body(context: context), terms: .strict()))
    #expect(problem.code == .invalidRequest)
    #expect(problem.fields.map(\.name) == [path])
  }

  @Test func `a required field is missed without any context`() throws {
    let problem = try #require(
      refusal(of: #"{"contact_phone_number":"+14155550100"}"#, terms: .strict()))
    #expect(problem.fields.map(\.name) == ["context.issue"])
  }

  @Test func `with too many fields each is looked at all the same`() throws {
    let others = (0..<20).map { #""f\#($0)":"""# }.joined(separator: ",")
    let problem = refusal(of: body(context: #"{"issue":"late",\#(others)}"#), terms: try .strict())
    #expect(problem?.fields.map(\.name) == ["context"] + (0..<20).map { "context.f\($0)" })
  }

  @Test func `other fields pass where allowed, but not over the server's own`() throws {
    let terms = try CallbackTerms.strict(others: true)
    #expect(refusal(of: body(context: #"{"issue":"late","colour":"red"}"#), terms: terms) == nil)
    #expect(
      refusal(of: body(context: #"{"issue":"late","channel":"web"}"#), terms: terms)?.fields.map(\.name)
        == ["context.channel"])
  }

  @Test func `a schema may allow longer values than the general limit`() throws {
    let url = "https://shop.example/" + String(repeating: "a", count: 979)
    let terms = try CallbackTerms.strict()
    #expect(refusal(of: body(context: #"{"issue":"late","page":"\#(url)"}"#), terms: terms) == nil)
    #expect(refusal(of: body(context: #"{"issue":"late","page":"\#(url)a"}"#), terms: terms) != nil)
  }
}
