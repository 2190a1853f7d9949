// sources: Texts HTTP
// about: HTTP/Form.swift HTTP/HTTPDate+Parsing.swift HTTP/RetryAfter.swift HTTP/TraceContext.swift HTTP/FieldValue.swift
// Forms, dates, Retry-After, traceparent and lists of values against any octets: nothing traps, and what is written is read again.

/// The input's first octet chooses the reader.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTPText(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let octets = unsafe Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  let text = String(decoding: octets, as: UTF8.self)
  switch unsafe start[0] % 5 {
  case 0:
    if let form = try? Form(decoding: octets) { precondition("\(form)".utf8.count >= 0) }
  case 1:
    if let seconds = HTTPDate.unixSeconds(text) {
      precondition(HTTPDate.unixSeconds(HTTPDate.string(unixSeconds: seconds)) == seconds, "a date reads as another")
    }
  case 2:
    var fields = Fields()
    fields.append("Retry-After", text)
    if let wait = RetryAfter.read(fields, now: 1_790_000_000) {
      precondition(wait >= .zero && wait <= RetryAfter.cap, "a wait beyond its limit")
    }
  case 3:
    if let trace = TraceContext(octets) {
      precondition(TraceContext(Array(trace.traceparent.utf8)) != nil, "a trace that its reader refuses")
      precondition(trace.child().traceID == trace.traceID)
    }
  default:
    let elements = octets[...].elements()
    precondition(elements.allSatisfy { $0.startIndex >= octets.startIndex && $0.endIndex <= octets.endIndex })
    _ = octets[...].decimal(digits: 5)
    _ = octets[...].parts(separatedBy: UInt8(ascii: ";"))
  }
  return 0
}
