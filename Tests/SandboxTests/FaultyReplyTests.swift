// Tests of how a fault changes a response of the emulator.

import HTTP
import JSON
import Testing

@testable import Sandbox

@Suite struct FaultyReplyTests {
  private func content(_ reply: Reply?) -> String { String(decoding: reply?.content ?? [], as: UTF8.self) }

  @Test(arguments: [
    (400, "invalid_request"), (401, "invalid_client"), (403, "access_denied"),
    (429, "temporarily_unavailable"),
    (500, "server_error"), (503, "temporarily_unavailable"), (599, "server_error"),
  ])
  func `a status without a body has OAuth's shape at the token endpoint`(status: Int, error: String) throws {
    var fault = Fault(endpoint: .token)
    fault.status = status
    let reply = try #require(fault.refusal())
    #expect(reply.status.code == status)
    #expect(reply.fields["Content-Type"] == "application/json")
    let value = try JSONValue(parsing: reply.content)
    #expect(value.object?.members.map(\.name) == ["error", "error_description"])
    #expect(value["error"] == .string(error))
  }

  @Test(arguments: [400, 401, 403, 415, 422, 429, 500, 503])
  func `a status without a body has the platform's envelope at the Callback API`(status: Int) throws {
    var fault = Fault(endpoint: .callback)
    fault.status = status
    let reply = try #require(fault.refusal())
    #expect(reply.status.code == status)
    let value = try JSONValue(parsing: reply.content)
    #expect(value.object?.members.map(\.name) == ["code", "message", "description"])
  }

  @Test func `a fault without a status, or with one of success, refuses nothing`() {
    var fault = Fault(endpoint: .token)
    #expect(fault.refusal() == nil)
    #expect(!fault.preventsAction)
    fault.status = 299
    #expect(fault.refusal() == nil)
    #expect(!fault.preventsAction)
    fault.status = 300
    #expect(fault.preventsAction)
  }

  @Test(arguments: [
    (Fault.Body.text("<html>"), "<html>", "text/html; charset=utf-8"),
    (.text("{\"a\":1}"), "{\"a\":1}", "application/json"),
    (.text("{\"a\":"), "{\"a\":", "text/plain; charset=utf-8"),
    (.value(["a": [1, .null]]), "{\"a\":[1,null]}", "application/json"),
  ])
  func `a body goes out as it was given`(body: Fault.Body, text: String, type: String) {
    var fault = Fault(endpoint: .token)
    fault.body = body
    let reply = fault.apply(to: .json(.ok, Array("{}".utf8)), isRefusalOfTheRequest: false)
    #expect(reply.status == .ok)
    #expect(content(reply) == text)
    #expect(reply.fields["Content-Type"] == type)
  }

  @Test func `an empty body has no content type, and 204 has no content`() {
    var fault = Fault(endpoint: .callback)
    fault.body = .text("")
    let empty = fault.apply(to: .json(.created, Array("{}".utf8)), isRefusalOfTheRequest: false)
    #expect(empty.content.isEmpty)
    #expect(empty.fields["Content-Type"] == nil)
    fault = Fault(endpoint: .callback)
    fault.status = 204
    let noContent = fault.apply(to: .json(.created, Array("{}".utf8)), isRefusalOfTheRequest: false)
    #expect(noContent.status.code == 204)
    #expect(noContent.content.isEmpty)
    #expect(noContent.fields["Content-Type"] == nil)
  }

  @Test func `a refusal that the request earned stays, and only Retry-After is added`() {
    var fault = Fault(endpoint: .token)
    fault.status = 202
    fault.body = .text("x")
    fault.retryAfter = "9"
    let reply = fault.apply(to: .json(.unauthorized, Array("{}".utf8)), isRefusalOfTheRequest: true)
    #expect(reply.status == .unauthorized)
    #expect(content(reply) == "{}")
    #expect(reply.fields["Retry-After"] == "9")
  }
}
