// What needs attention, above everything else.
const urgent = new Set(["store", "clock", "credential", "talkdesk_id", "callback_api", "stop", "brake", "audit"]);
const inWords = (callbacks) => (callbacks === "held" ? "restricted: some or all are refused" : callbacks);
const outlook = { open: "", closed: "", held: "warn", failing: "bad" };

// How long until a time, and since one.
const left = (time) => Math.max(0, Math.round((Date.parse(time) - serverNow()) / 1000));
const past = (time) => Math.max(0, (serverNow() - Date.parse(time)) / 1000);
function countdown(time) {
  const seconds = left(time);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (number) => String(number).padStart(2, "0");
  return hours > 47 ? span(seconds) : `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}`;
}

function showAttention(state) {
  const entries = state.attention;
  const stops = [...state.stops];
  // The server lists its stops in one order everywhere.
  const stopOf = entries.map((entry) => (entry.code === "stop" ? stops.shift() : null));
  update("attention-list", [entries.map(({ code, since, runbook }) => [code, since, runbook]), stopOf, may("operate")],
    () => entries.map((entry, index) => attentionItem(entry, stopOf[index])));
  // Only what changes is written again, so that focus stays.
  entries.forEach((entry, index) => fillAttention($("attention-list").children[index], entry));
  $("calm").hidden = entries.length > 0;
  put($("callbacks-state"), `callbacks ${inWords(state.callbacks)}`);
  $("callbacks-state").className = "badge " + (outlook[state.callbacks] ?? "");
  document.title = `${entries.length > 0 ? `(${entries.length}) ` : ""}Callgate operator`;
  countDown();
}

function attentionItem(entry, stop) {
  const item = make("li", null, "notice " + (urgent.has(entry.code) ? "bad" : "warn"));
  item.dataset.code = entry.code;
  const link = make("a", "Runbook");
  link.href = entry.runbook;
  link.target = "_blank";
  link.rel = "noreferrer";
  link.setAttribute("aria-label", `Runbook for ${entry.code}`);
  const row = box("p", "row");
  if (stop && may("operate")) {
    const resume = button("Resume", "small", () => resumeStop(stop));
    resume.setAttribute("aria-label", `Resume ${actionText(stop)} for ${targetText(stop)}`);
    row.prepend(resume);
  }
  if (entry.code === "unknown_callbacks") row.prepend(button("List them", "small", () => openList("unknown")));
  const line = box("p", "facts", make("span"), make("span"), make("span"));
  if (stop) line.append(box("span", "", "by ", stranger(stop.operator)));
  // It changes each second, which a screen reader need not say.
  line.setAttribute("aria-live", "off");
  item.append(
    box("strong", "", stranger("")), line,
    box("p", "", make("span"), " ", link));
  if (row.children.length > 0) item.append(row);
  return item;
}

function fillAttention(item, entry) {
  const [text, line, action] = item.children;
  const [since, hit, until] = line.children;
  put(text.firstChild, entry.text);
  since.dataset.since = entry.since;
  put(hit, entry.count > 0 && !entry.code.startsWith("unknown_") ? several(entry.count, "request affected", "requests affected") : "");
  put(action.firstChild, entry.action);
  if (entry.until) {
    until.dataset.until = entry.until;
    until.dataset.word = { certificate: "expires", stop: "until", brake: "allowed again", quota: "allowed again", rate: "allowed again" }[entry.code] ?? "next try";
  } else {
    delete until.dataset.until;
    put(until, "");
  }
}

// Each second, without asking the server.
function countDown() {
  for (const element of document.querySelectorAll("[data-since]")) {
    const { since } = element.dataset;
    put(element, `since ${moment(since)}, ${span(past(since))}`);
  }
  for (const element of document.querySelectorAll("[data-until]")) {
    const { until, word } = element.dataset;
    put(element, left(until) > 0 ? `${word} ${moment(until)} (in ${countdown(until)})` : `${word} now`);
  }
}
setInterval(countDown, 1000);
