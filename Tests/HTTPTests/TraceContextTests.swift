// Tests of how the `traceparent` header is read and written.

import Testing

@testable import HTTP

private let trace = "12345678901234567890123456789012"
private let span = "1234567890123456"

private func context(_ text: String) -> TraceContext? { TraceContext(Array(text.utf8)) }

/// The trace of a request with these lines before its end.
private func trace(ofRequestWith lines: String) -> TraceContext? {
  var parser = RequestParser()
  var request = Request()
  var offset = 0
  let octets = Array("GET / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n".utf8)
  guard case .complete = parser.parse(octets.span, from: &offset, into: &request) else { return nil }
  return TraceContext(request)
}

@Test func `a traceparent is read and written again`() throws {
  let parsed = try #require(context("00-\(trace)-\(span)-01"))
  #expect(parsed.traceID == trace)
  #expect(parsed.spanID == 0x1234_5678_9012_3456)
  #expect(parsed.isSampled)
  #expect(parsed.traceparent == "00-\(trace)-\(span)-01")
  #expect(context("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")?.isSampled == false)
  #expect(
    context("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")?.traceID
      == "0af7651916cd43dd8448eb211c80319c")
}

// The cases of the W3C's own test suite (github.com/w3c/trace-context, test/test.py).
@Test(arguments: [
  // An unknown version is read by its known part, whatever follows a dash.
  "cc-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01-what-the-future-will-be-like", "01-\(trace)-\(span)-01",
  "01-\(trace)-\(span)-01-", "fe-\(trace)-\(span)-ff-0",
  // Flags that are not defined yet.
  "00-\(trace)-\(span)-ff", "00-\(trace)-\(span)-02",
])
func `what the standard allows is taken`(text: String) {
  #expect(context(text)?.traceID == trace)
}

// Tracers with ids of 64 bits fill the other half with zeros.
@Test(arguments: ["00000000000000001234567890123456", "12345678901234560000000000000000"])
func `half of a trace's id may be zeros`(id: String) {
  #expect(context("00-\(id)-\(span)-01")?.traceID == id)
}

@Test(arguments: [
  // Version.
  "ff-\(trace)-\(span)-01", ".0-\(trace)-\(span)-01", "0.-\(trace)-\(span)-01", "000-\(trace)-\(span)-01",
  "0000-\(trace)-\(span)-01", "0-\(trace)-\(span)-01", "-\(trace)-\(span)-01", "CC-\(trace)-\(span)-01",
  "cc-\(trace)-\(span)-01.what-the-future-will-not-be-like", "00-\(trace)-\(span)-01-extra",
  "00-\(trace)-\(span)-01.", "00-\(trace)-\(span)-01-",
  // Trace id.
  "00-00000000000000000000000000000000-\(span)-01", "00-.2345678901234567890123456789012-\(span)-01",
  "00-1234567890123456789012345678901.-\(span)-01", "00-123456789012345678901234567890123-\(span)-01",
  "00-1234567890123456789012345678901-\(span)-01", "00-ABCDEF78901234567890123456789012-\(span)-01",
  // Span id.
  "00-\(trace)-0000000000000000-01", "00-\(trace)-.234567890123456-01", "00-\(trace)-123456789012345.-01",
  "00-\(trace)-12345678901234567-01", "00-\(trace)-123456789012345-01", "00-\(trace)-ABCDEF7890123456-01",
  // Flags.
  "00-\(trace)-\(span)-.0", "00-\(trace)-\(span)-0.", "00-\(trace)-\(span)-001", "00-\(trace)-\(span)-1",
  "00-\(trace)-\(span)-", "00-\(trace)-\(span)", "00-\(trace)-\(span)-0A",
  // Everything else.
  "", "00", "00_\(trace)-\(span)-01", "00-\(trace)_\(span)-01", "00-\(trace)-\(span)_01",
  " 00-\(trace)-\(span)-01", "00-\(trace)-\(span)-01,00-\(trace)-\(span)-01",
  "00-\(trace)-\(span)-0\u{660}", "--\(trace)-\(span)-01",
])
func `what the standard does not allow is no context`(text: String) {
  #expect(context(text) == nil)
}

@Test func `a child has the trace, the flag and a span of its own`() throws {
  for text in ["00-\(trace)-\(span)-01", "cc-\(trace)-\(span)-fe-more"] {
    let parent = try #require(context(text))
    let child = parent.child()
    #expect(child.traceID == parent.traceID && child.isSampled == parent.isSampled)
    #expect(child.spanID != parent.spanID && child.spanID != 0)
    #expect(context(child.traceparent) == child)
    #expect(child.traceparent.hasPrefix("00-\(trace)-") && child.traceparent.utf8.count == 55)
    #expect(child.traceparent.hasSuffix(parent.isSampled ? "-01" : "-00"))
  }
}

@Test func `a request has one trace or none`() {
  let line = "traceparent: 00-\(trace)-\(span)-01\r\n"
  #expect(trace(ofRequestWith: line)?.traceID == trace)
  #expect(trace(ofRequestWith: "TraceParent:\t 00-\(trace)-\(span)-01 \t\r\n")?.traceID == trace)
  #expect(trace(ofRequestWith: "") == nil)
  #expect(trace(ofRequestWith: "traceparent: \r\n") == nil)
  // Two fields are refused even if they are equal.
  #expect(trace(ofRequestWith: line + line) == nil)
  #expect(trace(ofRequestWith: line + "Traceparent: 00-\(trace)-6543210987654321-01\r\n") == nil)
  #expect(trace(ofRequestWith: "trace-parent: 00-\(trace)-\(span)-01\r\n") == nil)
}
