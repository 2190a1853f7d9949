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

    function facts(id, values) {
      $(id).replaceChildren(...Object.entries(values).flatMap(([name, value]) => {
        const term = document.createElement("dt");
        term.textContent = name;
        const data = document.createElement("dd");
        data.textContent = value;
        return [term, data];
      }));
    }

    function showToken(token) {
      $("raw").textContent = token;
      $("token").hidden = false;
      try { claims = decode(token); } catch { claims = null; }
      facts("claims", Object.fromEntries(Object.entries(claims ?? {}).map(([name, value]) => [
        meanings[name] ? `${name} · ${meanings[name]}` : name,
        ["exp", "nbf", "iat"].includes(name)
          ? `${value} (${new Date(value * 1000).toLocaleTimeString()})`
          : Array.isArray(value) ? value.join(" ") : String(value),
      ])));
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

    // What the app keeps on its phone. The page keeps it in memory only.
    let phone = null;

    function newUUID() {
      const hex = newKey();
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
    }

    // Omits the browser's credentials, so that the browser asks for no password after a 401.
    async function ask(method, path, body, credential) {
      const headers = {};
      if (body) headers["Content-Type"] = "application/json";
      if (credential) headers["Authorization"] = "Basic " + btoa(credential);
      const answer = await fetch(path, {
        method, headers, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit",
      });
      const text = await answer.text();
      return { status: answer.status, text, wait: Number(answer.headers.get("Retry-After") ?? 5) };
    }

    const fetchCode = (more) => ask("POST", "/fetch-code", { ...phone.values, ...more });
    const credential = () => `${phone.values.client_id}:${phone.secret}`;

    // Shows which step the phone has reached: 0 is asking, 1 is waiting, 2 is installed.
    function reach(step) {
      [...$("enrol-steps").children].forEach((item, index) => {
        if (index === step) item.setAttribute("aria-current", "step"); else item.removeAttribute("aria-current");
      });
      $("approval").hidden = step !== 1;
      $("installed").hidden = step !== 2;
    }

    const enrol = () => attempt("enrol-status", async () => {
      clearTimeout(phone?.timer);
      phone = { values: { client_id: newUUID(), client_app: $("app-name").value } };
      reach(0);
      const answer = await fetchCode();
      if (answer.status !== 202) return [problem(answer.status, answer.text), false];
      const { request_id, user_code, interval } = JSON.parse(answer.text);
      phone.request = { request_id };
      $("user-code").textContent = user_code;
      say("approve-status", "");
      reach(1);
      pollLater(interval);
      return [`202: pending; the phone polls every ${interval} s`, true];
    });

    function pollLater(seconds) {
      const mine = phone;
      mine.timer = setTimeout(async () => {
        try {
          const answer = await fetchCode(mine.request);
          if (phone === mine) delivered(answer);
        } catch {
          if (phone === mine) pollLater(seconds);
        }
      }, seconds * 1000);
    }

    function delivered(answer) {
      if (answer.status === 202 || answer.status === 429) return pollLater(answer.wait);
      if (answer.status !== 200) {
        reach(0);
        return say("enrol-status", problem(answer.status, answer.text), false);
      }
      const document = JSON.parse(answer.text);
      phone.secret = document.client_secret;
      facts("phone-facts", { ...phone.values, client_secret: phone.secret.slice(0, 4) + "…, stored on the phone" });
      showCode(document);
      say("phone-status", "");
      say("verify-status", "");
      say("enrol-status", "200: installed", true);
      reach(2);
    }

    const approve = () => attempt("approve-status", async () => {
      const answer = await ask("POST", "/_sandbox/installations/approve", { user_code: $("user-code").textContent });
      return answer.status === 204
        ? ["204: approved; wait for the next poll", true] : [problem(answer.status, answer.text), false];
    });

    function showCode({ code, expires_in }) {
      phone.code = code;
      phone.codeEnd = Date.now() + expires_in * 1000;
      $("code").textContent = code;
      tickCode();
    }

    function tickCode() {
      if (!phone?.code) return;
      const left = Math.max(0, Math.round((phone.codeEnd - Date.now()) / 1000));
      $("code-left").textContent = left > 0 ? `for ${left} s` : "expired: fetch another";
    }

    const renewCode = () => attempt("phone-status", async () => {
      const answer = await fetchCode({ client_secret: phone.secret });
      if (answer.status !== 200) return [problem(answer.status, answer.text), false];
      showCode(JSON.parse(answer.text));
      return ["200: a code", true];
    });

    const fetchPhoneToken = () => attempt("phone-status", async () => {
      const answer = await ask("GET", "/access", undefined, credential());
      return answer.status === 200 ? ["200: authorized", true] : [problem(answer.status, answer.text), false];
    });

    const revoke = () => attempt("phone-status", async () => {
      const answer = await ask("DELETE", "/installations/self", undefined, credential());
      return answer.status === 204 ? ["204: revoked", true] : [problem(answer.status, answer.text), false];
    });

    const verify = () => attempt("verify-status", async () => {
      const answer = await ask("POST", "/codes/verify", { client_id: phone.values.client_id, code: phone.code });
      if (answer.status !== 200) return [problem(answer.status, answer.text), false];
      const { valid } = JSON.parse(answer.text);
      return [valid ? "200: valid" : "200: not valid", valid];
    });

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
    $("enrol").addEventListener("submit", (event) => { event.preventDefault(); enrol(); });
    $("approve").addEventListener("click", approve);
    $("fetch-code").addEventListener("click", renewCode);
    $("phone-token").addEventListener("click", fetchPhoneToken);
    $("revoke").addEventListener("click", revoke);
    $("verify").addEventListener("click", verify);
    setInterval(() => { tick(); tickCode(); }, 1000);
    setInterval(() => { if (!document.hidden) refresh(); }, 5000);
    showCommands();
    refresh();

    """#
}
