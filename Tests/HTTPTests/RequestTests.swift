// Tests of how headers of a parsed request are found and read.

import Testing

@testable import HTTP

func request(_ text: String) -> Request {
  var parser = RequestParser()
  var request = Request()
  var offset = 0
  guard case .complete = parser.parse(octets(text).span, from: &offset, into: &request) else {
    preconditionFailure("no whole request: \(text)")
  }
  return request
}

@Test func `fields are found whatever the case of their names`() {
  let request = request(
    "GET / HTTP/1.1\r\nHOST: a\r\nx-forwarded-for: 1\r\nX-Other: o\r\nX-FORWARDED-FOR: 2\r\n\r\n")
  #expect(request.text(of: .host) == "a")
  #expect(request.text(of: .xForwardedFor) == "1")
  #expect(request.values(of: .xForwardedFor).map { request.string($0) } == ["1", "2"])
  #expect(request.count(of: .xForwardedFor) == 2)
  #expect(request.text(of: "x-other") == "o")
  #expect(request.value(of: .authorization) == nil)
  #expect(request.values(of: "x-othe").isEmpty)
  #expect(request.count(of: "x-other2") == 0)
}

@Test func `names with the same hash are compared by their octets`() {
  // These two names collide in FNV-1a; found by search.
  let one = FieldName("costarring")
  let other = FieldName("liquid")
  #expect(one.hash == other.hash && one != other)
  let request = request("GET / HTTP/1.1\r\nHost: a\r\nliquid: water\r\n\r\n")
  #expect(request.value(of: one) == nil)
  #expect(request.text(of: other) == "water")
}

@Test func `octets that are not UTF-8 are replaced in texts and kept in octets`() {
  let request = request("GET / HTTP/1.1\r\nHost: a\r\nX: \u{FF}\r\n\r\n")
  #expect(request.text(of: "X") == "\u{FFFD}")
  #expect(request.value(of: "X").map { Array(request.head[$0]) } == [0xFF])
}

@Test func `a range equals a text octet by octet`() {
  let request = request("GET /access HTTP/1.1\r\nHost: a\r\n\r\n")
  #expect(request.equals(request.path, "/access"))
  #expect(!request.equals(request.path, "/acces"))
  #expect(!request.equals(request.path, "/accesS"))
  #expect(!request.equals(request.path, "/access/"))
}
