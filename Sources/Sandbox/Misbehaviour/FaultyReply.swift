// Applies a fault to a response of the emulator.

import HTTP
import JSON

extension Fault {
  /// The error response in place of acting on the request; nil if the fault has no status of 300 or more.
  func refusal() -> Reply? {
    guard let status, status >= 300 else { return nil }
    let phrase = Status.emulated(status)
    if [304].contains(status) { return Reply(phrase) }
    let content =
      switch endpoint {
      case .token: TokenRefusal.content(error: Self.tokenError(status), explanation: "a requested fault")
      case .callback, .validation, .doNotCall:
        TalkdeskError(
          status: phrase, code: Self.callbackCode(status), message: phrase.reason,
          description: "a requested fault"
        ).content
      case .fcm: FCMError(faulty: phrase).content
      case .hook: HookEndpoint.content("a requested fault")
      case .desk: DeskError.content("a requested fault")
      case .sendbird: SendbirdError.content(Self.sendbirdCode(status), "a requested fault")
      }
    return .json(phrase, content)
  }

  /// Applies the fault to a response. If the emulator refused the request itself, the response keeps its
  /// status and content.
  func apply(to reply: Reply, isRefusalOfTheRequest: Bool) -> Reply {
    var reply = reply
    if !isRefusalOfTheRequest {
      if let status { reply.status = .emulated(status) }
      if let body { (reply.content, reply.fields["Content-Type"]) = body.octetsAndType }
      if [204, 205, 304].contains(reply.status.code) {
        reply.content = []
        reply.fields["Content-Type"] = nil
      }
    }
    if let retryAfter { reply.fields["Retry-After"] = retryAfter }
    return reply
  }

  /// The matching error code of RFC 6749 §5.2, or else one of the authorization endpoint's (§4.1.2.1).
  private static func tokenError(_ status: Int) -> String {
    switch status {
    case 401: "invalid_client"
    case 403: "access_denied"
    case 429, 503: "temporarily_unavailable"
    case 500...: "server_error"
    default: "invalid_request"
    }
  }

  private static func sendbirdCode(_ status: Int) -> Int64 {
    switch status {
    case 401: 400_401
    case 403: 403_100
    case 429: 500_910
    case 500...: 500_901
    default: 400_111
    }
  }

  private static func callbackCode(_ status: Int) -> String {
    switch status {
    case 401: "unauthorized"
    case 403: "insufficient_scope"
    case 415: "unsupported_media_type"
    case 422: "invalid_body"
    case 429: "too_many_requests"
    case 500...: "internal_error"
    default: "bad_request"
    }
  }
}

extension Fault.Body {
  /// The content and its type: JSON if it is JSON, HTML if it starts with `<`, none if it is empty, else
  /// text.
  fileprivate var octetsAndType: ([UInt8], String?) {
    switch self {
    case .value(let value):
      return (value.serialized(), "application/json")
    case .text(let text):
      let octets = Array(text.utf8)
      if octets.isEmpty { return ([], nil) }
      if text.first == "<" { return (octets, "text/html; charset=utf-8") }
      let isJSON = (try? JSONValue(parsing: octets)) != nil  // Any error means that it is not.
      return (octets, isJSON ? "application/json" : "text/plain; charset=utf-8")
    }
  }
}

extension Status {
  /// A status with a code. The reason phrase is the standard one for the codes in this list; for all others
  /// it is `Status` and the code.
  static func emulated(_ code: Int) -> Status {
    let known: [Status] = [
      .ok, .created, .accepted, .noContent, .badRequest, .unauthorized, .forbidden, .notFound,
      .methodNotAllowed,
      .requestTimeout, .conflict, .contentTooLarge, .uriTooLong, .unsupportedMediaType, .unprocessableContent,
      .tooManyRequests, .requestHeaderFieldsTooLarge, .internalServerError, .badGateway, .serviceUnavailable,
      .gatewayTimeout,
    ]
    return known.first { $0.code == code } ?? Status(code, "Status \(code)")
  }
}
