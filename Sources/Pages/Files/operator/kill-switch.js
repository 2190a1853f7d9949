const targetText = ({ scope, id }) => (scope === "all" ? "everyone" : `${scope} ${id}`);
const actionText = ({ action }) =>
  ({ all: "everything", access: "tokens", callback: "callbacks", ticket: "tickets", enrol: "new installations" })[action] ?? action;

function stopText(stop) {
  const end = stop.until ? `until ${moment(stop.until)}` : "until resumed";
  return `Stopped: ${actionText(stop)} for ${targetText(stop)}, since ${moment(stop.since)}, ${end}`
    + (stop.reason ? `: ${stop.reason}.` : ".");
}

function showSwitch(state) {
  update("stops", state.stops, () => state.stops.map((stop) => {
    const item = make("li", stopText(stop));
    const row = make("div", null, "row");
    const resume = button("Resume", "small", () => resumeStop(stop));
    resume.setAttribute("aria-label", `Resume ${actionText(stop)} for ${targetText(stop)}`);
    row.append(resume);
    item.append(row);
    return item;
  }));
  const callers = [...state.callers, ...["anonymous", "installation"].filter((id) => !state.callers.includes(id))];
  const targets = [
    { scope: "all" }, ...state.apps.map((id) => ({ scope: "app", id })), ...callers.map((id) => ({ scope: "caller", id })),
  ];
  if (shown.get("stop-target") === JSON.stringify(targets)) return;
  const chosen = $("stop-target").value;
  update("stop-target", targets, () => targets.map((target) => {
    const option = make("option", targetText(target));
    option.value = JSON.stringify(target);
    return option;
  }));
  if (chosen) $("stop-target").value = chosen;
  if ($("stop-target").selectedIndex < 0) $("stop-target").selectedIndex = 0;
}

async function stop(event) {
  event.preventDefault();
  const order = { ...JSON.parse($("stop-target").value), action: $("stop-action").value };
  const reason = $("stop-reason").value.trim();
  if (reason) order.reason = reason;
  if ($("stop-end").value) order.for = $("stop-end").value;
  const what = `${actionText(order)} for ${targetText(order)}`;
  const end = $("stop-end").selectedOptions[0].textContent;
  if (!await confirmed(`Stop ${what}?`, `The server refuses these requests until ${order.for ? "" : "they are "}${end}.`, "Stop")) {
    return say("stop-status", "nothing was stopped");
  }
  await attempt("stop-status", async () => {
    const answer = await ask("POST", "/admin/stop", order);
    if (!answer.ok) return [problem(answer), false];
    $("stop-reason").value = "";
    return [`200: stopped ${what}`, true];
  });
}

async function resumeStop({ scope, id, action }) {
  const what = `${actionText({ action })} for ${targetText({ scope, id })}`;
  if (!await confirmed(`Resume ${what}?`, "The server decides these requests by its rules again.", "Resume")) return;
  await attempt("stop-status", async () => {
    const answer = await ask("POST", "/admin/resume", { scope, id, action });
    return answer.ok ? [`200: resumed ${what}`, true] : [problem(answer), false];
  });
}

$("stop-form").addEventListener("submit", stop);
