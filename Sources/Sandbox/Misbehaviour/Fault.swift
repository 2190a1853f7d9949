// Describes one fault: which endpoint fails, how it fails and how many times.

import JSON

/// A fault that the emulator shows on request, and for how many requests.
struct Fault: Hashable, Sendable {
  enum Endpoint: String, CaseIterable, Sendable {
    /// `POST /oauth/token`.
    case token
    /// `POST /calls/callback`.
    case callback
    /// `POST /v1/projects/{project}/messages:send`.
    case fcm
    /// `POST /_sandbox/hook`.
    case hook
    /// Sendbird's `/v3/users`, `/v3/users/{user_id}` and `/v3/users/{user_id}/token`, and
    /// `POST /v3/group_channels/{channel_url}/messages`.
    case sendbird
    /// Sendbird Desk's `/platform/v1/…`.
    case desk
    /// `GET /identity/phonevalidations/{number}`.
    case validation
    /// `/do-not-call-lists/…`.
    case doNotCall = "do_not_call"
  }

  /// The moment when the emulator closes the connection instead of responding.
  enum Drop: String, CaseIterable, Sendable {
    /// The emulator reads the request and does nothing.
    case before
    /// The emulator acts on the request or refuses it, and sends half of the response.
    case during
    /// The emulator acts on the request or refuses it, and sends no response.
    case after
  }

  /// The content in place of the usual one.
  enum Body: Hashable, Sendable {
    /// A string, sent as it is.
    case text(String)
    /// Any other JSON value, serialized.
    case value(JSONValue)
  }

  /// The value in place of the usual `expires_in`.
  enum ExpiresIn: Hashable, Sendable {
    /// A whole number of seconds: the token's own `exp` follows it.
    case seconds(Int64)
    /// A string, a number that is not whole, or one beyond `FaultParser.maximumExpiresIn`. It is sent as it
    /// is; the token has its usual lifetime.
    case verbatim(JSONValue)
    /// No `expires_in` at all.
    case leftOut
  }

  var endpoint: Endpoint
  /// The number of requests that the fault affects.
  var times = 1
  /// The status instead of the usual one, 200–599. From 300 on the request is not acted on.
  var status: Int?
  /// The delay before the response or the close, in milliseconds.
  var delay: Int64 = 0
  /// The value of a `Retry-After` field.
  var retryAfter: String?
  /// The content instead of the usual one.
  var body: Body?
  /// When the connection is closed; nil if the whole response is sent.
  var drop: Drop?
  /// The `expires_in` instead of the usual one; token endpoint only.
  var expiresIn: ExpiresIn?
  /// Whether assertions are checked without leeway, with a clock that is 2 seconds behind; token endpoint
  /// only.
  var hasStrictClock = false

  /// Whether the fault keeps the emulator from acting on the request.
  var preventsAction: Bool { drop == .before || (status ?? 200) >= 300 }

  /// The fault as JSON, in the form of its request. Members without an effect are absent.
  var json: JSONValue {
    var members = JSONObject()
    members.append("endpoint", .string(endpoint.rawValue))
    members.append("times", .number(JSONNumber(Int64(times))))
    if let status { members.append("status", .number(JSONNumber(Int64(status)))) }
    if delay > 0 { members.append("delay_ms", .number(JSONNumber(delay))) }
    if let retryAfter { members.append("retry_after", .string(retryAfter)) }
    switch body {
    case .text(let text): members.append("body", .string(text))
    case .value(let value): members.append("body", value)
    case nil: break
    }
    if let drop { members.append("drop", .string(drop.rawValue)) }
    switch expiresIn {
    case .seconds(let seconds): members.append("expires_in", .number(JSONNumber(seconds)))
    case .verbatim(let value): members.append("expires_in", value)
    case .leftOut: members.append("expires_in", .null)
    case nil: break
    }
    if hasStrictClock { members.append("strict_clock", true) }
    return .object(members)
  }
}
