function callBody() {
  const body = { contact_phone_number: $("phone").value.trim() };
  if ($("own").value.trim()) body.talkdesk_phone_number = $("own").value.trim();
  if ($("issue").value.trim()) body.context = { issue: $("issue").value.trim() };
  return body;
}

// The last tap: its body and its key. A phone repeats both after a lost response.
let last = null;

function call(place) {
  last = { body: callBody(), key: newKey() };
  watchPhone(last.body.contact_phone_number);
  $("repeat").disabled = $("again").disabled = false;
  send(last, place);
}

// What a phone gets from Firebase Phone Number Verification. It works once, so each tap has a new one.
async function prove(body) {
  const { ok, text } = await ask("POST", "/_sandbox/number-proof", { phone: body.contact_phone_number });
  if (ok) body.number_proof = JSON.parse(text).number_proof;
}

const send = (tap, place) => attempt(`${place}-status`, async () => {
  if ($("proves").checked) await prove(tap.body);
  const answer = await ask("POST", "/calls/callback", tap.body, { "Idempotency-Key": tap.key });
  return showCalled(answer, `${place}-answer`);
});

const repeat = () => attempt("twice-status", async () => {
  const answer = await ask("POST", "/calls/callback", last.body, { "Idempotency-Key": last.key });
  const [words, good] = await showCalled(answer, "twice-answer");
  return [answer.ok ? `${words}, the same response as before; no second call` : words, good];
});

const validate = () => attempt("call-status", async () => {
  const answer = await ask("POST", "/calls/callback?validate", callBody());
  showCalled(answer, "call-answer");
  return answer.ok ? [`${answer.status}: valid; no call was made`, true] : [problem(answer.status, answer.text), false];
});

// A second call to a number within a minute: nobody rings, as it should be.
function isRepeated({ status, text }) {
  if (status !== 409) return false;
  try { return JSON.parse(text).code === "duplicate"; } catch { return false; }
}

async function showCalled(answer, place) {
  showAnswer(place, answer.text);
  $("phone").setAttribute("aria-invalid", String(answer.status === 422 && answer.text.includes("contact_phone_number")));
  await showRecord(answer.location ?? namedRecord(answer));
  if (isRepeated(answer)) return ["409 duplicate: the phone does not ring again", true];
  return answer.ok ? [`${answer.status}: accepted`, true] : [problem(answer.status, answer.text), false];
}

// An error names its record, and "duplicate" that of the first call.
function namedRecord({ ok, text }) {
  if (ok) return null;
  try {
    const { id } = JSON.parse(text);
    return id ? `/callbacks/${id}` : null;
  } catch { return null; }
}

async function showRecord(path) {
  const answer = path ? await ask("GET", path) : null;
  $("call-record").hidden = !answer?.ok;
  showEnd(answer?.ok ? JSON.parse(answer.text) : null);
  if (!answer?.ok) return;
  const record = JSON.parse(answer.text);
  const reason = record.reason ? ` (${record.reason})` : "";
  $("call-record").textContent = `GET ${path}: ${record.status}${reason}`;
}

// The callback whose phone is ringing. Talkdesk reports the result that the visitor of this page chooses.
let ringing = null;

function showEnd(record) {
  ringing = record;
  const mayEnd = record !== null && !record.outcome && ["accepted", "unknown"].includes(record.status);
  for (const button of document.querySelectorAll("[data-end]")) button.disabled = !mayEnd;
  showHandset();
}

const endWords = { reached: "was answered", not_reached: "the customer did not answer", cancelled: "the customer hung up" };

// The outcome in the record.
function endOf(record) {
  if (!record?.outcome) return "";
  const { state, talk_seconds } = record.outcome;
  return `, ${endWords[state]}` + (talk_seconds ? `, ${talk_seconds} s` : "");
}

const endCall = (state) => attempt("end-status", async () => {
  const { id } = ringing;
  const told = await ask("POST", "/_sandbox/outcome", { id, state });
  if (!told.ok) return [problem(told.status, told.text), false];
  await showRecord(`/callbacks/${id}?wait=10`);
  return ringing?.outcome ? [`Talkdesk reports: ${ringing.outcome.state}`, true] : ["Talkdesk has not reported it yet", false];
});

for (const button of document.querySelectorAll("[data-end]")) {
  button.addEventListener("click", () => endCall(button.dataset.end));
}
$("validate").addEventListener("click", validate);
$("repeat").addEventListener("click", repeat);
$("again").addEventListener("click", () => call("twice"));
$("call").addEventListener("submit", (event) => { event.preventDefault(); call("call"); });
$("call").addEventListener("input", showCommands);
