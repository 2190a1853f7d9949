// The JavaScript of the demo page.

extension DemoClient {
  /// The page's script. It writes text nodes only, so no fetched text can become markup.
  static let script = #"""
    "use strict";
    const $ = (id) => document.getElementById(id);
    let claims = null;

    function say(id, text, good) {
      const element = $(id);
      if (element.textContent !== text) element.textContent = text;
      element.classList.toggle("good", good === true);
      element.classList.toggle("bad", good === false);
    }

    function pretty(text) {
      try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
    }

    function problem(status, text) {
      try {
        const { code, detail, rule } = JSON.parse(text);
        if (status === 404 && code === "not_found") return "404: Callgate is not on this port. Start callgate serve --sandbox.";
        return `${status} ${code ?? ""}${rule ? ` by the rule ${rule}` : ""}${detail ? ": " + detail : ""}`;
      } catch { return String(status); }
    }

    // Runs a request, shows its result beside the button, and updates the journal.
    async function attempt(id, work) {
      say(id, "sending…");
      try {
        const [words, good] = await work();
        say(id, words, good);
      } catch {
        say(id, "no response", false);
      }
      await refresh();
    }

    function decode(token) {
      const part = token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
      const bytes = Uint8Array.from(atob(part), (c) => c.charCodeAt(0));
      return JSON.parse(new TextDecoder().decode(bytes));
    }

    const meanings = {
      iss: "issuer", aud: "audience", exp: "expires", nbf: "not before", iat: "issued", jti: "token id",
      cid: "client", gty: "grant", scp: "scopes",
    };

    function showToken(token) {
      $("raw").textContent = token;
      $("token").hidden = false;
      const list = $("claims");
      list.replaceChildren();
      try { claims = decode(token); } catch { claims = null; }
      for (const [name, value] of Object.entries(claims ?? {})) {
        const term = document.createElement("dt");
        term.textContent = meanings[name] ? `${name} · ${meanings[name]}` : name;
        const data = document.createElement("dd");
        data.textContent = ["exp", "nbf", "iat"].includes(name)
          ? `${value} (${new Date(value * 1000).toLocaleTimeString()})`
          : Array.isArray(value) ? value.join(" ") : String(value);
        list.append(term, data);
      }
      $("life").max = claims ? Math.max(1, claims.exp - claims.iat) : 1;
      tick();
    }

    function tick() {
      if (!claims) {
        $("left").textContent = $("left-words").textContent = "";
        $("life").value = 0;
        return;
      }
      const left = Math.max(0, Math.round(claims.exp - Date.now() / 1000));
      $("left").textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
      $("left-words").textContent = left > 0 ? "until this token expires" : "expired: fetch another";
      $("life").value = left;
    }

    const fetchToken = () => attempt("token-status", async () => {
      const answer = await fetch("/access", { cache: "no-store" });
      const text = await answer.text();
      if (answer.status !== 200) return [problem(answer.status, text), false];
      showToken(text);
      return ["200: authorized", true];
    });

    const probe = () => attempt("token-status", async () => {
      const answer = await fetch("/access?probe", { cache: "no-store" });
      const text = await answer.text();
      return answer.status === 204 ? ["204: would be authorized", true] : [problem(answer.status, text), false];
    });

    function callBody() {
      const body = { contact_phone_number: $("phone").value.trim() };
      if ($("own").value.trim()) body.talkdesk_phone_number = $("own").value.trim();
      if ($("issue").value.trim()) body.context = { issue: $("issue").value.trim() };
      return JSON.stringify(body);
    }

    // The last request. A phone repeats it with the same key after a lost response.
    let last = null;

    function newKey() {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    }

    function call(validateOnly) {
      if (!$("call").reportValidity()) return;
      if (validateOnly) return send({ body: callBody() }, "?validate");
      last = { body: callBody(), key: newKey() };
      send(last, "");
    }

    const send = (request, query) => attempt("call-status", async () => {
      const headers = { "Content-Type": "application/json" };
      if (request.key) headers["Idempotency-Key"] = request.key;
      const answer = await fetch("/calls/callback" + query, {
        method: "POST", headers, body: request.body, cache: "no-store",
      });
      const text = await answer.text();
      $("call-answer").textContent = pretty(text);
      $("call-answer").hidden = text === "";
      $("repeat").hidden = last === null;
      await showRecord(answer.headers.get("Location"));
      if (!answer.ok) return [problem(answer.status, text), false];
      return [`${answer.status}: ${query ? "valid" : "accepted"}`, true];
    });

    async function showRecord(path) {
      $("call-record").hidden = !path;
      if (!path) return;
      const record = await json(path);
      const reason = record.reason ? ` (${record.reason})` : "";
      $("call-record").textContent = `GET ${path}: ${record.status}${reason}`;
    }

    // Shows whether the rules allow callbacks now. `callgate sandbox` alone has no rules, and no API reference.
    async function showOpen() {
      const answer = await fetch("/availability", { cache: "no-store" });
      $("docs").hidden = !answer.ok;
      if (!answer.ok) return say("open-now", "");
      const { open, next_change: next } = await answer.json();
      const until = next ? ` until ${new Date(next).toLocaleString()}` : "";
      say("open-now", (open ? "Open" : "Closed") + until, open);
    }

    const faults = [
      ["Refused", { endpoint: "token", status: 401 }],
      ["503", { endpoint: "token", status: 503, retry_after: 3 }],
      ["3 s late", { endpoint: "token", delay_ms: 3000 }],
      ["No response", { endpoint: "token", drop: "before" }],
      ["Not JSON", { endpoint: "token", body: "<html>gateway</html>" }],
      ["Lives 20 s", { endpoint: "token", expires_in: 20 }],
      ["429", { endpoint: "callback", status: 429, retry_after: 5 }],
      ["500", { endpoint: "callback", status: 500 }],
      ["401 once", { endpoint: "callback", status: 401 }],
      ["Rings, no response", { endpoint: "callback", drop: "after" }],
      ["Empty 202", { endpoint: "callback", status: 202, body: "" }],
    ];

    const post = (fault) => attempt("fault-status", async () => {
      const answer = await fetch("/_sandbox/faults", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(fault),
      });
      return answer.ok
        ? ["waiting for the next request", true] : [problem(answer.status, await answer.text()), false];
    });

    const forgetToken = () => attempt("fault-status", async () => {
      const answer = await fetch("/_sandbox/token", { method: "DELETE" });
      return answer.ok ? ["token forgotten", true] : [problem(answer.status, await answer.text()), false];
    });

    const clearFaults = () => attempt("fault-status", async () => {
      const answer = await fetch("/_sandbox/faults", { method: "DELETE" });
      return answer.ok ? ["forgotten", true] : [problem(answer.status, await answer.text()), false];
    });

    function rows(id, entries, cells) {
      if (entries.length === 0) return $(id).replaceChildren(nothing(id));
      $(id).replaceChildren(...entries.slice(-8).reverse().map((entry) => {
        const row = document.createElement("tr");
        for (const text of cells(entry)) {
          const cell = document.createElement("td");
          cell.append(text ?? "");
          row.append(cell);
        }
        return row;
      }));
    }

    // The status of a response. It is missing where Talkdesk dropped the connection.
    function badge(status) {
      const element = document.createElement("span");
      element.textContent = status ?? "none";
      element.className = "badge " + (status >= 200 && status < 300 ? "good" : "bad");
      return element;
    }

    // The row of an empty table.
    function nothing(id) {
      const row = document.createElement("tr");
      const cell = document.createElement("td");
      cell.colSpan = $(id).parentElement.tHead.rows[0].cells.length;
      cell.textContent = "none yet";
      cell.className = "empty";
      row.append(cell);
      return row;
    }

    function showRings(rings) {
      const entries = Object.entries(rings);
      $("rings").replaceChildren(...(entries.length ? entries : [["none yet", 0]]).map(([number, count]) => {
        const item = document.createElement("li");
        item.textContent = count === 0 ? number : `${number} rang ${count === 1 ? "once" : count + " times"}`;
        if (count === 0) item.className = "empty";
        return item;
      }));
    }

    const clock = (time) => new Date(time).toLocaleTimeString();
    const about = (context) => (context?.fields ?? []).map((field) => `${field.name}: ${field.value}`).join(", ");

    async function json(path) {
      const answer = await fetch(path, { cache: "no-store" });
      if (!answer.ok) throw new Error(path);
      return answer.json();
    }

    async function refresh() {
      try {
        const [exchanges, callbacks, waiting] = await Promise.all(
          ["exchanges", "callbacks", "faults"].map((name) => json("/_sandbox/" + name)));
        rows("exchanges", exchanges.exchanges, (e) => [
          clock(e.time), badge(e.status), e.error ? `${e.outcome} (${e.error})` : e.outcome,
          e.granted_scope ?? e.scope, e.token_jti?.slice(0, 8),
        ]);
        showRings(callbacks.rings);
        const calls = [...callbacks.callbacks, ...callbacks.refused].sort((a, b) => (a.time < b.time ? -1 : 1));
        rows("callbacks", calls, (c) => [
          clock(c.time), badge(c.status), c.outcome, c.contact_phone_number, about(c.context),
        ]);
        $("waiting").replaceChildren(...waiting.faults.slice(0, 20).map((fault) => {
          const item = document.createElement("li");
          item.textContent = JSON.stringify(fault);
          return item;
        }));
        await showOpen();
      } catch { /* The server stopped. The next refresh tries again. */ }
    }

    const quoted = (text) => "'" + text.replace(/'/g, "'\\''") + "'";

    function showCommands() {
      $("curl-access").textContent = `curl -sS ${location.origin}/access`;
      $("curl-call").textContent = `curl -sS ${location.origin}/calls/callback `
        + `-H 'Content-Type: application/json' -d ${quoted(callBody())}`;
    }

    async function copy(button) {
      const source = $(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(source);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    }

    for (const [label, fault] of faults) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "small";
      button.textContent = label;
      button.addEventListener("click", () => post(fault));
      (fault.endpoint === "token" ? $("token-faults") : $("callback-faults")).append(button);
    }
    for (const button of document.querySelectorAll("[data-copy]")) {
      button.addEventListener("click", () => copy(button));
    }
    $("fetch-token").addEventListener("click", fetchToken);
    $("probe").addEventListener("click", probe);
    $("validate").addEventListener("click", () => call(true));
    $("repeat").addEventListener("click", () => send(last, ""));
    $("forget-token").addEventListener("click", forgetToken);
    $("clear-faults").addEventListener("click", clearFaults);
    $("call").addEventListener("submit", (event) => { event.preventDefault(); call(false); });
    $("call").addEventListener("input", showCommands);
    setInterval(tick, 1000);
    setInterval(() => { if (!document.hidden) refresh(); }, 5000);
    showCommands();
    refresh();

    """#
}
