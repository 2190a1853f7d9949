// What this page booked, by id. Only callers with a subject of their own may list theirs, so the page keeps the ids.
const booked = new Map();
// The appointment that gets the next chosen time, and the time that was chosen last.
let moving = null;
let chosen = null;

const instant = (date) => date.toISOString().replace(/\.[0-9]+/, "");
const hour = (time) => new Date(time).toLocaleTimeString([], { timeStyle: "short" });
const laterBody = (at) => ({ contact_phone_number: $("later-phone").value.trim(), at });
const isOpen = (record) => record.status === "scheduled" || record.status === "pending";

// The first full hour that is at least an hour away.
function nextHour() {
  const span = 3600 * 1000;
  return instant(new Date(Math.ceil(gatewayTime() / span + 1) * span));
}

// Today as the date field writes it, in this browser's time zone and by Callgate's clock.
function today() {
  const date = new Date(gatewayTime());
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}

async function showTimes() {
  if (!$("day").value) return ["Choose a day.", false];
  const [year, month, day] = $("day").value.split("-").map(Number);
  const [from, to] = [day, day + 1].map((day) => instant(new Date(year, month - 1, day)));
  const answer = await ask("GET", `/availability?from=${from}&to=${to}`);
  const slots = answer.ok ? JSON.parse(answer.text).slots : [];
  const focused = $("times").contains(document.activeElement) ? document.activeElement.dataset.start : null;
  const buttons = slots.map(timeButton);
  $("times").replaceChildren(...buttons);
  $("times").hidden = $("times-title").hidden = slots.length === 0;
  const current = buttons.find((button) => button.dataset.start === focused) ?? buttons[0];
  if (current) current.tabIndex = 0;
  if (current && focused) current.focus();
  if (!answer.ok) return [problem(answer.status, answer.text), false];
  return slots.length > 0 ? ["200: choose a time", true] : ["200: no free time on this day, choose another", undefined];
}

function hideTimes() {
  $("times").hidden = $("times-title").hidden = true;
}

function timeButton({ start, free }) {
  const button = smallButton(hour(start) + " ", () => choose(start));
  const places = document.createElement("small");
  places.textContent = free > 0 ? `${free} free` : "full";
  button.append(places);
  button.dataset.start = start;
  button.tabIndex = -1;
  return button;
}

// The tab key stops at one of the times. Arrow keys move between them.
function moveFocus(event) {
  const buttons = [...$("times").children];
  const from = buttons.indexOf(document.activeElement);
  const to = {
    ArrowRight: from + 1, ArrowDown: from + 1, ArrowLeft: from - 1, ArrowUp: from - 1,
    Home: 0, End: buttons.length - 1,
  }[event.key];
  if (from < 0 || !buttons[to]) return;
  event.preventDefault();
  buttons[from].tabIndex = -1;
  buttons[to].tabIndex = 0;
  buttons[to].focus();
}

function choose(at) {
  chosen = at;
  showCommands();
  const entry = moving;
  setMoving(null);
  if (entry) return change("PATCH", entry.record, `moved to ${hour(at)}`, { at });
  attempt("later-status", async () => {
    watchPhone($("later-phone").value.trim());
    const answer = await ask("POST", "/calls/callback", laterBody(at), { "Idempotency-Key": newKey() });
    return follow(answer, `booked for ${hour(at)}`);
  });
}

const change = (method, record, words, body) => attempt("later-status", async () =>
  follow(await ask(method, `/callbacks/${record.id}`, body), words));

// Shows the response to a booking or a change, keeps the record and waits for its end.
async function follow(answer, words) {
  showAnswer("later-answer", answer.text);
  if (answer.ok) keep(JSON.parse(answer.text));
  if (answer.status === 409) await keepFirst(JSON.parse(answer.text));
  watch();
  await showTimesAgain();
  return answer.ok ? [`${answer.status}: ${words}`, true] : [problem(answer.status, answer.text), false];
}

// The appointment that a refusal names, which an earlier page or a terminal booked.
async function keepFirst({ code, id }) {
  if (code !== "duplicate" || !id) return;
  const first = await ask("GET", `/callbacks/${id}`);
  if (first.ok) keep(JSON.parse(first.text));
}

async function showTimesAgain() {
  if (!$("times").hidden) await showTimes();
}

function keep(record) {
  if (booked.size === 0) $("booked").replaceChildren();
  const entry = booked.get(record.id) ?? newEntry(record.id);
  entry.record = record;
  entry.time.textContent = moment(record.at);
  entry.number.textContent = record.contact_phone_number + " ";
  // The response to a request says no more what became of it.
  if (!isOpen(record)) $("later-answer").hidden = true;
  const status = record.reason ? `${record.status} (${record.reason})` : record.status;
  if (entry.badge.textContent !== status) entry.badge.textContent = status;
  entry.badge.className = "badge " + ({
    scheduled: "info", pending: "warn", unknown: "warn", accepted: "good", failed: "bad", expired: "bad",
  }[record.status] ?? "");
  entry.actions.hidden = record.status !== "scheduled";
  nameActions(entry);
}

// Many rows have the same buttons, so each name ends with its row's time.
function nameActions(entry) {
  entry.actions.children[1].textContent = moving === entry ? "Keep the time" : "Move";
  for (const button of entry.actions.children) {
    button.setAttribute("aria-label", `${button.textContent}: ${moment(entry.record.at)}`);
  }
}

function newEntry(id) {
  const [item, time, number, badge, actions] =
    ["li", "time", "span", "span", "span"].map((name) => document.createElement(name));
  const entry = { time, number, badge, actions };
  actions.className = "row";
  actions.append(
    smallButton("Jump to its time", () => jump(entry.record)),
    smallButton("Move", () => setMoving(moving === entry ? null : entry)),
    smallButton("Cancel", () => change("DELETE", entry.record, "cancelled")));
  item.append(time, number, badge, actions);
  $("booked").prepend(item);
  booked.set(id, entry);
  return entry;
}

function setMoving(entry) {
  moving = entry;
  for (const one of booked.values()) nameActions(one);
  if (entry && $("times").hidden) attempt("later-status", showTimes);
  else say("later-status", entry ? "Choose a new time." : "");
}

// The request that waits for the soonest appointment. A browser opens only six connections to a server, so there is one.
let waiting = null;

async function watch() {
  waiting?.abort();
  const mine = waiting = new AbortController();
  while (mine === waiting) {
    const open = [...booked.values()].map((entry) => entry.record).filter(isOpen);
    const next = open.sort((a, b) => (a.at < b.at ? -1 : 1))[0];
    if (!next) return;
    try {
      const answer = await fetch(`/callbacks/${next.id}?wait=25`, { cache: "no-store", signal: mine.signal });
      // After a restart the sandbox has forgotten it.
      const record = answer.status === 404 ? { ...next, status: "forgotten" } : await answer.json();
      if (mine !== waiting) return;
      if (!record.id) throw new Error(record.code);
      keep(record);
      if (!isOpen(record)) await refresh();
    } catch {
      await new Promise((wake) => setTimeout(wake, 3000));
    }
  }
}

// Moves the clocks of Callgate and Talkdesk to two seconds before an appointment.
const jump = (record) => attempt("later-status", async () => {
  const time = await json("/_sandbox/clock");
  const way = Math.floor((Date.parse(record.at) - Date.parse(time.gateway_time)) / 1000) - 2;
  if (way <= 0) return ["The phone is ringing.", true];
  const answer = await ask(
    "POST", "/_sandbox/clock", { offset_seconds: time.gateway_offset_seconds + way, everything: true });
  await showTimesAgain();
  return answer.ok
    ? [`200: two seconds before ${hour(record.at)}`, true] : [problem(answer.status, answer.text), false];
});

function showClock() {
  // Only when the day changes: a date that is being typed stays.
  if ($("day").min !== today()) {
    $("day").min = today();
    if ($("day").value < today()) {
      $("day").value = today();
      hideTimes();
    }
  }
  $("moved-clock").hidden = ahead === 0;
  if (ahead !== 0) put("sandbox-clock", moment(gatewayTime()));
}

$("later").addEventListener("submit", (event) => { event.preventDefault(); attempt("later-status", showTimes); });
$("later").addEventListener("input", showCommands);
$("day").addEventListener("input", hideTimes);
$("times").addEventListener("keydown", moveFocus);
setInterval(showClock, 1000);
showClock();
