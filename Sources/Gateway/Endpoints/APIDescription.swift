// The API description in the two forms that the server offers: OpenAPI and web pages.

import API
import Configuration
import HTTP
import Handling
import JSON
import Pages
import Serving

/// The API description of servers that accept requests without credentials, or of servers that do not. Built
/// at the first request.
struct APIDescription: Sendable {
  let openAPI: FixedDocument
  /// The page at `/docs`, and the pages below `/docs/`.
  let page: FixedDocument
  let pages: [String: FixedDocument]

  private init(allowsAnonymous: Bool) {
    let document = APIDocument(endpoints: Endpoint.all, allowsAnonymous: allowsAnonymous)
    openAPI = FixedDocument(
      fields: ["Content-Type": "application/json"],
      content: document.json.serialized())
    let docs = DocsPages(document)
    page = docs.overview
    pages = docs.parts
  }

  private static let closed = APIDescription(allowsAnonymous: false)
  private static let open = APIDescription(allowsAnonymous: true)

  /// The description of a server with this configuration.
  static func of(_ configuration: Configuration) -> APIDescription {
    configuration.allowAnonymous ? open : closed
  }
}

extension Handlers {
  /// The API description for the current configuration.
  var description: APIDescription { APIDescription.of(generations.current.configuration) }
}
