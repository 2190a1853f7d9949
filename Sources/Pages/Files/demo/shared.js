"use strict";
const $ = (id) => document.getElementById(id);

// Shows a result. Its time tells a result from an equal one before it.
function say(id, text, good) {
  const element = $(id);
  if (element.dataset.text !== text || good !== undefined) {
    element.textContent = text;
    if (good !== undefined) element.append(make("small", " " + clock(Date.now()), "soft"));
  }
  element.dataset.text = text;
  element.classList.toggle("good", good === true);
  element.classList.toggle("bad", good === false);
}

// Changes a text only where it differs, so that a screen reader does not repeat it.
function put(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}

function make(tag, text, name) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (name) element.className = name;
  return element;
}

// A stranger's text beside other words: its marks of direction end with it.
const stranger = (text) => make("bdi", text);

// The lines of a list, or one that says that there are none. Lines stay while their data stays, so that buttons keep the focus.
function lines(id, data, render) {
  const key = JSON.stringify(data);
  if ($(id).dataset.shown === key) return;
  $(id).dataset.shown = key;
  $(id).replaceChildren(...(data.length > 0 ? data.map((entry) => line(...render(entry))) : [make("li", "none yet", "empty")]));
}

function line(...parts) {
  const item = make("li");
  item.append(...parts.filter((part) => part !== undefined && part !== null).flatMap((part) => [part, " "]));
  return item;
}

function timeOf(time) {
  const element = make("time", clock(time));
  element.dateTime = time;
  return element;
}

function showAnswer(id, text) {
  try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* It is no JSON, so it stays as it is. */ }
  $(id).textContent = text;
  $(id).hidden = text === "";
}

// An error in one line: of wrong values the server's hint to each, else its detail.
function problem(status, text) {
  try {
    const { code, detail, rule, type, fields, id } = JSON.parse(text);
    // Talkdesk's errors have no type.
    if (status === 404 && !type) return "404: Callgate is not on this port. Start callgate serve --sandbox.";
    const hints = (fields ?? []).map((field) => `${field.name}: ${field.description}`).join(" ");
    const words = hints || detail;
    return `${status} ${code ?? ""}${rule ? ` by the rule ${rule}` : ""}${words ? ": " + words : ""}${id ? ` (id ${id})` : ""}`;
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
  return {
    ok: answer.ok, status: answer.status, text, location: answer.headers.get("Location"),
    challenge: answer.headers.get("WWW-Authenticate") ?? "", nonce: answer.headers.get("DPoP-Nonce"),
    wait: Number(answer.headers.get("Retry-After") ?? 5),
  };
}

async function json(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error(path);
  return answer.json();
}

function facts(id, values) {
  $(id).replaceChildren(...Object.entries(values).flatMap(([name, value]) => {
    const data = make("dd");
    data.append(stranger(value));
    return [make("dt", name), data];
  }));
}

function smallButton(text, action) {
  const button = make("button", text, "small");
  button.type = "button";
  button.addEventListener("click", action);
  return button;
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// One form for a time of today, and one for a day and a time.
const clock = (time) => new Date(time).toLocaleTimeString([], { timeStyle: "medium" });
const moment = (time) => new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
const quoted = (text) => "'" + text.replace(/'/g, "'\\''") + "'";

// How far Callgate's clock is ahead of this machine's, in seconds.
let ahead = 0;
const gatewayTime = () => Date.now() + ahead * 1000;

// Shows whether the rules allow callbacks now. `callgate sandbox` alone has no rules, and no API reference.
async function showOpen() {
  const answer = await fetch("/availability", { cache: "no-store" });
  $("docs").hidden = !answer.ok;
  if (!answer.ok) return put("open-now", "");
  const { open, next_change: next } = await answer.json();
  put("open-now", (open ? "Open" : "Closed") + (next ? ` until ${moment(next)}` : ""));
  $("open-now").className = "badge " + (open ? "good" : "bad");
}

async function refresh() {
  try {
    const [exchanges, callbacks, unmet, time, sent, opened] = await Promise.all(
      ["exchanges", "callbacks", "faults", "clock", "notices", "tickets"].map((name) => json("/_sandbox/" + name)));
    heard();
    ahead = time.gateway_offset_seconds ?? time.offset_seconds;
    showSeen(exchanges, callbacks);
    showNotices(sent.notices);
    showQuestion(sent.notices);
    showTickets(opened.tickets);
    showWaiting(unmet.faults);
    showClock();
    await showPauses();
    await showOpen();
  } catch {
    missed();
  }
}

function showCommands() {
  const send = `curl -sS ${location.origin}/calls/callback -H 'Content-Type: application/json' -d `;
  $("curl-access").textContent = `curl -sS ${location.origin}/access`;
  $("curl-call").textContent = send + quoted(JSON.stringify(callBody()));
  $("curl-later").textContent = send + quoted(JSON.stringify(laterBody(chosen ?? nextHour())));
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
