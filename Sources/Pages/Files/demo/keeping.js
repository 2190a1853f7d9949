// What survives a reload of this tab: the enrolled phone, the last tap, and what was booked.
const keepingKey = "callgate.sandbox";

// Whether the server has answered for all of it. What it could not be asked about stays as it was.
let isRestored = false;

function save() {
  if (!isRestored) return;
  const { timer, ...kept } = phone ?? {};
  sessionStorage.setItem(keepingKey, JSON.stringify({
    phone: kept.secret ? kept : null, last, dialogCall, booked: [...booked.values()].map((entry) => entry.record),
  }));
}

async function restore() {
  await restoreAll();
  isRestored = true;
}

async function restoreAll() {
  let kept;
  try { kept = JSON.parse(sessionStorage.getItem(keepingKey) ?? "null"); } catch { /* Another release wrote it. */ }
  if (!kept) return;
  if (kept.last) {
    last = kept.last;
    $("phone").value = last.body.contact_phone_number;
    $("repeat").disabled = $("again").disabled = false;
    watchPhone(last.body.contact_phone_number);
  }
  // The newest is first in the list, so the oldest is added first. After a restart the sandbox has forgotten them.
  for (const record of kept.booked ?? []) {
    const answer = await ask("GET", `/callbacks/${record.id}`);
    if (answer.ok) keep(JSON.parse(answer.text));
  }
  watch();
  if (kept.phone) await restorePhone(kept.phone, kept.dialogCall);
}

async function restorePhone(kept, call) {
  phone = kept;
  const answer = await fetchCode({ client_secret: phone.secret });
  if (answer.status !== 200) return forgetPhone();
  installed(JSON.parse(answer.text), "the phone of this tab");
  dialogCall = call;
  if (dialogCall) await readCall();
}

addEventListener("pagehide", save);
