/// An incremental, strict parser of HTTP/1.1 requests (RFC 9112). It turns octets into requests, and uses no
/// sockets and no clock.
///
/// Each connection has its own parser, which parses one request after the other into the caller's storage.
/// The segments in which the octets arrive change neither a decision nor the octet at which it is made.
public struct RequestParser: Sendable {
  /// The state of the parser.
  public enum Phase: Sendable {
    /// Between requests: nothing of the next one has arrived, except perhaps the empty line before it.
    case idle
    /// Within the head.
    case head
    /// Within the content.
    case content
  }

  /// The result of parsing more octets.
  public enum Progress: Sendable {
    /// Every octet was read, and the request is not complete.
    case incomplete
    /// The request is complete. Later octets belong to the next one.
    case complete
    /// The octets are refused, and the connection cannot be read any further.
    case failed(ParseFailure)
  }

  private enum Stage {
    /// Before a request, where one empty line is skipped (RFC 9112 §2.2).
    case start
    case startReturn
    case afterEmptyLine
    case head
    case length(remaining: Int)
    case chunked
  }

  private let limits: MessageLimits
  private var stage = Stage.start
  private var headParser = HeadParser()
  private var chunks = ChunkedDecoder()
  private var continueIsDue = false
  /// Whether the head of the current request is complete, so that its fields may be read although the request
  /// is not complete.
  public private(set) var hasHead = false

  /// Whether the request line of the current request was read and is valid, so that its method and target may
  /// be read although the request is not complete.
  public var hasRequestLine: Bool {
    switch stage {
    case .start, .startReturn, .afterEmptyLine: false
    case .head, .length, .chunked: headParser.hasRequestLine
    }
  }

  /// A parser at the start of a connection.
  public init(limits: MessageLimits = MessageLimits()) { self.limits = limits }

  public var phase: Phase {
    switch stage {
    case .start, .startReturn, .afterEmptyLine: .idle
    case .head: .head
    case .length, .chunked: .content
    }
  }

  /// Whether `100 Continue` is due: the client asked for it in HTTP/1.1, the server has not sent it, and no
  /// content has arrived (RFC 9110 §10.1.1).
  public var expectsContinue: Bool { continueIsDue }

  /// Tells the parser that `100 Continue` was sent.
  public mutating func continueWasSent() { continueIsDue = false }

  /// Parses octets from an offset and moves the offset past them. Pass the same request again until it is
  /// complete. Until then, and after a failure, use only the parts that `hasRequestLine` and `hasHead` allow.
  /// The parser empties the request when a new one starts.
  public mutating func parse(
    _ input: Span<UInt8>, from offset: inout Int, into request: inout Request
  ) -> Progress {
    while true {
      switch stage {
      case .start, .startReturn, .afterEmptyLine:
        guard offset < input.count else { return .incomplete }
        if let failure = begin(input[offset], &offset, &request) { return .failed(failure) }
      case .head:
        if let progress = parseHead(input, from: &offset, into: &request) { return progress }
      case .length(let remaining):
        let count = min(remaining, input.count - offset)
        if count > 0 { continueIsDue = false }
        request.content.append(contentsOf: input.extracting(offset..<(offset + count)))
        offset += count
        guard count == remaining else {
          stage = .length(remaining: remaining - count)
          return .incomplete
        }
        return finish()
      case .chunked:
        if offset < input.count { continueIsDue = false }
        switch chunks.decode(input, from: &offset, into: &request.content, limits: limits) {
        case .incomplete: return .incomplete
        case .complete: return finish()
        case .failed(let failure): return .failed(failure)
        }
      }
    }
  }

  private mutating func begin(_ octet: UInt8, _ offset: inout Int, _ request: inout Request) -> ParseFailure?
  {
    switch (stage, octet) {
    case (.start, 0x0D):
      stage = .startReturn
      offset += 1
    case (.startReturn, _):
      guard octet == 0x0A else { return .malformed }
      stage = .afterEmptyLine
      offset += 1
    default:
      request.reset()
      hasHead = false
      headParser = HeadParser()
      stage = .head
    }
    return nil
  }

  /// Parses the head: in place if it lies within one segment, otherwise in the request's own copy. Returns
  /// nil when the head ended and the content follows.
  private mutating func parseHead(
    _ input: Span<UInt8>, from offset: inout Int, into request: inout Request
  ) -> Progress? {
    let kept = request.head.count
    let taken = min(input.count - offset, limits.headerBytes - kept)
    let outcome: HeadParser.Outcome
    if kept == 0 {
      outcome = headParser.parse(input.extracting(offset..<(offset + taken)), into: &request, limits: limits)
    } else {
      // The array is taken out while its span is read, since the request is written to at the same time.
      var head: [UInt8] = []
      swap(&head, &request.head)
      head.append(contentsOf: input.extracting(offset..<(offset + taken)))
      outcome = headParser.parse(head.span, into: &request, limits: limits)
      swap(&head, &request.head)
    }
    switch outcome {
    case .failed(let failure):
      // The part that was read stays readable.
      if kept == 0 { request.head.append(contentsOf: input.extracting(offset..<(offset + taken))) }
      return .failed(failure)
    case .incomplete:
      if kept == 0 { request.head.append(contentsOf: input.extracting(offset..<(offset + taken))) }
      offset += taken
      guard request.head.count < limits.headerBytes else {
        return .failed(headParser.hasRequestLine ? .fieldsTooLarge : .targetTooLong)
      }
      return .incomplete
    case .complete(let end):
      if kept == 0 {
        request.head.append(contentsOf: input.extracting(offset..<(offset + end)))
      } else {
        request.head.removeSubrange(end...)
      }
      offset += end - kept
      hasHead = true
      if request.path.isEmpty { giveEmptyPathASlash(&request) }
      return beginContent(request.version)
    }
  }

  /// An absolute target without a path means `/` (RFC 9110 §4.2.3). The slash is appended to the head.
  private func giveEmptyPathASlash(_ request: inout Request) {
    request.path = request.head.count..<(request.head.count + 1)
    request.head.append(UInt8(ascii: "/"))
  }

  private mutating func beginContent(_ version: Request.Version) -> Progress? {
    if headParser.isChunked {
      chunks = ChunkedDecoder()
      stage = .chunked
    } else {
      let length = headParser.contentLength ?? 0
      if length == 0 { return finish() }
      guard length <= limits.contentBytes else { return .failed(.contentTooLarge) }
      stage = .length(remaining: length)
    }
    continueIsDue = headParser.expectsContinue && version == .http11
    return nil
  }

  private mutating func finish() -> Progress {
    stage = .start
    continueIsDue = false
    hasHead = false
    return .complete
  }
}
