// What the server adds to its answers for the web pages that may call it, and how it answers `OPTIONS`.

import API
import HTTP
import HTTPServer

extension Gateway {
  /// What the answer to a request for an app carries for the browser that asks; nil for everybody else.
  func crossOriginFields(_ endpoint: Endpoint?, _ request: borrowing Request) -> PreparedFields? {
    guard let endpoint, endpoint.audience == .apps else { return nil }
    // Without an origin only an answer that may be kept has to say what it depends on.
    guard request.value(of: .origin) != nil || endpoint.isKept else { return nil }
    // A preflight has its own.
    guard request.method != .options || request.value(of: .accessControlRequestMethod) == nil else {
      return nil
    }
    return generations.current.crossOrigin.fields(for: request)
  }

  /// The answer to `OPTIONS`, a browser's preflight or not.
  func options(_ endpoint: Endpoint, _ request: borrowing Request) -> Response {
    var fields: Fields = ["Allow": endpoint.allowed]
    if endpoint.audience == .apps,
      let more = generations.current.crossOrigin.preflight(request, allowed: endpoint.allowed)
    {
      for line in more.lines { fields.append(line.name, line.value) }
    }
    return Response(status: .noContent, fields: fields)
  }
}
