// Tests that headers which a handler adds reach every kind of response.

import HTTP
import Testing

@testable import HTTPServer

@Test(arguments: ["/a", "/large", "/nothing", "/drop", "/split"])
func `fields added to a response are on every response`(path: String) throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send("GET \(path) HTTP/1.1\r\nHost: a\r\nOrigin: https://a.example\r\n\r\n")
  #expect(try client.answer().fields["x-extra"] == "1")
  let other = try server.client()
  try other.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
  #expect(try other.answer().fields["x-extra"] == nil)
}

@Test func `fields put on an answer stay with it when it is deferred`() async throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send(
    "GET /defer HTTP/1.1\r\nHost: a\r\nOrigin: https://a.example\r\n\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\n")
  let responder = try await server.handler.nextResponder()
  responder.respond(Response(status: .accepted))
  let answer = try client.answer()
  #expect(answer.status == 202 && answer.fields["x-extra"] == "1")
  // The next response does not have the field.
  #expect(try client.answer().fields["x-extra"] == nil)
}

@Test func `a refused request gets its fields where its head is whole`() throws {
  let server = try TestServer()
  let client = try server.client()
  try client.send(
    "POST / HTTP/1.1\r\nHost: a\r\nOrigin: https://a.example\r\nContent-Length: 99999999\r\n\r\n")
  let refusal = try client.answer()
  #expect(refusal.status == 413 && refusal.fields["x-extra"] == "1")
  let malformed = try server.client()
  try malformed.send("GET / HTTP/1.1\r\nOrigin: https://a.example\r\nHo st: a\r\n\r\n")
  let answer = try malformed.answer()
  #expect(answer.status == 400 && answer.fields["x-extra"] == nil)
}
