// The pause dialog: it stops tokens or callbacks, with a reason and an end. The list of problems has each stop.
const targetText = ({ scope, id }) => (scope === "all" ? "everyone" : `${scope} ${id}`);
const actionText = ({ action }) =>
  ({ all: "everything", access: "tokens", callback: "callbacks", ticket: "tickets", enrol: "new installations" })[action] ?? action;

function showSwitch(state) {
  const waiting = state.queue.running + state.queue.waiting;
  const scheduled = state.appointments?.scheduled;
  put($("stop-waits"), `${several(waiting, "callback is", "callbacks are")} waiting to be sent now.`
    + (scheduled ? ` ${several(scheduled, "appointment is", "appointments are")} scheduled: any that come due before you resume will fail.` : ""));
  const isStopped = state.stops.some(({ scope, action }) => scope === "all" && ["callback", "all"].includes(action));
  put($("stop-open"), isStopped ? "Pause more…" : "Pause callbacks…");
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

// Preset to callbacks of everybody for 30 minutes, each time.
function openStop() {
  $("stop-action").value = "callback";
  $("stop-target").selectedIndex = 0;
  $("stop-end").value = "30m";
  $("stop-reason").value = "";
  nameStop();
  $("stop-dialog").returnValue = "cancel";
  $("stop-dialog").showModal();
}

function chosenStop() {
  const order = { ...JSON.parse($("stop-target").value), action: $("stop-action").value };
  const reason = $("stop-reason").value.trim();
  if (reason) order.reason = reason;
  if ($("stop-end").value) order.for = $("stop-end").value;
  return order;
}

const nameStop = () => put($("stop-act"), `Pause ${actionText(chosenStop())} for ${targetText(chosenStop())}`);

async function stopClosed() {
  if ($("stop-dialog").returnValue !== "stop") return say("act-status", "nothing was paused");
  const order = chosenStop();
  await attempt("act-status", async () => {
    const answer = await ask("POST", "/admin/stop", order);
    return answer.ok ? [`Paused ${actionText(order)} for ${targetText(order)}`, true] : [problem(answer), false];
  });
}

async function resumeStop({ scope, id, action }) {
  const what = `${actionText({ action })} for ${targetText({ scope, id })}`;
  if (!await confirmed(`Resume ${what}?`, "The rules decide about these requests again.", "Resume")) return;
  await attempt("act-status", async () => {
    const answer = await ask("POST", "/admin/resume", { scope, id, action });
    return answer.ok ? [`Resumed ${what}`, true] : [problem(answer), false];
  });
}

$("stop-open").addEventListener("click", openStop);
$("stop-form").addEventListener("change", nameStop);
$("stop-dialog").addEventListener("close", stopClosed);
