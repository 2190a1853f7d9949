// sources: Texts HTTP
// about: HTTP/Form.swift HTTP/HTTPDate+Parsing.swift HTTP/RetryAfter.swift HTTP/TraceContext.swift HTTP/FieldValue.swift
// Feeds arbitrary octets to the readers of forms, dates, Retry-After, traceparent and lists: nothing traps, and what is written can
// be read.

/// The input's first octet chooses the reader.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTPText(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let octets = unsafe Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  let text = String(decoding: octets, as: UTF8.self)
  switch unsafe start[0] % 5 {
  case 0:
    do {
      let form = try Form(decoding: octets)
      for parameter in form.parameters {
        precondition(form[parameter.name] == (parameter.value.isEmpty ? nil : parameter.value))
      }
    } catch { precondition(!error.description.isEmpty) }
  case 1:
    if let seconds = HTTPDate.unixSeconds(text) {
      precondition(
        HTTPDate.unixSeconds(HTTPDate.string(unixSeconds: seconds)) == seconds, "a date reads as another")
    }
  case 2:
    // In the input, the reply's own `Date` follows after a line feed.
    var fields = Fields()
    let lines = text.split(separator: "\n", maxSplits: 1)
    for (name, value) in zip(["Retry-After", "Date"], lines) { fields.append(name, String(value)) }
    if let wait = RetryAfter.read(fields, now: 1_790_000_000) {
      precondition(wait >= .zero && wait <= RetryAfter.cap, "a wait beyond its limit")
    }
  case 3:
    if let trace = TraceContext(octets) {
      precondition(TraceContext(Array(trace.traceparent.utf8)) != nil, "a trace that its reader refuses")
      precondition(trace.child().traceID == trace.traceID && trace.description == trace.traceparent)
    }
    var parser = RequestParser(limits: MessageLimits())
    var (request, offset) = (Request(), 0)
    let head = Array("GET / HTTP/1.1\r\nhost: a\r\ntraceparent: ".utf8) + octets + Array("\r\n\r\n".utf8)
    if case .complete = parser.parse(head.span, from: &offset, into: &request),
      let trace = TraceContext(request)
    {
      precondition(trace == TraceContext(Array(request.text(of: .traceparent).unsafelyUnwrapped.utf8)))
    }
  default:
    let elements = octets[...].elements()
    precondition(elements.allSatisfy { $0.startIndex >= octets.startIndex && $0.endIndex <= octets.endIndex })
    for element in elements + [octets[...]] {
      if let number = element.decimal(digits: 5) { precondition(number < 100_000) }
      precondition(!element.equals(lowercase: "gzip") || element.starts(withLowercase: "gz"))
    }
    _ = octets[...].parts(separatedBy: UInt8(ascii: ";"))
  }
  return 0
}
