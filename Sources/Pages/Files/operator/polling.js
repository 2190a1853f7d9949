let asking = false;
let paused = false;
let heardAt = null;
// The last state, for another zone.
let last = null;
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
  // Showing the last state again, for another zone, is no news.
  const isNews = state.time !== last?.time;
  if (isNews) {
    heardAt = Date.now();
    serverAhead = Date.parse(state.time) - heardAt;
    $("connection").hidden = true;
    document.body.classList.remove("stale");
  }
  $("board").hidden = false;
  $("tools").hidden = false;
  $("lock").hidden = !token;
  last = state;
  showOperator(state);
  showAttention(state);
  showNow(state);
  showHour(state);
  showSwitch(state);
  showInstallations(state);
  showConfiguration(state);
  showServices(state);
  showDesks(state);
  showCallbacks(state);
  showDecisions(unreadDecisions(state, after));
  if (isNews) showHeard();
}

async function poll() {
  if (asking || document.hidden || paused || isLocked) return;
  asking = true;
  try {
    const after = lastRead();
    const answer = await ask("GET", `/admin/status?after=${after}`);
    if (answer.ok) show(answer.content, after);
    else if (answer.status !== 401) trouble(problem(answer));
  } catch {
    if (!isLocked) trouble("The server is not responding.");
  } finally {
    asking = false;
  }
}

// The server is lost: what the page shows is old.
function trouble(words) {
  put($("connection-cause"), words);
  put($("connection-more"), heardAt === null ? "Trying again…"
    : `This page is out of date since ${lastHeard()}. Log in to the machine and run callgate status to see whether the server is running. Trying again…`);
  $("connection").hidden = false;
  document.body.classList.add("stale");
  document.title = "(!) Callgate operator";
  put($("heard"), heardAt === null ? "not live" : `not live since ${lastHeard()}`);
  put($("callbacks-state"), "callbacks: unknown");
  $("callbacks-state").className = "badge";
}

const lastHeard = () => moment(heardAt + serverAhead);

function showHeard() {
  put($("heard"), `${paused ? "paused at" : "live,"} ${lastHeard()}`);
}

function showZone() {
  put($("zone"), `Zone: ${zone()}`);
  $("zone").setAttribute("aria-pressed", String(isUTC));
}

$("zone").addEventListener("click", () => {
  isUTC = !isUTC;
  sessionStorage.setItem("callgate.utc", String(isUTC));
  showZone();
  if (last === null) return;
  redrawDecisions();
  $("list-rows").replaceChildren();
  shown.clear();
  show({ ...last, decisions: [] }, lastRead());
});
$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  put($("pause"), paused ? "Resume updates" : "Pause updates");
  if (heardAt !== null) showHeard();
  poll();
});
document.addEventListener("visibilitychange", poll);
setInterval(poll, 2000);
showZone();
poll();
