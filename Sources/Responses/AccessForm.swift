// The formats in which the server returns a vended token.

import API
package import HTTP
package import JOSE
import JSON
package import Tokens

/// The format of a response with a vended token.
package enum AccessForm: Sendable {
  /// `GET /access` and `POST /access/claim`: the content is exactly the token.
  case text
  /// The same endpoints as JSON, in the form of RFC 6749 §5.1.
  case json
  /// `GET /access?probe`: only the status.
  case probe
  /// `POST /token/{app}`: the form for Talkdesk's stock clients.
  case stock

  /// The form that a `GET /access` requests.
  package init(_ request: borrowing Request) {
    if request.query != nil, request.hasQueryItem("probe") {
      self = .probe
      return
    }
    self.init(accepting: request)
  }

  /// The text or the JSON form, as the `Accept` fields of a request prefer. Without `Accept`, the text.
  package init(accepting request: borrowing Request) {
    guard request.value(of: .accept) != nil else {
      self = .text
      return
    }
    switch TokenForm(accept: request.values(of: .accept).map { [head = request.head] in head[$0] }) {
    case .text: self = .text
    case .json: self = .json
    }
  }

  /// The response with a token.
  ///
  /// - Parameter expiresIn: The whole seconds left of the token's life; nil if unknown.
  package func response(_ token: AccessToken, expiresIn: Int64?) -> Response {
    switch self {
    case .text: return Self.text(token.secret)
    case .json:
      var document: JSONObject = [
        "access_token": .string(token.secret.exposedString()), "token_type": .string(token.tokenType),
      ]
      if let expiresIn { document["expires_in"] = .number(JSONNumber(expiresIn)) }
      document["scope"] = .string(token.scope)
      return Self.document(document, status: .ok)
    case .stock:
      var document: JSONObject = ["auth_token": .string(token.secret.exposedString())]
      if let expiresIn { document["expires_in"] = .number(JSONNumber(expiresIn)) }
      return Self.document(document, status: .created)
    case .probe:
      return Self.probed
    }
  }

  /// The response with a session token of a chat desk.
  package func response(_ token: Secret, of userID: String, expiresIn: Int64) -> Response {
    let name: String
    let status: Status
    switch self {
    case .text: return Self.text(token)
    case .probe: return Self.probed
    case .json: (name, status) = ("access_token", .ok)
    case .stock: (name, status) = ("auth_token", .created)
    }
    var document: JSONObject = [name: .string(token.exposedString())]
    if case .json = self { document["token_type"] = "Bearer" }
    document["expires_in"] = .number(JSONNumber(expiresIn))
    document["user_id"] = .string(userID)
    return Self.document(document, status: status)
  }

  private static func text(_ token: Secret) -> Response {
    Response(
      status: .ok, fields: ["Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"],
      content: token.exposedBytes())
  }

  /// The response to a probe if a token is available.
  package static let probed = Response(status: .noContent, fields: ["Cache-Control": "no-store"])

  private static func document(_ document: JSONObject, status: Status) -> Response {
    Response(
      status: status,
      // RFC 6749 §5.1 requires the last two.
      fields: ["Content-Type": "application/json", "Cache-Control": "no-store", "Pragma": "no-cache"],
      content: document.serialized())
  }
}
