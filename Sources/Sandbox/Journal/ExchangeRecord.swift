// The emulator's record of one token request, without any secret.

import JSON
import Platform

/// The journal's entry for one token request. It never contains a token, an assertion or a secret.
struct ExchangeRecord: Sendable {
  /// The time at which the request arrived.
  var time: UnixTime
  var outcome: Outcome
  /// The response's status; nil if there was no response.
  var status: Int?
  /// The `error` code of a refusal.
  var error: String?
  /// How the client authenticated, and the IDs that it claimed.
  var client: ClientAuthenticator.Outcome
  /// The `scope` parameter.
  var requestedScope: String?
  /// The scopes of the token that was issued.
  var grantedScope: String?
  /// The `jti` of the token that was issued. `client` has the assertion's `jti`.
  var tokenID: String?
  /// The `User-Agent` field.
  var userAgent: String?
  /// The `traceparent` field.
  var traceparent: String?

  /// The record as `GET /_sandbox/exchanges` shows it.
  var json: JSONValue {
    var members = JSONObject()
    members.append("time", .string(time.rfc3339))
    members.append("outcome", .string(outcome.rawValue))
    members.append("status", status.map { .number(JSONNumber(Int64($0))) } ?? .null)
    if let error { members.append("error", .string(error)) }
    if let refusal = client.refusal { members.append("error_description", .string(refusal.explanation)) }
    members.append("client_authentication", .string(client.method.rawValue))
    if let keyID = client.keyID { members.append("kid", .string(keyID.shortened)) }
    if let jwtID = client.jwtID { members.append("jti", .string(jwtID.shortened)) }
    if let requestedScope { members.append("scope", .string(requestedScope.shortened)) }
    if let grantedScope { members.append("granted_scope", .string(grantedScope)) }
    if let tokenID { members.append("token_jti", .string(tokenID)) }
    if let userAgent { members.append("user_agent", .string(userAgent.shortened)) }
    if let traceparent { members.append("traceparent", .string(traceparent.shortened)) }
    return .object(members)
  }
}

enum Outcome: String, Sendable {
  /// The emulator acted on the request and responded with success.
  case accepted
  /// The request was refused, by the emulator's checks or by the real account whose response is imitated.
  case refused
  /// The response came from a fault, and the request had no effect.
  case fault
  /// The connection was closed, and the request had no effect.
  case droppedBefore = "dropped_before"
  /// The emulator acted on the request and closed the connection in the middle of the response.
  case droppedDuring = "dropped_during"
  /// The emulator acted on the request and closed the connection without a response.
  case droppedAfter = "dropped_after"
}

extension String {
  /// At most the first 200 characters, because the journal's size is bounded.
  var shortened: String { String(prefix(200)) }
}
