// The page that a browser shows at the server's root address.

import HTTP
package import Pages

/// One paragraph on what this server does.
package enum LandingPage {
  package static let document = FixedDocument(
    fields: HTMLText.pageFields(style: style), content: Array(html.utf8))

  private static let html = """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Callgate</title>
    <link rel="icon" href="data:,">
    <style>\(style)</style>
    </head>
    <body>
    <main class="card">
    <h1 class="brand">Callgate</h1>
    <p>This server gives a company's mobile apps short-lived Talkdesk access tokens and callbacks, by the company's own
    rules. Apps request <code>/access</code> and <code>/calls/callback</code>. Operators check <code>/access?probe</code>
    and <code>/readyz</code>.</p>
    <p><a href="/docs">API reference</a></p>
    </main>
    </body>
    </html>

    """

  private static let style = Stylesheet.text + layout

  private static let layout = """
    main { max-width: 38rem; margin: 10vh auto 0; }
    main p:last-child { margin-bottom: 0; }

    """
}
