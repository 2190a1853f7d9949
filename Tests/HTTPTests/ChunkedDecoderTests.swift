// Tests of the decoder for chunked request bodies.

import HTTP
import Testing

private let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

private func trace(_ chunks: String, limits: MessageLimits = MessageLimits()) -> ParserTrace {
  ParserTrace(octets(head + chunks), limits: limits)
}

@Test(arguments: [
  ("0\r\n\r\n", ""),
  ("5\r\nhello\r\n0\r\n\r\n", "hello"),
  ("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello"),
  ("A\r\n0123456789\r\n000\r\n\r\n", "0123456789"),
  ("00000000000000000000005\r\nhello\r\n0\r\n\r\n", "hello"),
  ("5;a\r\nhello\r\n0;last\r\n\r\n", "hello"),
  ("5;a=b;c=\"d \\\" ;\u{FF}\";e\r\nhello\r\n0\r\n\r\n", "hello"),
  ("5 ; a = b\t;c\r\nhello\r\n0\r\n\r\n", "hello"),
  ("5\r\nhello\r\n0\r\nX: y\r\nContent-Length: 7\r\nEmpty:\r\n\r\n", "hello"),
]) func `chunks are put together, extensions and trailers dropped`(chunks: String, content: String) {
  let result = trace(chunks)
  #expect(result.requests.map(\.content) == [content])
  #expect(result.end == .open("idle"))
  #expect(result.requests.first?.fields == ["Host=a", "Transfer-Encoding=chunked"])
  #expect(segmentationMatters(octets(head + chunks)) == nil)
}

@Test(arguments: [
  "\r", " ", "\t", "x", "-", "+", "0x", "5x", "5,", "5.", "5_", "\"", "5 \r", "5 x", "5\n", "5\rX",
  "5\r\r", "5\u{A0}",
  "5;\r", "5;;", "5;[", "5;a[", "5;a=\r", "5;a=;", "5;a=\"\r", "5;a=\"\n", "5;a=\"\\\r", "5;a=\"b\"c",
  "5;a b", "5;a\n",
  "5\r\nhello0", "5\r\nhello!", "5\r\nhello\n", "5\r\nhello\rX", "5\r\nhello\r\n\r", "0\n", "0\r\n\n",
  "0\r\n\rX",
  "0\r\n ", "0\r\n:", "0\r\nX ", "0\r\nX\r", "0\r\nX: \u{0}", "0\r\nX: y\n", "0\r\nX: y\rZ",
  "0\r\nX: y\r\n ",
]) func `chunks that RFC 9112 forbids are refused at the octet that shows it`(chunks: String) {
  #expect(trace(chunks).end == .failed(.malformed))
  #expect(trace(String(String.UnicodeScalarView(chunks.unicodeScalars.dropLast()))).end == .open("content"))
  #expect(segmentationMatters(octets(head + chunks)) == nil)
}

@Test func `chunks up to the content limit are taken and one octet more is refused at its size`() {
  let limits = MessageLimits(contentBytes: 8)
  #expect(
    trace("5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n", limits: limits).requests.map(\.content) == ["helloyou"])
  #expect(trace("5\r\nhello\r\n4", limits: limits).end == .failed(.contentTooLarge))
  for size in [
    "9", "10", "ffffffffffffffff", "fffffffffffffffffffff", "7fffffffffffffff", "10000000000000005",
  ] {
    #expect(trace(size, limits: limits).end == .failed(.contentTooLarge), "\(size)")
  }
}

@Test func `framing that outweighs its content is refused`() {
  let small = String(repeating: "1\r\nx\r\n", count: 5000) + "0\r\n\r\n"
  #expect(trace(small).end == .failed(.contentTooLarge))
  let fair = String(repeating: "a\r\n0123456789\r\n", count: 6000) + "0\r\n\r\n"
  #expect(trace(fair).requests.first?.content.utf8.count == 60_000)
  let extended = "1;" + String(repeating: "e", count: 16_383)
  #expect(trace(extended).end == .failed(.contentTooLarge))
  #expect(trace(String(extended.dropLast())).end == .open("content"))
}

@Test func `as many trailer lines as field lines are taken and one more is refused`() {
  let limits = MessageLimits(fieldLines: 3)
  #expect(trace("0\r\nA: b\r\nC: d\r\nE: f\r\n\r\n", limits: limits).requests.count == 1)
  #expect(trace("0\r\nA: b\r\nC: d\r\nE: f\r\nG", limits: limits).end == .failed(.fieldsTooLarge))
}
