// The HTML of the demo page: its frame, and the cards in two columns.

extension DemoClient {
  /// What an app does first, and how Talkdesk fails, in the first column.
  private static let app: [DemoCard] = [.token, .call, .later, .faults]
  /// What happens behind it, and what a phone does with a credential of its own, in the second. Enrolling comes before what
  /// needs it, also in one column.
  private static let behind: [DemoCard] = [.seen, .enrol, .push, .dialog, .ticket, .gms]
  /// All cards.
  static let cards = app + behind

  /// The page. Without script it still says what to do.
  static let page = [head, column(app), column(behind), end].joined(separator: "\n")

  private static func column(_ cards: [DemoCard]) -> String {
    "<div class=\"stack\">\n" + cards.map(\.html).joined(separator: "\n\n") + "\n</div>\n"
  }

  private static let head = #"""
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Callgate sandbox</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/_sandbox/demo.css">
    <script src="/_sandbox/demo.js" defer></script>
    </head>
    <body>
    <a class="skip" href="#main">Skip to content</a>
    <header>
    <h1 class="brand">Callgate <span class="badge info">sandbox</span></h1>
    <p>This page plays the mobile app. Callgate answers it, and an emulated Talkdesk on this machine answers Callgate.
    Nothing leaves your computer, and no phone rings. <a id="docs" href="/docs" hidden>API reference</a>
    <a id="operator" href="/admin/" hidden>Operator's page</a></p>
    </header>
    <main id="main" class="stack">
    <noscript><p class="notice warn">This page needs JavaScript. Without JavaScript, use a terminal:
    <code>curl -i http://127.0.0.1:8080/access</code></p></noscript>

    """#

  private static let end = #"""
    </main>
    </body>
    </html>

    """#
}
