const faults = [
  ["Refused", { endpoint: "token", status: 401 }],
  ["503", { endpoint: "token", status: 503, retry_after: 3 }],
  ["3 s delay", { endpoint: "token", delay_ms: 3000 }],
  ["No response", { endpoint: "token", drop: "before" }],
  ["Not JSON", { endpoint: "token", body: "<html>gateway</html>" }],
  ["Lives 20 s", { endpoint: "token", expires_in: 20 }],
  ["429", { endpoint: "callback", status: 429, retry_after: 5 }],
  ["500", { endpoint: "callback", status: 500 }],
  ["401 once", { endpoint: "callback", status: 401 }],
  ["Rings, no response", { endpoint: "callback", drop: "after" }],
  ["Empty 202", { endpoint: "callback", status: 202, body: "" }],
];

async function setFault(fault) {
  const answer = await ask("POST", "/_sandbox/faults", fault);
  if (!answer.ok) throw new Error(answer.text);
}

// Sets a fault of another card's request.
const post = (fault, place) => attempt(place, async () => {
  await setFault(fault);
  return ["waiting for the next request", true];
});

// Sets a fault, and sends the request that meets it. A cached token would need no request to Talkdesk ID.
const breakToken = (fault) => attempt("fault-status", async () => {
  await ask("DELETE", "/_sandbox/token");
  await setFault(fault);
  const answer = await ask("GET", "/access");
  showAnswer("fault-answer", answer.ok ? "" : answer.text);
  if (!answer.ok) return [problem(answer.status, answer.text), false];
  showToken(answer.text);
  return ["GET /access: 200; the app got a token anyway", true];
});

// Each with a number of its own, which no earlier callback makes a duplicate.
let broken = 0;
const breakCallback = (fault) => attempt("fault-status", async () => {
  await setFault(fault);
  broken = (broken + 1) % 100;
  return callNumber(`+1415555${7000 + Math.floor(Math.random() * 29) * 100 + broken}`);
});

async function callNumber(number) {
  watchPhone(number);
  const body = { ...callBody(), contact_phone_number: number };
  const answer = await ask("POST", "/calls/callback", body, { "Idempotency-Key": newKey() });
  showAnswer("fault-answer", answer.text);
  return answer.ok ? [`${answer.status}: accepted anyway`, true] : [problem(answer.status, answer.text), false];
}

const forgetToken = () => attempt("fault-status", async () => {
  const answer = await ask("DELETE", "/_sandbox/token");
  return answer.ok ? ["token cleared", true] : [problem(answer.status, answer.text), false];
});

const clearFaults = () => attempt("fault-status", async () => {
  const answer = await ask("DELETE", "/_sandbox/faults");
  return answer.ok ? ["all faults cleared", true] : [problem(answer.status, answer.text), false];
});

// A fault in words.
function faultText({ endpoint, times, status, retry_after: wait, delay_ms: delay, drop, expires_in: life, body }) {
  const words = [
    status && `status ${status}`, wait !== undefined && `Retry-After ${wait}`, delay && `${delay / 1000} s delay`,
    { before: "no response", during: "closes in the middle", after: "acts, then no response" }[drop],
    life !== undefined && `lives ${life} s`, body !== undefined && `body ${JSON.stringify(body)}`,
  ];
  return `${endpoint}: ${words.filter(Boolean).join(", ")}${times > 1 ? `, ${times} times` : ""}`;
}

function showWaiting(faults) {
  $("unmet").hidden = faults.length === 0;
  lines("waiting", faults.slice(0, 20).map(faultText), (words) => [words]);
}

for (const [label, fault] of faults) {
  const isToken = fault.endpoint === "token";
  (isToken ? $("token-faults") : $("callback-faults")).append(
    smallButton(label, () => (isToken ? breakToken : breakCallback)(fault)));
}
for (const button of document.querySelectorAll("[data-number]")) {
  button.addEventListener("click", () => attempt("fault-status", () => callNumber(button.dataset.number)));
}
$("forget-token").addEventListener("click", forgetToken);
$("clear-faults").addEventListener("click", clearFaults);
