// Serves the demo page, which plays the mobile app in a browser.

import HTTP
import Pages

/// The demo client: one page that plays the mobile app against a gateway on the same port. The page loads
/// nothing from elsewhere, so it works without a network, and its content security policy blocks everything
/// else.
enum DemoClient {
  /// The page, its script or its stylesheet; nil for any other path.
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

  /// Allows scripts, styles and requests of this origin, and images in `data:` URLs. Blocks everything else.
  static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
