// sources: Texts HTTP
// about: HTTP/HeadParser.swift HTTP/HeadParser+RequestLine.swift HTTP/ChunkedDecoder.swift HTTP/RequestParser.swift HTTP/RequestTarget.swift HTTP/Authority.swift
// Feeds arbitrary octets to the request parser, cut anywhere: it must not trap, and the cuts must not change the result.
//
// script/fuzz compiles this together with the module's own sources into one module, with libFuzzer and AddressSanitizer.

/// The input's first octet is the length of the segments into which the rest is cut; 0 means 1.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRequestParser(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let step = max(1, Int(unsafe start[0]))
  let stream = unsafe Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  for limits in [MessageLimits(), MessageLimits(headerBytes: 128, fieldLines: 4, contentBytes: 16)] {
    let whole = outcome(stream, step: stream.count, limits: limits)
    let cut = outcome(stream, step: step, limits: limits)
    precondition(whole == cut, "what the parser makes of a stream depends on how it is cut")
  }
  return 0
}

/// Everything that the parser's caller can see of a stream.
private func outcome(_ stream: [UInt8], step: Int, limits: MessageLimits) -> [UInt8] {
  var parser = RequestParser(limits: limits)
  var request = Request()
  var seen: [UInt8] = []
  var start = 0
  while start < stream.count {
    let segment = Array(stream[start..<min(start + step, stream.count)])
    start += segment.count
    var offset = 0
    while offset < segment.count {
      switch parser.parse(segment.span, from: &offset, into: &request) {
      case .complete:
        look(at: request, limits, &seen)
      case .incomplete:
        precondition(offset == segment.count, "the parser wants more and has not taken what there is")
      case .failed(let failure):
        seen += "\(failure)".utf8
        return seen
      }
    }
  }
  seen += "\(parser.phase)".utf8
  return seen
}

/// Checks what must be true of every request, and records everything that a handler can read.
private func look(at request: Request, _ limits: MessageLimits, _ seen: inout [UInt8]) {
  // The head may exceed the limit by one octet, the slash that is appended for an absolute target without a path.
  precondition(request.head.count <= limits.headerBytes + 1 && request.content.count <= limits.contentBytes)
  precondition(request.fieldLines.count <= limits.fieldLines && !request.path.isEmpty)
  seen += "\(request.method)\(request.version)\(request.closesConnection)".utf8
  seen += request.head[request.path]
  for segment in request.pathSegments() { seen += (request.percentDecoded(segment) ?? "-").utf8 }
  seen += "\(request.queryItem("a"))".utf8
  for line in request.fieldLines {
    seen += request.head[line.name]
    seen += request.head[line.value]
    precondition(!request.head[line.value].contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F })
  }
  seen += (request.text(of: .host) ?? "-").utf8
  seen += request.content
}
