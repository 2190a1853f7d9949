function callBody() {
  const body = { contact_phone_number: $("phone").value.trim() };
  if ($("own").value.trim()) body.talkdesk_phone_number = $("own").value.trim();
  if ($("issue").value.trim()) body.context = { issue: $("issue").value.trim() };
  return body;
}

// The last request. A phone repeats it with the same key after a lost response.
let last = null;

function call(validateOnly) {
  if (!$("call").reportValidity()) return;
  if (validateOnly) return send({ body: JSON.stringify(callBody()) }, "?validate");
  last = { body: JSON.stringify(callBody()), key: newKey() };
  send(last, "");
}

const send = (request, query) => attempt("call-status", async () => {
  const headers = { "Content-Type": "application/json" };
  if (request.key) headers["Idempotency-Key"] = request.key;
  const answer = await fetch("/calls/callback" + query, {
    method: "POST", headers, body: request.body, cache: "no-store",
  });
  const text = await answer.text();
  showAnswer("call-answer", text);
  $("repeat").hidden = last === null;
  await showRecord(answer.headers.get("Location") ?? namedRecord(answer, text));
  if (!answer.ok) return [problem(answer.status, text), false];
  return [`${answer.status}: ${query ? "valid" : "accepted"}`, true];
});

// An error names its record, and "duplicate" that of the first call.
function namedRecord(answer, text) {
  if (answer.ok) return null;
  try {
    const { id } = JSON.parse(text);
    return id ? `/callbacks/${id}` : null;
  } catch { return null; }
}

async function showRecord(path) {
  const answer = path ? await ask("GET", path) : null;
  $("call-record").hidden = !answer?.ok;
  if (!answer?.ok) return;
  const record = JSON.parse(answer.text);
  const reason = record.reason ? ` (${record.reason})` : "";
  $("call-record").textContent = `GET ${path}: ${record.status}${reason}`;
}

$("validate").addEventListener("click", () => call(true));
$("repeat").addEventListener("click", () => send(last, ""));
$("call").addEventListener("submit", (event) => { event.preventDefault(); call(false); });
$("call").addEventListener("input", showCommands);
