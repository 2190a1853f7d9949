// Response fields for web pages of allowed origins (CORS), and the response to `OPTIONS`.

import API
import HTTP
import HTTPServer
import Handling
import Serving

extension Gateway {
  /// The CORS fields of a response. Nil if the endpoint is not for web pages, for a preflight (`options` adds
  /// its fields), and if no origins are configured. Without `Origin`, only a cacheable response gets a field:
  /// `Vary`.
  func crossOriginFields(_ endpoint: Endpoint?, _ request: borrowing Request) -> PreparedFields? {
    guard let endpoint, endpoint.audience == .apps || endpoint.audience == .agents else { return nil }
    // Without `Origin`, only a cacheable response needs `Vary`.
    guard request.value(of: .origin) != nil || endpoint.isKept else { return nil }
    // A preflight gets its fields from `options`.
    guard request.method != .options || request.value(of: .accessControlRequestMethod) == nil else {
      return nil
    }
    let generation = generations.current
    return (endpoint.audience == .agents ? generation.agentOrigins : generation.crossOrigin).fields(
      for: request)
  }

  /// The response to `OPTIONS`, whether or not it is a browser's preflight.
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
