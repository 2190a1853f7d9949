// Tests of which requests the parser accepts, and at which byte it refuses others.

import HTTP
import Testing

private let host = "Host: a.example\r\n"

@Test func `a request is parsed into its parts`() {
  let trace = ParserTrace(
    octets(
      "POST /token/app?x=1&y HTTP/1.1\r\nHost: a.example:80\r\nX-Empty:\r\nX-Tab:\t b \t\r\nContent-Length: 5\r\n\r\nhello"
    ))
  #expect(
    trace.requests == [
      ParserTrace.Parsed(
        line: "post /token/app?x=1&y http11",
        fields: ["Host=a.example:80", "X-Empty=", "X-Tab=b", "Content-Length=5"], content: "hello",
        closes: false)
    ])
  #expect(trace.end == .open("idle"))
}

/// Streams that must be accepted, and the request lines in each.
private let accepted: [(String, [String])] = [
  ("GET / HTTP/1.1\r\n\(host)\r\n", ["get / http11"]),
  ("GET / HTTP/1.0\r\n\r\n", ["get / http10"]),
  ("GET / HTTP/1.2\r\n\(host)\r\n", ["get / http11"]),
  ("\r\nGET / HTTP/1.1\r\n\(host)\r\n", ["get / http11"]),
  ("GET /a HTTP/1.1\r\n\(host)\r\nGET /b HTTP/1.1\r\n\(host)\r\n", ["get /a http11", "get /b http11"]),
  ("GET /a HTTP/1.1\r\n\(host)\r\n\r\nGET /b HTTP/1.1\r\n\(host)\r\n", ["get /a http11", "get /b http11"]),
  ("HEAD /%61?q=%20~ HTTP/1.1\r\n\(host)\r\n", ["head /%61?q=%20~ http11"]),
  ("OPTIONS * HTTP/1.1\r\n\(host)\r\n", ["options * http11"]),
  ("GET http://a.example HTTP/1.1\r\n\(host)\r\n", ["get / http11"]),
  ("GET HTTP://a.example?q HTTP/1.1\r\n\(host)\r\n", ["get /?q http11"]),
  ("GET https://other.example:8443/x?q HTTP/1.1\r\n\(host)\r\n", ["get /x?q http11"]),
  ("get / HTTP/1.1\r\n\(host)\r\n", ["other / http11"]),
  ("M-SEARCH / HTTP/1.1\r\n\(host)\r\n", ["other / http11"]),
  ("DELETE /a HTTP/1.1\r\n\(host)!#$%&'*+-.^_`|~09azAZ: v\r\n\r\n", ["delete /a http11"]),
  ("GET / HTTP/1.1\r\n\(host)X: D\u{FC}sseldorf\tand \u{FF}\r\n\r\n", ["get / http11"]),
  ("PUT / HTTP/1.1\r\nhOsT:[2001:db8::1]:443\r\nContent-Length: 0\r\n\r\n", ["put / http11"]),
  (
    "POST / HTTP/1.1\r\n\(host)Content-Length: 00003 \t\r\n\r\nabcTRACE / HTTP/1.1\r\n\(host)\r\n",
    ["post / http11", "trace / http11"]
  ),
  (
    "POST / HTTP/1.1\r\n\(host)Transfer-Encoding:  cHunked\t\r\n\r\n3\r\nabc\r\n0\r\n\r\nPATCH / HTTP/1.1\r\n\(host)\r\n",
    ["post / http11", "patch / http11"]
  ),
  ("GET / HTTP/1.1\r\n\(host)Cookie: a\r\nCookie: b\r\nContent_Length: 99\r\n\r\n", ["get / http11"]),
]

@Test(arguments: accepted) func `what RFC 9112 allows is taken`(stream: String, lines: [String]) {
  let trace = ParserTrace(octets(stream))
  #expect(trace.requests.map(\.line) == lines)
  #expect(trace.end == .open("idle"))
  #expect(segmentationMatters(octets(stream)) == nil)
}

/// Streams that must be refused as malformed. Each has one fault, which comes first.
private let malformed: [String] = [
  // Request lines.
  " / HTTP/1.1\r\n", "GET  / HTTP/1.1\r\n", "GET /  HTTP/1.1\r\n", "GET / HTTP/1.1 \r\n",
  "GET\t/\tHTTP/1.1\r\n",
  "GET /\r\n", "GET HTTP/1.1\r\n", "GET  HTTP/1.1\r\n", "GE(T / HTTP/1.1\r\n", "G\u{C9}T / HTTP/1.1\r\n",
  "GET / HTTP/2.0\r\n", "GET / HTTP/0.9\r\n", "GET / http/1.1\r\n", "GET / HTTP/1.\r\n",
  "GET / HTTP/1.10\r\n",
  "GET / HTTP/1.x\r\n", "GET / HTTP/01.1\r\n", "GET / HTTPS/1.1\r\n", "PRI * HTTP/2.0\r\n",
  // Targets.
  "GET * HTTP/1.1\r\n", "OPTIONS ** HTTP/1.1\r\n", "GET a.example HTTP/1.1\r\n", "GET \\x HTTP/1.1\r\n",
  "GET /a b HTTP/1.1\r\n", "GET /\u{FC} HTTP/1.1\r\n", "GET /a#b HTTP/1.1\r\n", "GET /\" HTTP/1.1\r\n",
  "GET /< HTTP/1.1\r\n", "GET /{ HTTP/1.1\r\n", "GET /[ HTTP/1.1\r\n", "GET /\\ HTTP/1.1\r\n",
  "GET /^ HTTP/1.1\r\n",
  "GET /% HTTP/1.1\r\n", "GET /%4 HTTP/1.1\r\n", "GET /%4g HTTP/1.1\r\n", "GET /?%zz HTTP/1.1\r\n",
  "GET /?a=[ HTTP/1.1\r\n", "GET http:///x HTTP/1.1\r\n", "GET http://a:b@c/x HTTP/1.1\r\n",
  "GET http://a:123456/ HTTP/1.1\r\n", "GET ftp://a/ HTTP/1.1\r\n", "GET http:// HTTP/1.1\r\n",
  "CONNECT a.example:443 HTTP/1.1\r\n", "CONNECT / HTTP/1.1\r\n",
  // Line ends and control octets.
  "\n", "\r\r", "\r\n\n", "GET / HTTP/1.1\n", "GET / HTTP/1.1\rX", "GET /\u{0}",
  "GET / HTTP/1.1\r\nA: \u{0}",
  "GET / HTTP/1.1\r\nA: b\u{7F}", "GET / HTTP/1.1\r\nA: b\u{B}", "GET / HTTP/1.1\r\nA: b\n",
  "GET / HTTP/1.1\r\nA: b\rC",
  "GET / HTTP/1.1\r\n\(host)\r\r",
  // Field lines.
  "GET / HTTP/1.1\r\n A: b\r\n", "GET / HTTP/1.1\r\nA: b\r\n c\r\n", "GET / HTTP/1.1\r\nA: b\r\n\tc\r\n",
  "GET / HTTP/1.1\r\nA : b\r\n", "GET / HTTP/1.1\r\nA\t: b\r\n", "GET / HTTP/1.1\r\n: b\r\n",
  "GET / HTTP/1.1\r\nA\r\n",
  "GET / HTTP/1.1\r\nA B: c\r\n", "GET / HTTP/1.1\r\nA(: c\r\n", "GET / HTTP/1.1\r\n\u{E4}: c\r\n",
  // Host.
  "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n", "GET / HTTP/1.1\r\n\(host)\(host)",
  "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n", "GET / HTTP/1.1\r\nHost: a, b\r\n",
  "GET / HTTP/1.1\r\nHost: a@b\r\n",
  // Fields that must occur once.
  "GET / HTTP/1.1\r\nAuthorization: a\r\nauthorization: a\r\n",
  "GET / HTTP/1.1\r\nX-API-Key: a\r\nX-Api-Key: a\r\n",
  "GET / HTTP/1.1\r\nContent-Type: a\r\nContent-Type: a\r\n", "GET / HTTP/1.1\r\nOrigin: a\r\nOrigin: b\r\n",
  "GET / HTTP/1.1\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\n",
  // Framing.
  "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n",
  "POST / HTTP/1.1\r\nContent-Length: 5, 5\r\n",
  "POST / HTTP/1.1\r\nContent-Length: +5\r\n", "POST / HTTP/1.1\r\nContent-Length: -5\r\n",
  "POST / HTTP/1.1\r\nContent-Length: 0x5\r\n", "POST / HTTP/1.1\r\nContent-Length: 5_0\r\n",
  "POST / HTTP/1.1\r\nContent-Length: 5 0\r\n", "POST / HTTP/1.1\r\nContent-Length:\r\n",
  "POST / HTTP/1.1\r\nContent-Length: 5\u{A0}\r\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding: identity\r\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked,\r\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding:\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: \"chunked\"\r\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
  "POST / HTTP/1.0\r\n\(host)Transfer-Encoding: chunked\r\n\r\n",
  "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
  "POST / HTTP/1.1\r\n\(host)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
]

@Test(arguments: malformed) func `what RFC 9112 forbids is refused at the octet that shows it`(stream: String)
{
  let trace = ParserTrace(octets(stream))
  #expect(trace.requests.isEmpty)
  #expect(trace.end == .failed(.malformed))
  // Without its last byte, the stream is not wrong yet: the refusal comes neither early nor late.
  let shorter = ParserTrace(Array(octets(stream).dropLast()))
  #expect(shorter.end != .failed(.malformed))
  #expect(segmentationMatters(octets(stream)) == nil)
}

@Test func `a control octet is refused at every index of a value`() {
  for control in Array(UInt8(0)..<0x20) + [0x7F] where control != 0x0D {
    for index in 0..<20 {
      let value = [UInt8](repeating: UInt8(ascii: "v"), count: index)
      let stream = octets("GET / HTTP/1.1\r\nX: ") + value + [control]
      let isTab = control == 0x09
      #expect((ParserTrace(stream).end == .failed(.malformed)) != isTab)
      #expect((ParserTrace(stream + octets("vvvvvvvvvvvv")).end == .failed(.malformed)) != isTab)
      #expect(ParserTrace(Array(stream.dropLast()) + [0xFF]).end != .failed(.malformed))
    }
  }
}

@Test func `a head of exactly the limit is taken and one octet more is refused`() {
  let limits = MessageLimits(headerBytes: 200)
  let head = "GET / HTTP/1.1\r\n\(host)X: "
  let exact = head + String(repeating: "a", count: 200 - head.utf8.count - 4) + "\r\n\r\n"
  #expect(exact.utf8.count == 200)
  #expect(ParserTrace(octets(exact), limits: limits).requests.count == 1)
  #expect(segmentationMatters(octets(exact), limits: limits) == nil)
  let more = head + String(repeating: "a", count: 200 - head.utf8.count - 3) + "\r\n\r\n"
  #expect(ParserTrace(octets(more), limits: limits).end == .failed(.fieldsTooLarge))
  #expect(segmentationMatters(octets(more), limits: limits) == nil)
}

@Test func `a request line that cannot fit is a target too long`() {
  let limits = MessageLimits(headerBytes: 100)
  let long = "GET /" + String(repeating: "a", count: 200) + " HTTP/1.1\r\n\(host)\r\n"
  #expect(ParserTrace(octets(long), limits: limits).end == .failed(.targetTooLong))
  #expect(segmentationMatters(octets(long), limits: limits) == nil)
}

@Test func `as many field lines as the limit are taken and one more is refused`() {
  let limits = MessageLimits(fieldLines: 5)
  func stream(_ count: Int) -> [UInt8] {
    octets("GET / HTTP/1.1\r\n\(host)" + (1..<count).map { "X-\($0): v\r\n" }.joined() + "\r\n")
  }
  #expect(ParserTrace(stream(5), limits: limits).requests.count == 1)
  #expect(ParserTrace(stream(6), limits: limits).end == .failed(.fieldsTooLarge))
  #expect(segmentationMatters(stream(6), limits: limits) == nil)
}

@Test func `content of exactly the limit is taken and more is refused before it is read`() {
  let limits = MessageLimits(contentBytes: 10)
  let exact = octets("POST / HTTP/1.1\r\n\(host)Content-Length: 10\r\n\r\n0123456789")
  #expect(ParserTrace(exact, limits: limits).requests.map(\.content) == ["0123456789"])
  for length in ["11", "99999999999999999999999999", "9223372036854775808"] {
    let more = octets("POST / HTTP/1.1\r\n\(host)Content-Length: \(length)\r\n\r\n")
    #expect(ParserTrace(more, limits: limits).end == .failed(.contentTooLarge))
    #expect(segmentationMatters(more, limits: limits) == nil)
  }
}

@Test(arguments: [
  ("close", true), ("CLOSE", true), ("foo, close", true), ("close,keep-alive", true), (", ,close ,", true),
  ("keep-alive", false), ("closed", false), ("", false), ("x-close", false),
]) func `Connection is a list in which close ends the connection`(value: String, closes: Bool) {
  let trace = ParserTrace(octets("GET / HTTP/1.1\r\n\(host)Connection: \(value)\r\n\r\n"))
  #expect(trace.requests.map(\.closes) == [closes])
}

@Test func `HTTP 1.0 closes the connection whatever it says`() {
  let trace = ParserTrace(octets("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"))
  #expect(trace.requests.map(\.closes) == [true])
}

@Test func `100-continue is due only while nothing of the content has come`() {
  func parser(after text: String) -> RequestParser {
    var parser = RequestParser()
    var request = Request()
    var offset = 0
    _ = parser.parse(octets(text).span, from: &offset, into: &request)
    return parser
  }
  let head = "POST / HTTP/1.1\r\n\(host)Expect: 100-Continue\r\n"
  #expect(parser(after: head + "Content-Length: 3\r\n\r\n").expectsContinue)
  #expect(parser(after: head + "Transfer-Encoding: chunked\r\n\r\n").expectsContinue)
  #expect(!parser(after: head + "Content-Length: 3\r\n\r\na").expectsContinue)
  #expect(!parser(after: head + "Transfer-Encoding: chunked\r\n\r\n3").expectsContinue)
  #expect(!parser(after: head + "Content-Length: 3\r\n\r\nabc").expectsContinue)
  #expect(!parser(after: head + "Content-Length: 0\r\n\r\n").expectsContinue)
  #expect(!parser(after: head + "Content-Length: 3\r\n").expectsContinue)
  #expect(
    !parser(after: "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n").expectsContinue)
  #expect(
    !parser(after: "POST / HTTP/1.1\r\n\(host)Expect: a-pony\r\nContent-Length: 3\r\n\r\n").expectsContinue)
  var told = parser(after: head + "Content-Length: 3\r\n\r\n")
  told.continueWasSent()
  #expect(!told.expectsContinue)
}

@Test func `the phase says what is pending`() {
  let stream = octets("\r\nPOST / HTTP/1.1\r\n\(host)Content-Length: 2\r\n\r\nab")
  var parser = RequestParser()
  var request = Request()
  var phases: [RequestParser.Phase] = []
  for octet in stream {
    var offset = 0
    _ = parser.parse([octet].span, from: &offset, into: &request)
    if phases.last != parser.phase { phases.append(parser.phase) }
  }
  #expect(phases == [.idle, .head, .content, .idle])
}

@Test func `nothing of a request is left in the next one`() {
  let trace = ParserTrace(
    octets(
      "POST /a?q HTTP/1.1\r\n\(host)Connection: close\r\nX: y\r\nContent-Length: 2\r\n\r\nab"
        + "GET /b HTTP/1.1\r\n\(host)\r\n"))
  #expect(
    trace.requests.last
      == ParserTrace.Parsed(line: "get /b http11", fields: ["Host=a.example"], content: "", closes: false))
}
