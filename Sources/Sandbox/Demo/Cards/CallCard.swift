// The demo page's card that requests a callback now.

extension DemoCard {
  /// Requests a callback, repeats it with the same key, and shows its record.
  static let call = DemoCard(
    html: #"""
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
      """#,
    script: #"""
      function callBody() {
        const body = { contact_phone_number: $("phone").value.trim() };
        if ($("own").value.trim()) body.talkdesk_phone_number = $("own").value.trim();
        if ($("issue").value.trim()) body.context = { issue: $("issue").value.trim() };
        return body;
      }

      // The last request. A phone repeats it with the same key after a lost response.
      let last = null;

      function call(validateOnly) {
        if (!$("call").reportValidity()) return;
        if (validateOnly) return send({ body: JSON.stringify(callBody()) }, "?validate");
        last = { body: JSON.stringify(callBody()), key: newKey() };
        send(last, "");
      }

      const send = (request, query) => attempt("call-status", async () => {
        const headers = { "Content-Type": "application/json" };
        if (request.key) headers["Idempotency-Key"] = request.key;
        const answer = await fetch("/calls/callback" + query, {
          method: "POST", headers, body: request.body, cache: "no-store",
        });
        const text = await answer.text();
        showAnswer("call-answer", text);
        $("repeat").hidden = last === null;
        await showRecord(answer.headers.get("Location") ?? namedRecord(answer, text));
        if (!answer.ok) return [problem(answer.status, text), false];
        return [`${answer.status}: ${query ? "valid" : "accepted"}`, true];
      });

      // An error names its record, and "duplicate" that of the first call.
      function namedRecord(answer, text) {
        if (answer.ok) return null;
        try {
          const { id } = JSON.parse(text);
          return id ? `/callbacks/${id}` : null;
        } catch { return null; }
      }

      async function showRecord(path) {
        const answer = path ? await ask("GET", path) : null;
        $("call-record").hidden = !answer?.ok;
        if (!answer?.ok) return;
        const record = JSON.parse(answer.text);
        const reason = record.reason ? ` (${record.reason})` : "";
        $("call-record").textContent = `GET ${path}: ${record.status}${reason}`;
      }

      $("validate").addEventListener("click", () => call(true));
      $("repeat").addEventListener("click", () => send(last, ""));
      $("call").addEventListener("submit", (event) => { event.preventDefault(); call(false); });
      $("call").addEventListener("input", showCommands);
      """#)
}
