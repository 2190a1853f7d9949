"use strict";
const $ = (id) => document.getElementById(id);

function say(id, text, good) {
  const element = $(id);
  if (element.textContent !== text) element.textContent = text;
  element.classList.toggle("good", good === true);
  element.classList.toggle("bad", good === false);
}

function showAnswer(id, text) {
  try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* It is no JSON, so it stays as it is. */ }
  $(id).textContent = text;
  $(id).hidden = text === "";
}

function problem(status, text) {
  try {
    const { code, detail, rule, type } = JSON.parse(text);
    // Talkdesk's errors have no type.
    if (status === 404 && !type) return "404: Callgate is not on this port. Start callgate serve --sandbox.";
    return `${status} ${code ?? ""}${rule ? ` by the rule ${rule}` : ""}${detail ? ": " + detail : ""}`;
  } catch { return String(status); }
}

// Offers the operator's page, and opens it with the admin token that the sandbox made.
async function offerOperatorsPage() {
  const { admin_token: token } = await json("/_sandbox/operator");
  if (!token) return;
  $("operator").addEventListener("click", () => sessionStorage.setItem("callgate.admin-token", token));
  $("operator").hidden = false;
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

// Sends JSON, or nothing, and reads the response as text.
async function ask(method, path, body, fields = {}, credentials = "same-origin") {
  const headers = body ? { "Content-Type": "application/json", ...fields } : fields;
  const answer = await fetch(path, {
    method, headers, body: body && JSON.stringify(body), cache: "no-store", credentials,
  });
  const text = await answer.text();
  return { ok: answer.ok, status: answer.status, text, wait: Number(answer.headers.get("Retry-After") ?? 5) };
}

async function json(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error(path);
  return answer.json();
}

function facts(id, values) {
  $(id).replaceChildren(...Object.entries(values).flatMap(([name, value]) => {
    const term = document.createElement("dt");
    term.textContent = name;
    const data = document.createElement("dd");
    data.textContent = value;
    return [term, data];
  }));
}

function smallButton(text, action) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small";
  button.textContent = text;
  button.addEventListener("click", action);
  return button;
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const clock = (time) => new Date(time).toLocaleTimeString();
const quoted = (text) => "'" + text.replace(/'/g, "'\\''") + "'";

// How far Callgate's clock is ahead of this machine's, in seconds.
let ahead = 0;
const gatewayTime = () => Date.now() + ahead * 1000;

// Shows whether the rules allow callbacks now. `callgate sandbox` alone has no rules, and no API reference.
async function showOpen() {
  const answer = await fetch("/availability", { cache: "no-store" });
  $("docs").hidden = !answer.ok;
  if (!answer.ok) return say("open-now", "");
  const { open, next_change: next } = await answer.json();
  const until = next ? ` until ${new Date(next).toLocaleString()}` : "";
  say("open-now", (open ? "Open" : "Closed") + until, open);
}

async function refresh() {
  try {
    const [exchanges, callbacks, waiting, time, sent, opened] = await Promise.all(
      ["exchanges", "callbacks", "faults", "clock", "notices", "tickets"].map((name) => json("/_sandbox/" + name)));
    showSeen(exchanges, callbacks);
    showNotices(sent.notices);
    showQuestion(sent.notices);
    showTickets(opened.tickets);
    showWaiting(waiting.faults);
    ahead = time.gateway_offset_seconds ?? time.offset_seconds;
    showClock();
    await showOpen();
  } catch { /* The server stopped. The next refresh tries again. */ }
}

function showCommands() {
  const send = `curl -sS ${location.origin}/calls/callback -H 'Content-Type: application/json' -d `;
  $("curl-access").textContent = `curl -sS ${location.origin}/access`;
  $("curl-call").textContent = send + quoted(JSON.stringify(callBody()));
  $("curl-later").textContent = send + quoted(JSON.stringify(laterBody(nextHour())));
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
