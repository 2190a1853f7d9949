// Parses the head of a request: the request line and the field lines.

import Texts

/// Parses the head of a request, line by line as the lines become complete (RFC 9112 §3 and §5).
///
/// Each call passes the head from its first octet, and the parser remembers how far it has read. Every
/// decision is made at a fixed octet of the stream, so the way the head is split into segments can never
/// change the outcome.
struct HeadParser: Sendable {
  /// The result of parsing more octets.
  enum Outcome {
    /// The head does not end here; more octets are needed.
    case incomplete
    /// The head ends before this offset.
    case complete(end: Int)
    /// These octets are refused.
    case failed(ParseFailure)
  }

  /// Fields that must not occur twice, because two readers could choose differently.
  private struct Singletons: OptionSet {
    var rawValue: UInt16
    static let host = Singletons(rawValue: 1)
    static let contentLength = Singletons(rawValue: 2)
    static let transferEncoding = Singletons(rawValue: 4)
    static let authorization = Singletons(rawValue: 8)
    static let contentType = Singletons(rawValue: 16)
    static let idempotencyKey = Singletons(rawValue: 32)
    static let apiKey = Singletons(rawValue: 64)
    static let origin = Singletons(rawValue: 128)
    static let genesysKey = Singletons(rawValue: 256)
  }

  /// The offset up to which octets were read.
  private var scanned = 0
  /// The offset at which the current line starts.
  private var lineStart = 0
  private var seen: Singletons = []
  /// The value of `Content-Length`; `Int.max` for a larger number. Nil without the field.
  private(set) var contentLength: Int?
  /// Whether the content is chunked.
  private(set) var isChunked = false
  /// Whether the request has `Expect: 100-continue`.
  private(set) var expectsContinue = false

  /// Whether the request line is complete.
  var hasRequestLine: Bool { lineStart > 0 }

  /// Parses a head that begins with the span's first octet. Complete lines are added to the request, as
  /// ranges of the span.
  mutating func parse(_ head: Span<UInt8>, into request: inout Request, limits: borrowing MessageLimits)
    -> Outcome
  {
    let end = head.count
    var i = scanned
    while i < end {
      // Eight octets at once, as long as none of them is a control octet.
      if i <= end - 8 {
        let controls = OctetWord(head, at: i).controls
        if controls == 0 {
          i += 8
          continue
        }
        i += OctetWord.offset(of: controls)
      }
      let octet = head[i]
      // Fast path: every octet that is allowed inside a line.
      if octet >= 0x20 && octet != 0x7F || octet == 0x09 {
        i += 1
        continue
      }
      // Only CR LF ends a line. Any other control octet, and CR or LF alone, is refused at once (RFC 9112
      // §2.2).
      guard octet == 0x0D else { return .failed(.malformed) }
      guard i + 1 < end else { break }
      guard head[i + 1] == 0x0A else { return .failed(.malformed) }
      let line = lineStart..<i
      i += 2
      if line.lowerBound == 0 {
        guard parseRequestLine(head, line, into: &request) else { return .failed(.malformed) }
      } else if line.isEmpty {
        guard isConsistent(request.version) else { return .failed(.malformed) }
        return .complete(end: i)
      } else {
        guard request.fieldLines.count < limits.fieldLines else { return .failed(.fieldsTooLarge) }
        guard parseFieldLine(head, line, into: &request) else { return .failed(.malformed) }
      }
      lineStart = i
    }
    scanned = i
    return .incomplete
  }

  // MARK: Field lines

  /// Parses `field-name ":" OWS field-value OWS` (RFC 9112 §5). A space before the colon and line folding are
  /// refused.
  private mutating func parseFieldLine(
    _ head: Span<UInt8>, _ line: Range<Int>, into request: inout Request
  ) -> Bool {
    var hash = FieldName.hashSeed
    var i = line.lowerBound
    while i < line.upperBound {
      let octet = head[i]
      guard OctetSet.token.contains(octet) else { break }
      FieldName.mix(octet, into: &hash)
      i += 1
    }
    guard i > line.lowerBound, i < line.upperBound, head[i] == UInt8(ascii: ":") else { return false }
    let name = line.lowerBound..<i
    // Control octets have been refused while scanning, so the rest is a field value (RFC 9110 §5.5).
    let value = head.trimmed((i + 1)..<line.upperBound)
    request.fieldLines.append(
      Request.FieldLine(
        nameStart: UInt32(name.lowerBound), nameEnd: UInt32(name.upperBound),
        valueStart: UInt32(value.lowerBound), valueEnd: UInt32(value.upperBound), hash: hash))
    return note(head, name, value, in: &request)
  }

  /// Records the fields that frame the message or must occur only once; false if one of them is wrong.
  private mutating func note(
    _ head: Span<UInt8>, _ name: Range<Int>, _ value: Range<Int>, in request: inout Request
  ) -> Bool {
    switch name.count {
    case 4 where head.equals(name, lowercase: "host"):
      return once(.host) && Authority.isValid(head, value)
    case 6 where head.equals(name, lowercase: "origin"):
      return once(.origin)
    case 6 where head.equals(name, lowercase: "apikey"):
      return once(.genesysKey)
    case 6 where head.equals(name, lowercase: "expect"):
      if head.equals(value, lowercase: "100-continue") { expectsContinue = true }
    case 9 where head.equals(name, lowercase: "x-api-key"):
      return once(.apiKey)
    case 10 where head.equals(name, lowercase: "connection"):
      if Self.lists(head, value, lowercase: "close") { request.closesConnection = true }
    case 12 where head.equals(name, lowercase: "content-type"):
      return once(.contentType)
    case 13 where head.equals(name, lowercase: "authorization"):
      return once(.authorization)
    case 14 where head.equals(name, lowercase: "content-length"):
      guard once(.contentLength), let length = Self.length(head, value) else { return false }
      contentLength = length
    case 15 where head.equals(name, lowercase: "idempotency-key"):
      return once(.idempotencyKey)
    case 17 where head.equals(name, lowercase: "transfer-encoding"):
      // Any coding but exactly `chunked` would leave the length to guesswork (RFC 9112 §6.1).
      isChunked = true
      return once(.transferEncoding) && head.equals(value, lowercase: "chunked")
    default: break
    }
    return true
  }

  private mutating func once(_ field: Singletons) -> Bool { seen.insert(field).inserted }

  /// Parses the value of `Content-Length`: `1*DIGIT` and nothing else, so no sign, list or space (RFC 9112
  /// §6.3); nil for any other value. A number that is too large for an `Int` becomes `Int.max`.
  private static func length(_ head: Span<UInt8>, _ value: Range<Int>) -> Int? {
    guard !value.isEmpty else { return nil }
    var length = 0
    for i in value {
      guard let digit = head[i].decimalValue else { return nil }
      let (product, overflow) = length.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int(digit))
      length = overflow || carry ? .max : sum
    }
    return length
  }

  /// Whether a comma-separated list contains a word (RFC 9110 §5.6.1).
  private static func lists(_ head: Span<UInt8>, _ value: Range<Int>, lowercase word: StaticString) -> Bool {
    var start = value.lowerBound
    while start < value.upperBound {
      var end = start
      while end < value.upperBound, head[end] != UInt8(ascii: ",") { end += 1 }
      if head.equals(head.trimmed(start..<end), lowercase: word) { return true }
      start = end + 1
    }
    return false
  }

  // MARK: The whole head

  /// Whether the fields fit together: HTTP/1.1 needs `Host`, and `Transfer-Encoding` must come with HTTP/1.1
  /// and without `Content-Length` (RFC 9112 §3.2 and §6.1).
  private func isConsistent(_ version: Request.Version) -> Bool {
    if version == .http11 && !seen.contains(.host) { return false }
    return !isChunked || version == .http11 && contentLength == nil
  }
}
