// Serves the demo page, which plays the mobile app in a browser.

import HTTP
import Pages

/// The demo client: one page that plays the mobile app against a gateway on the same port. Nothing of it comes from
/// elsewhere, so it works without a network, and its policy lets nothing in.
enum DemoClient {
  /// The page or a part of it; nil for any other path.
  static func document(at path: String, for call: Call) throws(ControlRefusal) -> FixedDocument? {
    guard let document = documents[path] else { return nil }
    guard call.method == .get || call.method == .head else {
      throw ControlRefusal(
        status: .methodNotAllowed, code: "method_not_allowed",
        detail: "This path does not support the method. Use one in Allow.",
        allow: [.get, .head])
    }
    return document
  }

  private static let documents = [
    "/": FixedDocument(
      fields: [
        "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": contentSecurityPolicy,
        "Referrer-Policy": "no-referrer",
      ], content: PageFile.demo.octets),
    "/_sandbox/demo.js": .file("text/javascript", PageFile.demoScript.octets),
    "/_sandbox/demo.css": .file("text/css", PageFile.design.octets + PageFile.demoStyle.octets),
  ]

  /// Script and style from this origin, requests to this origin, and nothing else at all.
  static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
