// Tests of how paths and queries of requests are read.

import HTTP
import Testing

private func get(_ target: String) -> Request { request("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n") }

@Test func `a path is compared without decoding`() {
  #expect(get("/access").pathIs("/access"))
  #expect(get("/access?probe").pathIs("/access"))
  #expect(get("/access?probe").pathStarts(with: "/acc") && get("/access").pathStarts(with: "/access"))
  #expect(!get("/access?probe").pathStarts(with: "/access?") && !get("/acc").pathStarts(with: "/access"))
  #expect(!get("/%61ccess").pathIs("/access"))
  #expect(!get("/access/").pathIs("/access"))
  #expect(get("http://a").pathIs("/"))
}

@Test(arguments: [
  ("/", []), ("/token/app", ["token", "app"]), ("//token///app//", ["token", "app"]), ("/a", ["a"]),
  ("/a/", ["a"]),
]) func `empty segments are left out`(path: String, segments: [String]) {
  let request = get(path)
  #expect(request.pathSegments().map { request.string($0) } == segments)
}

@Test(arguments: [
  ("/a", "/a"), ("/%61%2F", "/a/"), ("/%C3%BC", "/ü"), ("/+", "/+"), ("/%FF", nil), ("/%C0%AF", nil),
  ("/%00", nil),
  ("/%0d%0a", nil), ("/%7f", nil), ("/%ED%A0%80", nil),
]) func `percent-decoding refuses what is not UTF-8 or a control octet`(path: String, decoded: String?) {
  let request = get(path)
  #expect(request.percentDecoded(request.path) == decoded)
}

@Test func `a query is taken apart once, with every member in its order`() {
  let members = get("/?a=1&b&=x&%61=2&a=%FF&%FF=3&&c=d=e&f=").queryMembers
  #expect(members.map(\.name) == ["a", "b", "", "a", "a", "%FF", "c", "f"])
  #expect(members.map(\.value) == ["1", "", "x", "2", nil, "3", "d=e", ""])
  #expect(get("/").queryMembers.isEmpty && get("/?").queryMembers.isEmpty)
}

@Test func `names of queries and forms are compared by their octets`() throws {
  // Both are an e with an acute accent: one scalar, and two.
  let target = "/?%C3%A9=1&e%CC%81=2"
  #expect(get(target).queryItem("\u{E9}") == .value("1"))
  #expect(get(target).queryItem("e\u{301}") == .value("2"))
  let form = try Form(decoding: Array("%C3%A9=1&e%CC%81=2".utf8))
  #expect(form["\u{E9}"] == "1" && form["e\u{301}"] == "2")
}

@Test(arguments: [
  ("/", Request.QueryItem.absent), ("/?", .absent), ("/?b=1", .absent), ("/?app", .value("")),
  ("/?app=", .value("")),
  ("/?app=x", .value("x")), ("/?b&app=x&c", .value("x")), ("/?%61pp=%78", .value("x")),
  ("/?app=a=b", .value("a=b")),
  ("/?app=+1", .value("+1")), ("/?app=a&app=a", .malformed), ("/?app&app=a", .malformed),
  ("/?app=%FF", .malformed),
  ("/?app=%00", .malformed), ("/?&&app=x&", .value("x")), ("/?%FF=1&app=x", .value("x")),
  ("/?App=x", .absent),
  ("/?apps=x", .absent), ("/?=app", .absent),
]) func `a query item is there once or not at all`(target: String, item: Request.QueryItem) {
  #expect(get(target).queryItem("app") == item)
  #expect(get(target).hasQueryItem("app") == (item != .absent))
  // A known text may replace its bytes. The closure is not called for encoded bytes.
  let known = get(target).queryItem("app") { octets in
    for index in octets.indices {
      let octet = octets[index]
      #expect(octet != UInt8(ascii: "%"))
    }
    return octets.count == 1 && octets[0] == UInt8(ascii: "x") ? "known" : nil
  }
  #expect(known == (item == .value("x") && !target.contains("%78") ? .value("known") : item))
}
