// Assembles a response from the pieces that libcurl delivers, and enforces the size limits.

import HTTP

/// Assembles a response from the lines and pieces that libcurl delivers, and enforces its limits.
///
/// libcurl handles the framing. The collector keeps only the fields of the final response, drops interim
/// responses (RFC 9110 §15.2) and trailers, and refuses malformed responses that libcurl would accept.
struct ResponseCollector {
  /// The reason why a response is given up.
  enum Fault: Error, Equatable {
    case tooLarge(String)
    case malformed(String)
    case incomplete(String)
  }

  private enum Part { case statusLine, fields, content }

  private let maximumHeaderLength: Int
  private let maximumContentLength: Int
  private let mayBeHTTP2: Bool
  private let onContent: (@Sendable ([UInt8]) -> Bool)?
  private var part = Part.statusLine
  private var headerLength = 0
  private var status = 0
  private var fields = Fields()
  private var content: [UInt8] = []

  /// - Parameters:
  ///   - mayBeHTTP2: Whether HTTP/2 was offered. libcurl writes `HTTP/2 200` for such a response, which has
  ///     no status line.
  ///   - onContent: Receives the content of a response with status 200; returns false to refuse more.
  init(
    maximumHeaderLength: Int, maximumContentLength: Int, mayBeHTTP2: Bool = false,
    onContent: (@Sendable ([UInt8]) -> Bool)? = nil
  ) {
    self.maximumHeaderLength = maximumHeaderLength
    self.maximumContentLength = maximumContentLength
    self.mayBeHTTP2 = mayBeHTTP2
    self.onContent = onContent
  }

  /// Whether any octet has arrived.
  var hasBegun: Bool { headerLength > 0 }

  /// Status and fields, without content, once all the fields of the final response have arrived.
  var head: InboundResponse? {
    part == .content ? InboundResponse(status: status, fields: fields, content: []) : nil
  }

  /// Processes one line of a header section with its line end.
  mutating func receiveLine(_ bytes: some Collection<UInt8>) throws(Fault) {
    headerLength += bytes.count
    guard headerLength <= maximumHeaderLength else {
      throw .tooLarge("more than \(maximumHeaderLength) octets of fields")
    }
    var line = Array(bytes)[...]
    if line.last == UInt8(ascii: "\n") { line.removeLast() }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    guard !line.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) else {
      throw .malformed("a field line has a bare CR, LF or NUL")
    }

    switch part {
    case .statusLine:
      status = try Self.status(line, mayBeHTTP2: mayBeHTTP2)
      fields = Fields()
      part = .fields
    case .fields where line.isEmpty:
      try endFields()
    case .fields:
      try addField(line)
    case .content:
      break  // A trailer: counted, not kept (RFC 9110 §6.5.1).
    }
  }

  /// Processes a piece of content.
  mutating func receiveContent(_ bytes: some Collection<UInt8>) throws(Fault) {
    guard part == .content else { throw .malformed("content before the end of the fields") }
    if let onContent, status == 200 {
      guard onContent(Array(bytes)) else { throw .tooLarge("more content than its reader takes") }
      return
    }
    guard bytes.count <= maximumContentLength - content.count else {
      throw .tooLarge("more than \(maximumContentLength) octets of content")
    }
    content.append(contentsOf: bytes)
  }

  /// The response, once libcurl reports that it is complete. libcurl also reports that if the connection ends
  /// within the fields.
  func finish() throws(Fault) -> InboundResponse {
    guard part == .content else { throw .incomplete("the connection ended within the fields") }
    return InboundResponse(status: status, fields: fields, content: content)
  }

  private mutating func endFields() throws(Fault) {
    if status < 200 {
      guard status != 101 else { throw .malformed("status 101 without a requested upgrade") }
      part = .statusLine
      return
    }
    // RFC 9112 §6.3: lengths that differ leave the end of the content to guesswork.
    let lengths = Set(fields.values(of: "Content-Length"))
    guard lengths.count <= 1 else { throw .malformed("Content-Length fields that differ") }
    part = .content
    // The reader would mistake compressed content for the content that it requested.
    if onContent != nil, status == 200, let fault = head?.codingFault { throw .malformed(fault) }
    // A declared length is enough to refuse the response, but only now that all fields are known, because the
    // error contains them.
    if status != 204, status != 304, onContent == nil || status != 200,
      let length = lengths.first.flatMap({ Int($0) }),
      length > maximumContentLength
    {
      throw .tooLarge("more than \(maximumContentLength) octets of content")
    }
  }

  private mutating func addField(_ line: ArraySlice<UInt8>) throws(Fault) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), FieldLines.isToken(line[..<colon]) else {
      throw .malformed("a field line without a proper name")
    }
    var value = line[(colon + 1)...]
    let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    value = value.drop(while: isBlank)
    while let last = value.last, isBlank(last) { value.removeLast() }
    fields.append(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
  }

  /// Reads `HTTP/1.x NNN`, or libcurl's `HTTP/2 NNN`, and whatever phrase follows (RFC 9112 §4).
  private static func status(_ line: ArraySlice<UInt8>, mayBeHTTP2: Bool) throws(Fault) -> Int {
    let bytes = Array(line)
    // The index of the space after the version.
    let blank = mayBeHTTP2 && bytes.starts(with: "HTTP/2 ".utf8) ? 6 : 8
    let digits = bytes.dropFirst(blank + 1).prefix(3)
    guard blank == 6 || bytes.starts(with: "HTTP/1.".utf8), bytes.count >= blank + 4,
      bytes[blank] == UInt8(ascii: " "), digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
      bytes.count == blank + 4 || bytes[blank + 4] == UInt8(ascii: " ")
    else { throw .malformed("the status line is malformed") }
    let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    guard (100...599).contains(status) else { throw .malformed("a status code outside 100–599") }
    return status
  }
}
