// What the reader must know wherever the page is scrolled to: a server that is gone, its pauses, its moved clock.
let heardAt = Date.now();

function heard() {
  heardAt = Date.now();
  $("gone").hidden = true;
}

function missed() {
  put("gone", `No response since ${clock(heardAt)}, so this page is out of date. Trying again…`);
  $("gone").hidden = false;
}

// The upstreams that Callgate does not ask now, as GET /_sandbox/pauses lists them.
let pauses = [];
const asked = {
  token: "Talkdesk ID", callback: "Talkdesk's Callback API", fcm: "Firebase Cloud Messaging", hook: "the webhook receiver",
  sendbird: "Sendbird", desk: "the chat desk",
};

async function showPauses() {
  const answer = await fetch("/_sandbox/pauses", { cache: "no-store" });
  pauses = answer.ok ? await answer.json() : [];
  tickPauses();
}

function tickPauses() {
  const now = gatewayTime();
  const rest = ({ until }) => Math.ceil((Date.parse(until) - now) / 1000);
  const running = pauses.filter((pause) => rest(pause) > 0);
  $("paused").hidden = running.length === 0;
  // Lines that stay, so that a screen reader does not speak each second.
  if ($("pauses").children.length !== running.length) $("pauses").replaceChildren(...running.map(() => make("li")));
  running.forEach((pause, index) => {
    const words = `Callgate tries ${asked[pause.of] ?? pause.of} again in ${rest(pause)} s.`;
    if ($("pauses").children[index].textContent !== words) $("pauses").children[index].textContent = words;
  });
  if (running.length === 0) say("pause-status", "");
}

const endPauses = () => attempt("pause-status", async () => {
  const answer = await ask("DELETE", "/_sandbox/pauses");
  return answer.ok ? ["204: the next request tries again", true] : [problem(answer.status, answer.text), false];
});

const resetClock = () => attempt("clock-status", async () => {
  const answer = await ask("DELETE", "/_sandbox/clock");
  await showTimesAgain();
  return answer.ok ? ["204: the clock is reset", true] : [problem(answer.status, answer.text), false];
});

$("end-pauses").addEventListener("click", endPauses);
$("reset-clock").addEventListener("click", resetClock);
setInterval(tickPauses, 1000);
