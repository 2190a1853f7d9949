/// Parses the request line: method, target and version (RFC 9112 §3).
extension HeadParser {
  /// Parses `method SP request-target SP HTTP-version` (RFC 9112 §3). Only single spaces are allowed.
  func parseRequestLine(_ head: Span<UInt8>, _ line: Range<Int>, into request: inout Request) -> Bool {
    var i = line.lowerBound
    while i < line.upperBound, OctetSet.token.contains(head[i]) { i += 1 }
    guard i > line.lowerBound, i < line.upperBound, head[i] == 0x20 else { return false }
    request.method = Self.method(head, line.lowerBound..<i)

    let target = i + 1
    // `SP HTTP/1.x` are the line's last nine octets.
    let targetEnd = line.upperBound - 9
    guard targetEnd > target, head[targetEnd] == 0x20,
      head[targetEnd + 1] == UInt8(ascii: "H"), head[targetEnd + 2] == UInt8(ascii: "T"),
      head[targetEnd + 3] == UInt8(ascii: "T"), head[targetEnd + 4] == UInt8(ascii: "P"),
      head[targetEnd + 5] == UInt8(ascii: "/"), head[targetEnd + 6] == UInt8(ascii: "1"),
      head[targetEnd + 7] == UInt8(ascii: "."), let minor = head[targetEnd + 8].decimalValue
    else { return false }
    // A higher minor version is served as the highest known one (RFC 9110 §2.5).
    request.version = minor == 0 ? .http10 : .http11
    request.closesConnection = minor == 0
    return parseTarget(head, target..<targetEnd, into: &request)
  }

  private static func method(_ head: Span<UInt8>, _ range: Range<Int>) -> Method {
    switch (range.count, head[range.lowerBound]) {
    case (3, UInt8(ascii: "G")) where isMethod(head, range, "GET"): .get
    case (4, UInt8(ascii: "P")) where isMethod(head, range, "POST"): .post
    case (4, UInt8(ascii: "H")) where isMethod(head, range, "HEAD"): .head
    case (3, UInt8(ascii: "P")) where isMethod(head, range, "PUT"): .put
    case (6, UInt8(ascii: "D")) where isMethod(head, range, "DELETE"): .delete
    case (7, UInt8(ascii: "O")) where isMethod(head, range, "OPTIONS"): .options
    case (5, UInt8(ascii: "T")) where isMethod(head, range, "TRACE"): .trace
    case (7, UInt8(ascii: "C")) where isMethod(head, range, "CONNECT"): .connect
    case (5, UInt8(ascii: "P")) where isMethod(head, range, "PATCH"): .patch
    default: .other
    }
  }

  /// Whether the range is this method. Methods are case-sensitive (RFC 9110 §9.1).
  private static func isMethod(_ head: Span<UInt8>, _ range: Range<Int>, _ name: StaticString) -> Bool {
    // The literal's pointer is valid for the whole program; the caller compared the lengths.
    let start = unsafe name.utf8Start
    for i in 0..<range.count where unsafe head[range.lowerBound + i] != start[i] { return false }
    return true
  }

  /// Parses the request target (RFC 9112 §3.2): origin-form, absolute-form, or `*` for OPTIONS. The server
  /// does not support CONNECT, so it refuses authority-form.
  private func parseTarget(_ head: Span<UInt8>, _ target: Range<Int>, into request: inout Request) -> Bool {
    guard request.method != .connect else { return false }
    var path = target.lowerBound
    if head[path] == UInt8(ascii: "*") {
      request.path = target
      return target.count == 1 && request.method == .options
    }
    if head[path] != UInt8(ascii: "/") {
      guard let start = pathOfAbsoluteForm(head, target) else { return false }
      path = start
    }
    var i = path
    while i < target.upperBound, head[i] != UInt8(ascii: "?") {
      guard Self.isValid(head, i, in: OctetSet.path, end: target.upperBound) else { return false }
      i += 1
    }
    request.path = path..<i
    if i < target.upperBound {
      i += 1
      request.query = i..<target.upperBound
      while i < target.upperBound {
        guard Self.isValid(head, i, in: OctetSet.query, end: target.upperBound) else { return false }
        i += 1
      }
    }
    return true
  }

  /// Whether an octet is allowed at its position; a percent sign needs its two digits.
  @inline(__always)
  private static func isValid(_ head: Span<UInt8>, _ i: Int, in set: OctetSet, end: Int) -> Bool {
    let octet = head[i]
    guard set.contains(octet) else { return false }
    guard octet == UInt8(ascii: "%") else { return true }
    return i + 2 < end && head[i + 1].hexValue != nil && head[i + 2].hexValue != nil
  }

  /// The offset at which the path or query of `http://host:port/path` starts, or the target's end if it has
  /// neither. `https` is allowed too. Nil if the target has another form.
  private func pathOfAbsoluteForm(_ head: Span<UInt8>, _ target: Range<Int>) -> Int? {
    let start: Int
    if target.count > 7, head.equals(target.lowerBound..<(target.lowerBound + 7), lowercase: "http://") {
      start = target.lowerBound + 7
    } else if target.count > 8,
      head.equals(target.lowerBound..<(target.lowerBound + 8), lowercase: "https://")
    {
      start = target.lowerBound + 8
    } else {
      return nil
    }
    var end = start
    while end < target.upperBound, head[end] != UInt8(ascii: "/"), head[end] != UInt8(ascii: "?") { end += 1 }
    return Authority.isValid(head, start..<end) ? end : nil
  }
}
