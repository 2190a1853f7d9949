// Serves the demo page, which plays the mobile app in a browser.

import HTTP

/// The demo client: one page that plays the mobile app against a gateway on the same port. Nothing of it comes from
/// elsewhere, so it works without a network, and its policy lets nothing in.
enum DemoClient {
  /// `GET /`.
  static func page(for call: Call) throws(ControlRefusal) -> Reply {
    guard call.method == .get || call.method == .head else {
      throw ControlRefusal(
        status: .methodNotAllowed, code: "method_not_allowed",
        detail: "This path does not support the method. Use one in Allow.",
        allow: [.get, .head])
    }
    var fields = common
    fields["Content-Security-Policy"] = contentSecurityPolicy
    fields["Referrer-Policy"] = "no-referrer"
    return Reply(.ok, contentType: "text/html; charset=utf-8", content: Array(page.utf8), fields: fields)
  }

  /// `GET /_sandbox/demo.js`.
  static var scriptReply: Reply {
    Reply(.ok, contentType: "text/javascript; charset=utf-8", content: Array(script.utf8), fields: common)
  }

  /// `GET /_sandbox/demo.css`.
  static var styleReply: Reply {
    Reply(.ok, contentType: "text/css; charset=utf-8", content: Array(style.utf8), fields: common)
  }

  /// Script and style from this origin, requests to this origin, and nothing else at all.
  static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  private static var common: Fields {
    ["Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"]
  }
}
