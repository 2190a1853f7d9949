// The HTML of the demo page.

extension DemoClient {
  /// The page. Without script it still says what to do.
  static let page = #"""
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
    <h1>Callgate <span>sandbox</span></h1>
    <p>This page plays the mobile app. Callgate answers it, and a Talkdesk that runs on this machine answers
    Callgate. Nothing leaves your computer, and no phone rings. <a id="docs" href="/docs" hidden>The whole interface</a></p>
    </header>
    <main id="main">
    <noscript><p class="notice">This page needs JavaScript. Without it:
    <code>curl -i http://127.0.0.1:8080/access</code></p></noscript>

    <section aria-labelledby="token-title">
    <h2 id="token-title">Get an access token</h2>
    <p>What the app sends before it starts a session: <code>GET /access</code>. The answer is the token and nothing
    else.</p>
    <p class="row"><button type="button" id="fetch-token" class="primary">Fetch a token</button>
    <button type="button" id="probe">Probe only</button>
    <span id="token-status" role="status"></span></p>
    <div id="token" hidden>
    <p class="countdown"><strong id="left"></strong> <span id="left-words"></span></p>
    <progress id="life" max="600" value="600" aria-labelledby="left-words"></progress>
    <h3>Claims</h3>
    <dl id="claims"></dl>
    <details><summary>The token itself</summary><pre id="raw" tabindex="0"></pre></details>
    </div>
    <h3>The same from a terminal</h3>
    <div class="copy"><pre id="curl-access" tabindex="0"></pre>
    <button type="button" data-copy="curl-access" aria-label="Copy the token command">Copy</button></div>
    </section>

    <section aria-labelledby="call-title">
    <h2 id="call-title">Call me</h2>
    <p>What an app sends that never holds a token: <code>POST /calls/callback</code>.
    <span id="open-now"></span></p>
    <form id="call">
    <label for="phone">Your number, with country code</label>
    <input id="phone" name="phone" type="tel" autocomplete="off" required
    value="+14155550100" pattern="\+[1-9][0-9]{5,14}" aria-describedby="phone-help">
    <small id="phone-help">E.164, such as +14155550100. Nobody is called. After six callbacks to one
    number in a day, Callgate refuses the next one.</small>
    <label for="own">The account's number</label>
    <input id="own" name="own" type="tel" autocomplete="off" value="+18005550199"
    pattern="\+[1-9][0-9]{5,14}" aria-describedby="own-help">
    <small id="own-help">Left empty, the configured one is used.</small>
    <label for="issue">What is it about?</label>
    <input id="issue" name="issue" maxlength="200" value="My reservation">
    <p class="row"><button type="submit" class="primary">Call me</button>
    <button type="button" id="validate">Validate only</button>
    <button type="button" id="repeat" hidden>Repeat, same key</button>
    <span id="call-status" role="status"></span></p>
    </form>
    <pre id="call-answer" tabindex="0" aria-label="The answer" hidden></pre>
    <p id="call-record" hidden></p>
    <h3>The same from a terminal</h3>
    <div class="copy"><pre id="curl-call" tabindex="0"></pre>
    <button type="button" data-copy="curl-call" aria-label="Copy the callback command">Copy</button></div>
    </section>

    <section aria-labelledby="fault-title">
    <h2 id="fault-title">Make Talkdesk misbehave</h2>
    <p>The next request to Talkdesk meets the fault. While Callgate holds a token, it asks Talkdesk for none: let it forget
    the token first.</p>
    <h3 id="token-faults-title">At the next token request</h3>
    <div id="token-faults" class="row" role="group" aria-labelledby="token-faults-title"></div>
    <h3 id="callback-faults-title">At the next callback</h3>
    <div id="callback-faults" class="row" role="group" aria-labelledby="callback-faults-title"></div>
    <p class="row last"><button type="button" id="forget-token">Forget the cached token</button>
    <button type="button" id="clear-faults">Forget all faults</button>
    <span id="fault-status" role="status"></span></p>
    <ul id="waiting" class="plain" aria-label="Faults that are waiting"></ul>
    </section>

    <section aria-labelledby="seen-title">
    <h2 id="seen-title">What Talkdesk saw</h2>
    <h3 id="rings-title">Phones that rang</h3>
    <ul id="rings" class="plain" aria-labelledby="rings-title"></ul>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="exchanges-title">
    <h3 id="exchanges-title">Token requests</h3>
    <table><thead><tr><th scope="col">Time</th><th scope="col">Status</th><th scope="col">Outcome</th>
    <th scope="col">Scope</th><th scope="col">Token id (jti)</th></tr></thead><tbody id="exchanges"></tbody></table>
    </div>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="callbacks-title">
    <h3 id="callbacks-title">Callbacks</h3>
    <table><thead><tr><th scope="col">Time</th><th scope="col">Status</th><th scope="col">Outcome</th>
    <th scope="col">Contact</th><th scope="col">About</th></tr></thead><tbody id="callbacks"></tbody></table>
    </div>
    </section>
    </main>
    </body>
    </html>

    """#
}
