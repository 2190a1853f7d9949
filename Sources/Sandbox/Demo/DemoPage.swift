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
    <h1 class="brand">Callgate <span class="badge info">sandbox</span></h1>
    <p>This page plays the mobile app. Callgate answers it, and an emulated Talkdesk on this machine answers Callgate.
    Nothing leaves your computer, and no phone rings. <a id="docs" href="/docs" hidden>API reference</a></p>
    </header>
    <main id="main" class="stack">
    <noscript><p class="notice warn">This page needs JavaScript. Without JavaScript, use a terminal:
    <code>curl -i http://127.0.0.1:8080/access</code></p></noscript>

    <div class="stack">
    <section class="card" aria-labelledby="token-title">
    <h2 id="token-title">Get an access token</h2>
    <p>An app with an SDK sends <code>GET /access</code> before it starts a session. The response body is the token.</p>
    <p class="row"><button type="button" id="fetch-token" class="primary">Fetch a token</button>
    <button type="button" id="probe">Probe only</button>
    <span id="token-status" class="result" role="status"></span></p>
    <div id="token" hidden>
    <p class="countdown"><strong id="left"></strong> <span id="left-words" class="soft"></span></p>
    <progress id="life" max="600" value="600" aria-labelledby="left-words"></progress>
    <h3>Claims</h3>
    <dl id="claims"></dl>
    <details><summary>The whole token</summary><pre id="raw" tabindex="0"></pre></details>
    </div>
    <h3>The same from a terminal</h3>
    <div class="copy"><pre id="curl-access" tabindex="0"></pre>
    <button type="button" class="small" data-copy="curl-access" aria-label="Copy the token command">Copy</button></div>
    </section>

    <section class="card" aria-labelledby="call-title">
    <h2 id="call-title">Call me</h2>
    <p>An app without a token sends <code>POST /calls/callback</code>. <span id="open-now" class="badge"></span></p>
    <form id="call">
    <label for="phone">Your number, with country code</label>
    <input id="phone" name="phone" type="tel" autocomplete="off" required
    value="+14155550100" pattern="\+[1-9][0-9]{5,14}" aria-describedby="phone-help">
    <small id="phone-help">Use E.164, such as +14155550100. No phone rings. Callgate allows six callbacks to one number
    in a day.</small>
    <label for="own">The account's number</label>
    <input id="own" name="own" type="tel" autocomplete="off" value="+18005550199"
    pattern="\+[1-9][0-9]{5,14}" aria-describedby="own-help">
    <small id="own-help">If this field is empty, Callgate uses the configured number.</small>
    <label for="issue">What is it about?</label>
    <input id="issue" name="issue" maxlength="200" value="My reservation">
    <p class="row"><button type="submit" class="primary">Call me</button>
    <button type="button" id="validate">Validate only</button>
    <button type="button" id="repeat" hidden>Repeat, same key</button>
    <span id="call-status" class="result" role="status"></span></p>
    </form>
    <pre id="call-answer" tabindex="0" role="group" aria-label="Response body" hidden></pre>
    <p id="call-record" class="mono" hidden></p>
    <h3>The same from a terminal</h3>
    <div class="copy"><pre id="curl-call" tabindex="0"></pre>
    <button type="button" class="small" data-copy="curl-call" aria-label="Copy the callback command">Copy</button></div>
    </section>
    </div>

    <div class="stack">
    <section class="card" aria-labelledby="fault-title">
    <h2 id="fault-title">Make Talkdesk misbehave</h2>
    <p>The next request to Talkdesk meets the fault. While Callgate holds a token, it requests no other. Forget the
    cached token first.</p>
    <h3 id="token-faults-title">Next token request</h3>
    <div id="token-faults" class="row" role="group" aria-labelledby="token-faults-title"></div>
    <h3 id="callback-faults-title">Next callback</h3>
    <div id="callback-faults" class="row" role="group" aria-labelledby="callback-faults-title"></div>
    <h3>Start again</h3>
    <p class="row"><button type="button" id="forget-token" class="small">Forget the cached token</button>
    <button type="button" id="clear-faults" class="small">Forget all faults</button>
    <span id="fault-status" class="result" role="status"></span></p>
    <ul id="waiting" class="log mono" aria-label="Faults that wait for a request"></ul>
    </section>

    <section class="card" aria-labelledby="seen-title">
    <h2 id="seen-title">What Talkdesk saw</h2>
    <h3 id="rings-title">Phones that rang</h3>
    <ul id="rings" class="log" aria-labelledby="rings-title"></ul>
    <h3 id="exchanges-title">Token requests</h3>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="exchanges-title">
    <table><thead><tr><th scope="col">Time</th><th scope="col">Status</th><th scope="col">Outcome</th>
    <th scope="col">Scope</th><th scope="col">Token id (jti)</th></tr></thead><tbody id="exchanges"></tbody></table>
    </div>
    <h3 id="callbacks-title">Callbacks</h3>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="callbacks-title">
    <table><thead><tr><th scope="col">Time</th><th scope="col">Status</th><th scope="col">Outcome</th>
    <th scope="col">Contact</th><th scope="col">About</th></tr></thead><tbody id="callbacks"></tbody></table>
    </div>
    </section>

    <section class="card" aria-labelledby="enrol-title">
    <h2 id="enrol-title">Enrol a phone</h2>
    <p>An app sends <code>POST /fetch-code</code> once. After an operator's approval the phone has a secret of its own, so
    the app holds no shared password.</p>
    <ol id="enrol-steps" class="steps"><li aria-current="step">The phone asks</li><li>An operator approves</li>
    <li>The phone has its secret</li></ol>
    <form id="enrol">
    <label for="app-name">App name</label>
    <input id="app-name" maxlength="64" required value="Demo phone" aria-describedby="app-name-help">
    <small id="app-name-help">The operator sees this name. Anyone can write it.</small>
    <p class="row"><button type="submit" class="primary">Enrol this phone</button>
    <span id="enrol-status" class="result" role="status"></span></p>
    </form>
    <div id="approval" hidden>
    <p>The customer tells an operator this code: <strong id="user-code" class="mono"></strong></p>
    <p class="row"><button type="button" id="approve">Approve as operator</button>
    <span id="approve-status" class="result" role="status"></span></p>
    </div>
    <div id="installed" hidden>
    <h3>On the phone</h3>
    <dl id="phone-facts"></dl>
    <p class="countdown"><strong id="code"></strong> <span id="code-left" class="soft"></span></p>
    <p class="row"><button type="button" id="fetch-code">Fetch a code</button>
    <button type="button" id="phone-token">Fetch a token as this phone</button>
    <button type="button" id="revoke">Revoke this phone</button>
    <span id="phone-status" class="result" role="status"></span></p>
    <h3>At the agent's desk</h3>
    <p>The customer reads the code out. A verifier sends it to <code>POST /codes/verify</code>, where each code is valid
    once.</p>
    <p class="row"><button type="button" id="verify">Verify the code</button>
    <span id="verify-status" class="result" role="status"></span></p>
    </div>
    </section>
    </div>
    </main>
    </body>
    </html>

    """#
}
