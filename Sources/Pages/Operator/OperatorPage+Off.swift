// The page at `/admin/` of a server without an operators' token.

extension OperatorPage {
  /// How to switch the operator's page on. It tells nothing about this server but that the page is off on this port.
  public static let off = """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Callgate operator: off</title>
    <link rel="icon" href="data:,">
    <style>\(offStyle)</style>
    </head>
    <body>
    <main class="card">
    <h1 class="brand">Callgate</h1>
    <p>The operator's page is off on this port. To switch it on, do one of these and restart the server:</p>
    <ul>
    <li>On the server's machine only: add <code>admin: { port: 9091 }</code> to <code>callgate.yaml</code>, and open
    <code>http://127.0.0.1:9091/admin/</code> there.</li>
    <li>On this port: make a token with <code>openssl rand -hex 32</code>, name its file as <code>admin.token_file</code>
    (or set <code>CALLGATE_ADMIN_TOKEN</code>), and open this page again. Do this only if the port speaks https.</li>
    </ul>
    <p><code>callgate init</code> writes both. The same switches on <code>callgate status</code>, <code>stop</code> and
    <code>resume</code>.</p>
    </main>
    </body>
    </html>

    """

  public static let offStyle =
    Stylesheet.text + """
      main { max-width: 38rem; margin: 10vh auto 0; }
      main p:last-child { margin-bottom: 0; }

      """
}
