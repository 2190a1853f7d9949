// The JavaScript of the operator's page: what its cards share, and how it asks the server.

extension OperatorPage {
  /// The page's script. It writes text nodes only, so no fetched text can become markup.
  public static let script = ([shared, access] + cards.map(\.script) + [polling]).joined(separator: "\n\n")

  /// What all cards use.
  private static let shared = #"""
    "use strict";
    const $ = (id) => document.getElementById(id);

    // Changes a text only where it differs, so that a screen reader does not repeat it.
    function put(element, text) {
      if (element.textContent !== text) element.textContent = text;
    }

    function say(id, text, good) {
      const element = $(id);
      put(element, text);
      element.classList.toggle("good", good === true);
      element.classList.toggle("bad", good === false);
    }

    function make(tag, text, name) {
      const element = document.createElement(tag);
      if (text !== undefined && text !== null) element.textContent = text;
      if (name) element.className = name;
      return element;
    }

    // A stranger's text beside other words: its marks of direction end with it.
    function stranger(text) {
      return make("bdi", text);
    }

    function button(text, name, action) {
      const element = make("button", text, name);
      element.type = "button";
      element.addEventListener("click", action);
      return element;
    }

    function facts(id, pairs) {
      const list = pairs.filter(([, value]) => value !== undefined && value !== "");
      update(id, list, () => list.flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
    }

    // Renders a list again only where its data has changed: focus and selection stay.
    const shown = new Map();
    function update(id, data, render) {
      const key = JSON.stringify(data);
      if (shown.get(id) === key) return;
      shown.set(id, key);
      $(id).replaceChildren(...render());
    }

    function table(id, rows, width, none) {
      update(id, rows, () => {
        if (rows.length > 0) return rows.map((row) => tableRow(row));
        const line = make("tr");
        const cell = make("td", none, "empty");
        cell.colSpan = width;
        line.append(cell);
        return [line];
      });
    }

    // A cell is a text, or a number as { number }, or a badge as { badge, tone }.
    function tableRow(cells) {
      const line = make("tr");
      for (const cell of cells) {
        if (cell && typeof cell === "object") {
          const data = make("td", cell.number, "number" in cell ? "number" : "");
          if (cell.badge) data.append(make("span", cell.badge, "badge " + cell.tone));
          line.append(data);
        } else {
          line.append(make("td", cell ?? ""));
        }
      }
      return line;
    }

    const clock = (time) => new Date(time).toLocaleTimeString();
    const minuteOf = (time) => new Date(time).toLocaleTimeString([], { timeStyle: "short" });
    const tones = { allow: "good", deny: "warn", error: "bad", pass: "good", warn: "warn", fail: "bad", ok: "good", failed: "bad" };

    function moment(time) {
      const date = new Date(time);
      return date.toDateString() === new Date().toDateString() ? clock(time) : date.toLocaleString();
    }

    function span(seconds) {
      if (seconds === undefined || seconds === null) return "";
      if (seconds < 120) return `${Math.round(seconds)} s`;
      if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
      return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
    }

    function milliseconds(seconds) {
      if (seconds === null) return "> 30 s";
      return seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : `${Number(seconds.toPrecision(3))} s`;
    }

    const ago = (seconds) => (seconds === undefined ? "" : span(seconds) + " ago");
    """#

  /// Asking the server, with the token where one is needed.
  private static let access = #"""
    const needsToken = document.body.dataset.access === "token";
    const tokenKey = "callgate.admin-token";
    let token = needsToken ? sessionStorage.getItem(tokenKey) ?? "" : "";

    // Sends a request and reads the JSON of its response. Throws where the server does not respond.
    async function ask(method, path, body, candidate) {
      const used = candidate ?? token;
      const headers = {};
      if (used) headers.Authorization = "Bearer " + used;
      if (body) headers["Content-Type"] = "application/json";
      const answer = await fetch(path, {
        method, headers, body: body && JSON.stringify(body), cache: "no-store", redirect: "error",
        signal: AbortSignal.timeout(15000),
      });
      let content = null;
      try { content = JSON.parse(await answer.text()); } catch { /* No body, or a proxy's page. */ }
      // The operator forgot or changed the token meanwhile, so the page does not show this response.
      if (candidate === undefined && used !== token) throw new Error("another token");
      if (answer.status === 401 && needsToken) forget("This is not the admin token.");
      return { ok: answer.ok, status: answer.status, content, wait: answer.headers.get("Retry-After") };
    }

    function problem({ status, content, wait }) {
      if (!content || !content.code) return `${status}: not a response of Callgate`;
      const fields = (content.fields ?? []).map((field) => `${field.name}: ${field.description}`).join(" ");
      return `${status} ${content.code}: ${fields || content.detail || content.title}${wait && content.code !== "rate_limited" ? ` (${wait} s)` : ""}`;
    }

    // Runs an act, and shows its result beside its button.
    async function attempt(id, work) {
      say(id, "sending…");
      try {
        const [words, good] = await work();
        say(id, words, good);
      } catch {
        say(id, "No response. The server may have done it.", false);
      }
      await poll();
    }

    // Asks before an act. The dialog has the focus, and Escape is Cancel.
    function confirmed(title, text, act) {
      const dialog = $("confirm");
      put($("confirm-title"), title);
      $("confirm-text").replaceChildren(...[text].flat());
      put($("confirm-act"), act);
      dialog.returnValue = "cancel";
      dialog.showModal();
      return new Promise((resolve) => {
        dialog.addEventListener("close", () => resolve(dialog.returnValue === "act"), { once: true });
      });
    }

    function forget(words) {
      token = "";
      sessionStorage.removeItem(tokenKey);
      reset();
      showLogin(words);
    }

    function showLogin(words) {
      $("board").hidden = true;
      $("tools").hidden = true;
      $("login").hidden = false;
      say("login-status", words ?? "", words ? false : undefined);
    }

    async function enter(event) {
      event.preventDefault();
      const candidate = $("token").value.trim();
      say("login-status", "sending…");
      // A header takes no other characters.
      if (!/^[!-~]+$/.test(candidate)) return forget("This is not the admin token.");
      try {
        const answer = await ask("GET", "/admin/status", undefined, candidate);
        if (answer.status === 401) return;
        if (!answer.ok) return say("login-status", problem(answer), false);
        token = candidate;
        sessionStorage.setItem(tokenKey, token);
        $("token").value = "";
        $("login").hidden = true;
        say("login-status", "");
        show(answer.content, 0);
      } catch {
        say("login-status", "The server does not respond.", false);
      }
    }

    $("login-form").addEventListener("submit", enter);
    $("lock").addEventListener("click", () => forget(""));
    """#

  /// The loop that keeps the page current.
  private static let polling = #"""
    let asking = false;
    let paused = false;
    let heardAt = null;
    // Several processes may answer at this address, and each counts its own decisions. Of each, by the time of its start: how far
    // the page has read, and when the process last answered.
    const processes = new Map();
    const mostProcesses = 20;
    const processLife = 60000;

    // Forgets everything that was shown, when the token goes.
    function reset() {
      processes.clear();
      forgetDecisions();
      forgetInstallations();
    }

    // The number to ask after, so that no process leaves out a decision which the page lacks.
    function lastRead() {
      const current = [...processes.values()].filter((process) => heardAt - process.heardAt < processLife);
      return current.length > 0 ? Math.min(...current.map((process) => process.sequence)) : 0;
    }

    function unreadDecisions(state, after) {
      const read = processes.get(state.started)?.sequence ?? 0;
      // A response about later decisions only is not read: the next request asks for all that this process has.
      const isWhole = after <= read;
      processes.delete(state.started);
      processes.set(state.started, { sequence: isWhole ? state.sequence : read, heardAt });
      if (processes.size > mostProcesses) processes.delete(processes.keys().next().value);
      return isWhole ? state.decisions.filter((decision) => decision.sequence > read) : [];
    }

    // Shows the state that came for a request after a number.
    function show(state, after) {
      heardAt = Date.now();
      $("connection").hidden = true;
      $("board").hidden = false;
      $("tools").hidden = false;
      $("lock").hidden = !needsToken;
      showNow(state);
      showHour(state);
      showSwitch(state);
      showInstallations(state);
      showConfiguration(state);
      showServices(state);
      showDesks(state);
      showCallbacks(state);
      showDecisions(unreadDecisions(state, after));
      showHeard();
    }

    async function poll() {
      if (asking || document.hidden || paused || (needsToken && !token)) return;
      asking = true;
      try {
        const after = lastRead();
        const answer = await ask("GET", `/admin/status?after=${after}`);
        if (answer.ok) show(answer.content, after);
        else if (answer.status !== 401) trouble(problem(answer));
      } catch {
        if (!needsToken || token) trouble("The server does not respond.");
      } finally {
        asking = false;
      }
    }

    function trouble(words) {
      const last = heardAt === null ? "" : ` This page shows the state of ${clock(heardAt)}.`;
      put($("connection"), `${words}${last} The page asks again every 2 seconds.`);
      $("connection").hidden = false;
    }

    function showHeard() {
      put($("heard"), paused ? `paused at ${clock(heardAt)}` : `live, ${clock(heardAt)}`);
    }

    $("pause").addEventListener("click", () => {
      paused = !paused;
      $("pause").setAttribute("aria-pressed", String(paused));
      put($("pause"), paused ? "Resume updates" : "Pause");
      if (heardAt !== null) showHeard();
      poll();
    });
    document.addEventListener("visibilitychange", poll);
    setInterval(poll, 2000);
    if (needsToken && !token) showLogin(); else poll();

    """#
}
