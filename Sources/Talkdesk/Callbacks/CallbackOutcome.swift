// Determines whether Talkdesk accepted a callback request: yes, no or unknown.

public import HTTP
import Platform

/// The outcome of one request to the Callback API: Talkdesk accepted it, did not, or may have.
public enum CallbackOutcome: Sendable {
  /// Any 2xx, with any content or none: Talkdesk documents neither the status nor the body of a success.
  case accepted(status: Int)
  /// 400, 415 or 422: Talkdesk refused the body. The fields are Talkdesk's, printable and bounded.
  case rejected(status: Int, fields: [CallbackRejection])
  /// 401: the token is missing, expired or revoked.
  case unauthorized
  /// 403: the scope or the account is not allowed.
  case forbidden
  /// 429. The wait is at most `longestWait`; nil if the reply has no readable time.
  case rateLimited(retryAfter: Duration?)
  /// 503, which means that nothing was done.
  case unavailable(retryAfter: Duration?)
  /// No byte of the request was sent: for example, DNS, connecting or TLS failed, or the request got no turn
  /// in time.
  case unreachable(TransportError)
  /// Any other 4xx except 408: refused for an undocumented reason. 404 usually means a wrong base URL.
  case refused(status: Int)
  /// Any other 5xx, a 408 or a redirect: the call may have been requested or not.
  case unclear(status: Int)
  /// A byte may have been sent, and no status arrived: timeout, reset, close, cancellation, or bytes that are
  /// not HTTP.
  case unanswered(TransportError)

  /// The longest `Retry-After` that the server respects. It is longer than the 60 seconds for tokens, because
  /// Talkdesk has just refused this request and a client that retries too early would fail again.
  public static let longestWait = Duration.seconds(3600)

  /// Whether the call was requested.
  public enum Certainty: String, Sendable {
    /// The call was requested.
    case accepted
    /// The call was not requested.
    case notAccepted
    /// The call may have been requested. Another request could make the phone ring twice.
    case unknown
  }

  /// Whether the call was requested. Only after `notAccepted` may the server give allowances back or send the
  /// request again.
  public var certainty: Certainty {
    switch self {
    case .accepted: .accepted
    case .rejected, .unauthorized, .forbidden, .rateLimited, .unavailable, .unreachable, .refused:
      .notAccepted
    case .unclear, .unanswered: .unknown
    }
  }

  /// A short fixed word for metrics and logs. It is `unknown` exactly if the callback's record is: an
  /// operator who reads `failed` would request the call again, and the phone could ring twice.
  public var label: String {
    switch self {
    case .accepted: "accepted"
    case .rejected: "rejected"
    case .unauthorized: "unauthorized"
    case .forbidden: "forbidden"
    case .rateLimited: "rate_limited"
    case .unavailable: "unavailable"
    case .unreachable: "unreachable"
    case .refused: "refused"
    case .unclear, .unanswered: Certainty.unknown.rawValue
    }
  }

  /// The outcome of a reply. The status decides; the content only explains.
  init(_ reply: InboundResponse, now: UnixTime) {
    switch reply.status {
    case 200..<300: self = .accepted(status: reply.status)
    case 400, 415, 422: self = .rejected(status: reply.status, fields: CallbackRejection.read(reply.content))
    case 401: self = .unauthorized
    case 403: self = .forbidden
    case 429: self = .rateLimited(retryAfter: Self.wait(reply.fields, now: now))
    case 503: self = .unavailable(retryAfter: Self.wait(reply.fields, now: now))
    // A redirect may follow an action (RFC 9110 §15.4.4), and a proxy's 408 says nothing about the server
    // behind it.
    case 404...407, 409...499, 402: self = .refused(status: reply.status)
    default: self = .unclear(status: reply.status)
    }
  }

  private static func wait(_ fields: Fields, now: UnixTime) -> Duration? {
    RetryAfter.read(fields, now: now.seconds, cap: longestWait)
  }

  /// The outcome of a failed transfer. A status that was received counts more than the failure after it.
  init(_ error: TransportError, now: UnixTime) {
    if let head = error.head {
      self.init(head, now: now)
    } else {
      self = error.sent ? .unanswered(error) : .unreachable(error)
    }
  }
}
