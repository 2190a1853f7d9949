// Endpoints for the landing page, the API description and the runbook.

import API
import HTTP
import HTTPServer
import Handling
import Pages

extension Feature {
  /// The feature with the endpoints for the landing page, the API description and the runbook.
  static let pages = Feature(
    endpoints: [
      ServedEndpoint(
        "/", for: .everybody,
        .clients(.landing) { _, request, _, exchange in
          exchange.respond(LandingPage.document.answer(to: request))
        }),
      ServedEndpoint(
        "/openapi.json", for: .everybody,
        .clients(.openAPI) { handlers, request, _, exchange in
          exchange.respond(handlers.description.openAPI.answer(to: request))
        }),
      ServedEndpoint(
        "/docs", for: .everybody,
        .clients(.docs) { handlers, request, _, exchange in
          exchange.respond(handlers.description.page.answer(to: request))
        }),
      ServedEndpoint(RunbookPage.path, for: .everybody, .document(.runbook, RunbookPage.document)),
      // An undecodable name is answered like an unknown page.
      ServedEndpoint(
        "/docs/{tag}", for: .everybody,
        .clients(.docsPage) { handlers, request, parameters, exchange in
          let name = request.percentDecoded(parameters[0]) ?? ""
          guard let page = handlers.description.pages[name] else {
            return exchange.respond(Problem.noEndpoint.response(requestID: exchange.requestID))
          }
          exchange.respond(page.answer(to: request))
        }),
    ])
}
