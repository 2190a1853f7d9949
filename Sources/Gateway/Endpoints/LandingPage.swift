// The page that a browser shows at the server's root address.

import HTTP

/// One paragraph that says what this is.
enum LandingPage {
  static let document = FixedDocument(fields: HTMLText.pageFields(style: style), content: Array(html.utf8))

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
    <main>
    <h1>Callgate</h1>
    <p>This server gives a company's mobile apps short-lived Talkdesk access tokens and callbacks, by the company's own rules.
    There is nothing to see here: apps ask for <code>/access</code> and <code>/calls/callback</code>, and operators check
    <code>/access?probe</code> and <code>/readyz</code>. All of it is described in <a href="/docs">the documentation</a>.</p>
    </main>
    </body>
    </html>

    """

  private static let style = """
    :root { color-scheme: light dark; --ink: #1b2430; --paper: #f5f6f8; --card: #ffffff; --line: #d5dae1; --accent: #5b2ee0; }
    @media (prefers-color-scheme: dark) {
      :root { --ink: #e9edf2; --paper: #12161c; --card: #1b2129; --line: #353f4c; --accent: #b7a2ff; }
    }
    body {
      margin: 0; padding: 1rem; background: var(--paper); color: var(--ink);
      font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
    }
    main {
      max-width: 38rem; margin: 10vh auto; padding: 1.2rem 1.5rem; background: var(--card);
      border: 1px solid var(--line); border-radius: .75rem;
    }
    h1 { margin: 0 0 .4rem; font-size: 1.6rem; letter-spacing: -.02em; }
    p { margin: 0; }
    a { color: var(--accent); }
    code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .87em; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }

    """
}
