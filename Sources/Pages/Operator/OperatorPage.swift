// The operator's page: its frame, and its cards.

/// The page at `/admin/`: it shows how a server does, and acts on it, by the endpoints below `/admin/`. It holds no data itself.
public enum OperatorPage {
  /// What an operator acts with, in the first column.
  private static let acting: [OperatorCard] = [.killSwitch, .installations]
  /// What the server has and does, in the second.
  private static let standing: [OperatorCard] = [.services, .desks, .callbacks, .configuration]
  static let cards = [.now, .hour] + acting + standing + [.decisions]

  /// The whole page, style and script included.
  /// - Parameter needsToken: Whether the data behind the page needs the admin token. The page then asks for it first.
  public static func html(needsToken: Bool) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Callgate operator</title>
    <link rel="icon" href="data:,">
    <style>\(style)</style>
    </head>
    <body data-access="\(needsToken ? "token" : "open")">
    <a class="skip" href="#main">Skip to content</a>
    \(header)
    <main id="main">
    <noscript><p class="notice warn">This page needs JavaScript. Without JavaScript, use a terminal:
    <code>callgate status</code></p></noscript>
    <p id="connection" class="notice bad" role="alert" hidden></p>
    \(login)
    <div id="board" class="stack" hidden>
    \(OperatorCard.now.html)
    \(OperatorCard.hour.html)
    <div class="columns">
    \(column(acting))
    \(column(standing))
    </div>
    \(OperatorCard.decisions.html)
    </div>
    </main>
    \(dialog)
    <script>\(script)</script>
    </body>
    </html>

    """
  }

  private static func column(_ cards: [OperatorCard]) -> String {
    "<div class=\"stack\">\n" + cards.map(\.html).joined(separator: "\n\n") + "\n</div>"
  }

  private static let header = #"""
    <header class="row">
    <h1 class="brand">Callgate <span class="badge info">operator</span></h1>
    <p id="tools" class="row" hidden><span id="heard" class="soft"></span>
    <button type="button" id="pause" class="small" aria-pressed="false">Pause</button>
    <button type="button" id="lock" class="small">Forget token</button></p>
    </header>
    """#

  private static let login = #"""
    <section id="login" class="card" aria-labelledby="login-title" hidden>
    <h2 id="login-title">Admin token</h2>
    <p>This server shows its state only to operators. Your browser keeps the token until you close this tab.</p>
    <form id="login-form">
    <label for="token">Admin token</label>
    <input id="token" type="password" autocomplete="off" spellcheck="false" required aria-describedby="token-help">
    <small id="token-help">The value of <code>CALLGATE_ADMIN_TOKEN</code> or of the file in <code>admin.token_file</code>.</small>
    <p class="row"><button type="submit" class="primary">Open</button>
    <span id="login-status" class="result" role="status"></span></p>
    </form>
    </section>
    """#

  /// Asks before each act that cannot be undone by looking away.
  private static let dialog = #"""
    <dialog id="confirm" aria-labelledby="confirm-title">
    <h2 id="confirm-title"></h2>
    <p id="confirm-text"></p>
    <form method="dialog" class="row">
    <button value="cancel">Cancel</button>
    <button id="confirm-act" value="act" class="danger"></button>
    </form>
    </dialog>
    """#
}
