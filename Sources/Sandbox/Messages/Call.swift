// A request to the emulator as its endpoints see it.

import HTTP

/// The parts of a request that the emulator reads, as a copy: the endpoints never touch a connection.
struct Call: Sendable {
  var method: Method
  /// Every `Content-Type` field; more than one is refused.
  var contentTypes: [String] = []
  /// Every `Authorization` field; more than one is refused.
  var authorizations: [String] = []
  /// The `Api-Token` field, as Sendbird's clients send it.
  var apiToken: String?
  /// The `SENDBIRDDESKAPITOKEN` field, as clients of Sendbird Desk send it.
  var deskToken: String?
  /// The `Host` field. The journal shows it, since a proxy that forwards its client's `Host` is a known
  /// mistake.
  var host: String?
  /// Whether the name in `Host` certainly means this machine, so that no foreign site can point it here. True
  /// without the field, because every browser sends it.
  var meansThisMachine = true
  /// The `User-Agent` field.
  var userAgent: String?
  /// The `traceparent` field (W3C Trace Context).
  var traceparent: String?
  /// Whether the request comes from a web page of another origin, or from a link there.
  var isOfForeignPage = false
  /// Whether a script or form of another origin sent it.
  var hasForeignOrigin = false
  /// The fields of a webhook (Standard Webhooks).
  var webhook = Webhook()
  var content: [UInt8] = []

  /// The fields that authenticate a webhook.
  struct Webhook: Sendable {
    /// `webhook-id`.
    var id: String?
    /// `webhook-timestamp`.
    var timestamp: String?
    /// `webhook-signature`.
    var signature: String?
  }

  /// Whether the content has this media type; parameters such as `charset` are ignored.
  func hasContent(ofType mediaType: String) -> Bool {
    guard contentTypes.count == 1 else { return false }
    let named = contentTypes[0].prefix { $0 != ";" && $0 != " " && $0 != "\t" }
    return named.lowercased() == mediaType
  }

  /// The credentials of an authentication scheme; nil if the request does not use the scheme or has several
  /// `Authorization` fields.
  func credentials(scheme: String) -> String? {
    guard authorizations.count == 1 else { return nil }
    let parts = authorizations[0].split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased() == scheme else { return nil }
    return String(parts[1])
  }
}
