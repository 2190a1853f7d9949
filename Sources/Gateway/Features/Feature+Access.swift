// Endpoints for tokens, in the response or by push notification.

import API
import HTTP
import HTTPServer
import Handling
import Responses

extension Feature {
  /// The feature with the endpoints for Talkdesk's tokens and for session tokens of chat desks.
  static let access = Feature(
    endpoints: [
      ServedEndpoint(
        "/access", for: .apps, auditing: .every(.access),
        .clients(.access) { handlers, request, _, exchange in
          handlers.vend(as: AccessForm(request), app: nil, request, &exchange)
        }),
      ServedEndpoint(
        "/access/claim", for: .apps, auditing: .known(.access),
        .clients(.claim) { handlers, request, _, exchange in handlers.claimToken(request, &exchange) }),
      ServedEndpoint(
        "/token/{app}", for: .apps, auditing: .every(.access),
        .clients(.token) { handlers, request, parameters, exchange in
          // An undecodable name is not an app's name.
          let app = request.percentDecoded(parameters[0]).map { Request.QueryItem.value($0) } ?? .malformed
          handlers.vend(as: .stock, app: app, request, &exchange)
        }),
    ])
}
