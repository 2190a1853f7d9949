// What this phone booked, and the id of the notification that it shows.
let dialogCall = null;
let question = null;
// The phone that the card was last shown for.
let shownFor = null;

function showDialogPhone() {
  $("book-call").disabled = phone === null;
  if (!phone) $("dialog-phone").textContent = "First enroll a phone and register its device.";
  else {
    $("dialog-phone").replaceChildren(
      "Enrolled: ", stranger(phone.values.client_app), ". ",
      phone.isRegistered ? "Book a call." : "Register its device under “Token by push”, then book.");
  }
  if (shownFor !== phone) dialogCall = question = null;
  shownFor = phone;
  showCall();
}

function showCall() {
  $("jump-question").disabled = $("jump-call").disabled = dialogCall?.status !== "scheduled";
  $("dialog-record").hidden = !dialogCall;
  if (dialogCall) $("dialog-record").textContent = `Call: ${dialogCall.status}, ${moment(dialogCall.at)}, ${dialogCall.contact_phone_number}`;
}

const bookCall = () => attempt("dialog-status", async () => {
  const at = instant(new Date(gatewayTime() + 600 * 1000));
  const body = { contact_phone_number: $("dialog-number").value.trim(), at };
  const answer = await askAsPhone("POST", "/calls/callback", body, credential());
  if (!answer.ok) return [problem(answer.status, answer.text), false];
  dialogCall = JSON.parse(answer.text);
  showCall();
  return [`${answer.status}: booked for ${hour(dialogCall.at)}`, true];
});

// Moves all clocks to two seconds before a time.
const jumpTo = (time, words) => attempt("dialog-status", async () => {
  const clocks = await json("/_sandbox/clock");
  const way = Math.floor((time - Date.parse(clocks.gateway_time)) / 1000) - 2;
  if (way <= 0) return ["It is time.", true];
  const answer = await ask(
    "POST", "/_sandbox/clock", { offset_seconds: clocks.gateway_offset_seconds + way, everything: true });
  return answer.ok ? [`200: two seconds before ${words}; wait for it`, true] : [problem(answer.status, answer.text), false];
});

// The newest notification that asks this phone.
function showQuestion(notices) {
  if (!phone) return;
  for (const { outcome, message, device } of notices) {
    if (!message || outcome === "refused" || device.slice(-4) !== phone.device.slice(-4)) continue;
    try {
      const { _id, _action } = JSON.parse(message);
      if (!_action.startsWith("get-dialog-")) continue;
      if (_id === question) return;
      question = _id;
      return attempt("dialog-status", () => openDialog(`/genesys/1/service/${_id}/${_action}`));
    } catch { /* It is no notice of this server. */ }
  }
}

// What the app does with a link: a POST, without a credential.
async function openDialog(path) {
  const answer = await askAsPhone("POST", path);
  if (answer.status === 204) showScreen("Done.");
  else if (answer.status === 200) showDocument(JSON.parse(answer.text));
  else showScreen("This dialog has ended.");
  await readCall();
  return answer.ok ? [`${answer.status}: answered`, true] : [problem(answer.status, answer.text), false];
}

function showScreen(...parts) {
  $("dialog-screen").replaceChildren(...parts.map((part) => {
    if (typeof part !== "string") return part;
    const words = make("p");
    words.append(stranger(part));
    return words;
  }));
}

function showDocument(dialog) {
  if (dialog._action === "DialNumber") return showScreen(`Call ${dialog._tel_url.slice(4)}. Code: ${dialog._access_code}`);
  if (dialog._action !== "DisplayMenu") return showScreen(dialog._text);
  const row = make("p", null, "row");
  for (const group of dialog._content) {
    for (const item of group._group_content) {
      // Links begin with the external URL. This page uses its own.
      const path = new URL(item._user_action_url, location.href).pathname;
      row.append(smallButton(item._label, () => attempt("dialog-status", () => openDialog(path))));
    }
  }
  const instead = dialog._resource_url.replace(/[^/]*$/, "connect-inbound");
  const path = new URL(instead, location.href).pathname;
  row.append(smallButton("I'll call you instead", () => attempt("dialog-status", () => openDialog(path))));
  showScreen(dialog._label, dialog._content[0]._group_name, row);
}

async function readCall() {
  if (!dialogCall || !phone) return;
  const answer = await askAsPhone("GET", `/callbacks/${dialogCall.id}`, undefined, credential());
  if (answer.ok) dialogCall = JSON.parse(answer.text);
  showCall();
  if (dialogCall.status === "accepted") showScreen("The phone is ringing.");
}

$("book-call").addEventListener("click", bookCall);
$("jump-question").addEventListener("click", () => jumpTo(Date.parse(dialogCall.at) - 120000, "the question"));
$("jump-call").addEventListener("click", () => jumpTo(Date.parse(dialogCall.at), "the call"));
setInterval(() => { if (!document.hidden && dialogCall?.status === "scheduled") readCall(); }, 2000);
