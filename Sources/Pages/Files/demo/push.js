const pushFaults = [
  ["Device unknown", { endpoint: "fcm", status: 404 }],
  ["Quota used up", { endpoint: "fcm", status: 429, retry_after: 8 }],
  ["503 twice", { endpoint: "fcm", status: 503, times: 2 }],
  ["3 s delay", { endpoint: "fcm", delay_ms: 3000 }],
  ["Arrives, no response", { endpoint: "fcm", drop: "after" }],
  ["410, stops the sender", { endpoint: "hook", status: 410 }],
  ["503", { endpoint: "hook", status: 503, retry_after: 8 }],
  ["3 s delay", { endpoint: "hook", delay_ms: 3000 }],
  ["No response", { endpoint: "hook", drop: "before" }],
];

function showPushPhone() {
  $("register-device").disabled = $("ask-push").disabled = phone === null;
  if (!phone) $("push-phone").textContent = "First enroll a phone that gets tokens by push.";
  else if (phone.query !== "?app=example-app-push") {
    $("push-phone").textContent =
      "This phone gets tokens in the response. Register its device for other notifications, or enroll one that gets tokens by push.";
  } else {
    $("push-phone").replaceChildren(
      "Enrolled: ", stranger(phone.values.client_app), `. Its device ends in ${phone.device.slice(-4)}. `,
      phone.isRegistered ? "Request a token." : "Register it, then request a token.");
  }
  say("push-status", "");
  say("claim-status", "");
}

const registerDevice = () => attempt("push-status", async () => {
  const device = { platform: $("push-platform").value, token: phone.device };
  const answer = await askAsPhone("PUT", "/installations/self/push", device, credential());
  if (answer.status !== 204) return [problem(answer.status, answer.text), false];
  phone.isRegistered = true;
  showPushPhone();
  showDialogPhone();
  return [`204: registered with ${device.platform}`, true];
});

const askPush = () => attempt("push-status", async () => {
  const answer = await askAsPhone("GET", "/access", undefined, credential());
  if (answer.status === 202) return ["202: a push notification is on its way", true];
  return answer.status === 200
    ? ["200: this app gets tokens in the response", false] : [problem(answer.status, answer.text), false];
});

// The id of a notice that lets its phone claim a token; nothing for other notices.
function claimOf({ outcome, message, device }) {
  if (!phone || !message || outcome === "refused" || device.slice(-4) !== phone.device.slice(-4)) return null;
  try {
    const { _id, _action } = JSON.parse(message);
    return _action === "access" ? _id : null;
  } catch { return null; }
}

function showNotices(notices) {
  const shown = notices.slice(0, mostSeen).map((notice) => ({ ...notice, claim: claimOf(notice) }));
  lines("notices", shown, ({ at, provider, device, error, message, status, claim: id }) => {
    const parts = [timeOf(at), provider, device, stranger(error ?? message), badge(status)];
    if (!id) return parts;
    const button = smallButton("Fetch the token", () => claim(id));
    button.setAttribute("aria-label", `Fetch the token of ${clock(at)}`);
    return [...parts, button];
  });
}

const claim = (id) => attempt("claim-status", async () => {
  const answer = await askAsPhone("POST", "/access/claim", { claim: id }, credential());
  return answer.status === 200 ? ["200: authorized", true] : [problem(answer.status, answer.text), false];
});

for (const [label, fault] of pushFaults) {
  const button = smallButton(label, () => post(fault, "push-fault-status"));
  $(fault.endpoint + "-faults").append(button);
}
$("register-device").addEventListener("click", registerDevice);
$("ask-push").addEventListener("click", askPush);
