// Sends one callback request to Talkdesk's Callback API, and never repeats it.

public import HTTP
import JOSE
public import Platform
public import Tokens

/// A client of Talkdesk's Callback API. It requests each call once and never retries.
///
/// A class, because thousands of waiting requests refer to the same client.
public final class CallbackAPI: Sendable {
  /// The path under the API's base URL.
  public static let path = "/calls/callback"
  /// The maximum size of a response, in bytes. An error body has less than 1 kB.
  static let longestReply = 32 * 1024

  private let url: String
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let bearer = BearerFields()

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - endpoints: the account's endpoints.
  ///   - transport: carries the requests.
  ///   - time: the clocks.
  public convenience init(endpoints: TalkdeskEndpoints, transport: any HTTPTransport, time: any TimeSource) {
    self.init(baseURL: endpoints.apiBase, transport: transport, time: time)
  }

  /// Creates a client.
  ///
  /// - Parameter baseURL: the API's base URL, valid and without a slash at its end, as in
  ///   `TalkdeskEndpoints`.
  public init(baseURL: String, transport: any HTTPTransport, time: any TimeSource) {
    url = baseURL + Self.path
    self.transport = transport
    self.time = time
  }

  /// Sends one request on a new connection and never repeats it. A client library that finds a pooled
  /// connection dead would send it again, and a customer's phone would ring twice.
  ///
  /// - Parameters:
  ///   - content: the body, as serialized from the checked request.
  ///   - token: an access token with the scope `callback:write`.
  ///   - traceparent: the caller's trace context (W3C). It is not sent unless `isTraceparent` accepts it.
  ///   - timeout: the whole time allowed.
  ///   - startWithin: the time within which the first byte must be sent; after it, nothing is sent. If nil,
  ///     only `timeout` applies.
  ///   - then: Called with the result, on any thread; must not block. No task waits meanwhile.
  public func request(
    _ content: OutboundContent, token: AccessToken, traceparent: String? = nil, timeout: Duration,
    startWithin: Duration? = nil, then: @escaping @Sendable (CallbackReport) -> Void
  ) {
    let start = time.now
    var fields = bearer.fields(for: token)
    if let traceparent, Self.isTraceparent(traceparent) { fields.append("traceparent", traceparent) }
    let message = OutboundRequest(
      method: .post, url: url, fields: fields, content: content, timeout: timeout,
      startWithin: startWithin, maximumContentLength: Self.longestReply, reuse: .never)
    transport.send(message) { [self] result in
      switch result {
      case .success(let reply):
        then(Self.report(CallbackOutcome(reply, now: time.unixTime), reply, took: time.now - start))
      case .failure(let error):
        then(Self.report(CallbackOutcome(error, now: time.unixTime), error.head, took: time.now - start))
      }
    }
  }

  /// Sends one request, like the other overload, and waits for the report.
  public func request(
    _ content: OutboundContent, token: AccessToken, traceparent: String? = nil, timeout: Duration
  ) async -> CallbackReport {
    await withCheckedContinuation { continuation in
      request(content, token: token, traceparent: traceparent, timeout: timeout) {
        continuation.resume(returning: $0)
      }
    }
  }

  private static func report(
    _ outcome: CallbackOutcome, _ reply: InboundResponse?, took duration: Duration
  ) -> CallbackReport {
    let words =
      reply.map { $0.status >= 400 ? CallbackRejection.error(in: $0.content) : (nil, nil) } ?? (nil, nil)
    return CallbackReport(
      outcome: outcome, status: reply?.status,
      platformTID: UpstreamText.traceID(reply?.fields["platform-tid"]), code: words.0, message: words.1,
      duration: duration)
  }

  /// Whether a text is a `traceparent` of four groups of lowercase hexadecimal digits (W3C Trace Context
  /// §3.2). Longer values of later versions are refused, because no unchecked text from outside may go into a
  /// header field.
  static func isTraceparent(_ text: String) -> Bool {
    let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard groups.map(\.count) == [2, 32, 16, 2] else { return false }
    let areDigits = groups.allSatisfy { group in
      group.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
    let isZero: (Substring.UTF8View) -> Bool = { $0.allSatisfy { $0 == UInt8(ascii: "0") } }
    return areDigits && !groups[0].elementsEqual("ff".utf8) && !isZero(groups[1]) && !isZero(groups[2])
  }
}
