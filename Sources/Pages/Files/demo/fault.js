const faults = [
  ["Refused", { endpoint: "token", status: 401 }],
  ["503", { endpoint: "token", status: 503, retry_after: 3 }],
  ["3 s late", { endpoint: "token", delay_ms: 3000 }],
  ["No response", { endpoint: "token", drop: "before" }],
  ["Not JSON", { endpoint: "token", body: "<html>gateway</html>" }],
  ["Lives 20 s", { endpoint: "token", expires_in: 20 }],
  ["429", { endpoint: "callback", status: 429, retry_after: 5 }],
  ["500", { endpoint: "callback", status: 500 }],
  ["401 once", { endpoint: "callback", status: 401 }],
  ["Rings, no response", { endpoint: "callback", drop: "after" }],
  ["Empty 202", { endpoint: "callback", status: 202, body: "" }],
];

const post = (fault, place = "fault-status") => attempt(place, async () => {
  const answer = await fetch("/_sandbox/faults", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(fault),
  });
  return answer.ok
    ? ["waiting for the next request", true] : [problem(answer.status, await answer.text()), false];
});

const forgetToken = () => attempt("fault-status", async () => {
  const answer = await fetch("/_sandbox/token", { method: "DELETE" });
  return answer.ok ? ["token forgotten", true] : [problem(answer.status, await answer.text()), false];
});

const clearFaults = () => attempt("fault-status", async () => {
  const answer = await fetch("/_sandbox/faults", { method: "DELETE" });
  return answer.ok ? ["forgotten", true] : [problem(answer.status, await answer.text()), false];
});

function showWaiting(faults) {
  $("waiting").replaceChildren(...faults.slice(0, 20).map((fault) => {
    const item = document.createElement("li");
    item.textContent = JSON.stringify(fault);
    return item;
  }));
}

for (const [label, fault] of faults) {
  const button = smallButton(label, () => post(fault));
  (fault.endpoint === "token" ? $("token-faults") : $("callback-faults")).append(button);
}
$("forget-token").addEventListener("click", forgetToken);
$("clear-faults").addEventListener("click", clearFaults);
