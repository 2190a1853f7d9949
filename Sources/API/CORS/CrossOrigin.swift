// Decides which web pages may call the server from a browser (CORS):
// https://fetch.spec.whatwg.org/#http-cors-protocol.

package import HTTP

/// The configured origins, each with its prepared response fields.
///
/// A response names only the requesting origin, never all origins, and never allows cookies. Callers send
/// their credential in a header, which a page of another site does not know.
package struct CrossOrigin: Sendable {
  private struct Entry {
    let origin: String
    /// The fields of every response to the origin's pages.
    let answer: PreparedFields
    /// The fields of the response to a preflight, without the methods.
    let preflight: Fields
  }

  /// The headers that a page may send beyond those that every page may send.
  static let requestFields = [
    "Authorization", "Content-Type", "DPoP", "Idempotency-Key", "X-API-Key", "X-Firebase-AppCheck",
    "X-Request-Id",
    // OpenTelemetry and Sentry in a page add these to every request. If a preflight does not allow them, the
    // request fails.
    "baggage", "sentry-trace", "traceparent", "tracestate",
  ]
  /// The headers of AI agents' clients.
  package static let agentFields = [
    "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Last-Event-ID",
  ]
  /// The headers of a response that a page may read.
  static let responseFields = [
    "DPoP-Nonce", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "WWW-Authenticate",
    "X-Request-Id",
  ]
  /// How long a browser may cache the response to a preflight, in seconds. It is short, so that a reload
  /// takes effect soon.
  static let maxAge = 600

  private let entries: [Entry]
  /// Tells caches that responses differ by origin (RFC 9110 §12.5.5).
  private let vary = PreparedFields(["Vary": "Origin"])

  /// Creates the fields of each origin.
  /// - Parameter ruleFields: The names of the fields that rules read, which pages must be able to send.
  package init(origins: [String], ruleFields: [String]) {
    var allowed = Self.requestFields
    // Our text: the names of fields in rules.
    for name in ruleFields where !allowed.contains(where: { $0.lowercased() == name.lowercased() }) {
      allowed.append(name)
    }
    entries = origins.compactMap { origin in
      let common: Fields = ["Access-Control-Allow-Origin": origin, "Vary": "Origin"]
      var answer = common
      answer.append("Access-Control-Expose-Headers", Self.responseFields.joined(separator: ", "))
      var preflight = common
      preflight.append("Access-Control-Allow-Headers", allowed.joined(separator: ", "))
      preflight.append("Access-Control-Max-Age", String(Self.maxAge))
      // Skips an origin that a header field cannot contain. The configuration refuses it, and no browser
      // sends it.
      guard let ready = PreparedFields(answer) else { return nil }
      return Entry(origin: origin, answer: ready, preflight: preflight)
    }
  }

  /// The fields of every response to a request: only `Vary` if its origin is not allowed; nil if no origins
  /// are configured.
  package func fields(for request: borrowing Request) -> PreparedFields? {
    guard !entries.isEmpty else { return nil }
    return entry(of: request)?.answer ?? vary
  }

  /// The fields of the response to a preflight; nil for another request or an origin that is not allowed.
  ///
  /// - Parameter allowed: The methods of the path.
  package func preflight(_ request: borrowing Request, allowed: String) -> Fields? {
    guard request.count(of: .accessControlRequestMethod) == 1, let entry = entry(of: request) else {
      return nil
    }
    var fields = entry.preflight
    fields.append("Access-Control-Allow-Methods", allowed)
    return fields
  }

  /// Whether a request comes from a page of one of the origins.
  package func lists(_ request: borrowing Request) -> Bool { entry(of: request) != nil }

  private func entry(of request: borrowing Request) -> Entry? {
    guard request.count(of: .origin) == 1, let origin = request.value(of: .origin) else { return nil }
    for entry in entries where request.equals(origin, entry.origin) { return entry }
    return nil
  }
}
