// What a person sees who opens the server's address in a browser.

internal import HTTP

/// One paragraph that says what this is.
enum LandingPage {
  static let response = Response(
    status: .ok,
    fields: [
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      "Cache-Control": "max-age=3600",
    ],
    content: Array(
      """
      <!doctype html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <title>Callgate</title>
      <h1>Callgate</h1>
      <p>This server gives a company's mobile apps short-lived Talkdesk access tokens, by the company's own rules. There is nothing to
      see here: apps ask for <code>/access</code>, and operators check <code>/access?probe</code> and <code>/readyz</code>.</p>
      </html>

      """.utf8))
}
