// The code whose request is shown. It is judged, whatever the field says by then.
let foundCode = null;
let listed = [];
let nextPage = null;
let counted = null;

function forgetInstallations() {
  foundCode = null;
  listed = [];
  nextPage = null;
  counted = null;
  $("found").hidden = true;
  shown.delete("active");
  $("active").replaceChildren();
}

// Requests the list only when the number of active installations has changed.
function showInstallations({ installations }) {
  $("installations-none").hidden = installations !== undefined;
  $("installations-some").hidden = installations === undefined;
  if (installations === undefined || counted === installations.active) return;
  counted = installations.active;
  list();
}

async function list(after) {
  try {
    const answer = await ask("GET", "/admin/installations?state=active&limit=50" + (after ? `&after=${encodeURIComponent(after)}` : ""));
    if (!answer.ok) return say("active-status", problem(answer), false);
    listed = after ? [...listed, ...answer.content.installations] : answer.content.installations;
    nextPage = answer.content.next ?? null;
    $("more").hidden = nextPage === null;
    say("active-status", "");
    update("active", listed, () => listed.length > 0 ? listed.map(activeItem) : [make("li", "none yet", "empty")]);
  } catch {
    say("active-status", "The server is not responding.", false);
  }
}

function activeItem(entry) {
  const item = make("li");
  const [name, use] = [make("strong"), make("div", null, "soft")];
  name.append(stranger(entry.client_app));
  use.append(stranger(entry.subject), `, used ${moment(entry.used_at)} from ${entry.address}`);
  if (entry.operator) use.append(", approved by ", stranger(entry.operator));
  item.append(name, " ", stranger(entry.client_detail), " ", make("span", entry.app, "badge"), use);
  const row = make("div", null, "row");
  const revoke = button("Revoke…", "small danger", () => revokeOne(entry));
  revoke.dataset.role = "approve";
  revoke.setAttribute("aria-label", `Revoke ${entry.client_app} of ${entry.subject}`);
  revoke.hidden = !may("approve");
  row.append(revoke, make("code", entry.client_id));
  item.append(row);
  return item;
}

async function revokeOne(entry) {
  const text = [
    stranger(entry.client_app), " of ", stranger(entry.subject),
    " gets no more tokens, and its appointments are canceled. The customer has to enroll the phone again.",
  ];
  if (!await confirmed("Revoke this installation?", text, "Revoke")) return;
  await attempt("active-status", async () => {
    const answer = await ask("POST", "/admin/installations/revoke", { client_id: entry.client_id });
    await list();
    return answer.ok ? ["204: revoked", true] : [problem(answer), false];
  });
}

async function find(event) {
  event.preventDefault();
  const code = $("find-code").value;
  foundCode = null;
  $("found").hidden = true;
  await attempt("find-status", async () => {
    const answer = await ask("POST", "/admin/installations/find", { user_code: code });
    if (!answer.ok) return [problem(answer), false];
    const entry = answer.content;
    facts("found-facts", [
      ["app name", entry.client_app], ["detail", entry.client_detail], ["app", entry.app], ["state", entry.state],
      ["requested from", entry.address], ["requested at", moment(entry.created_at)], ["expires", moment(entry.expires_at)],
      ["client_id", entry.client_id],
    ]);
    const old = entry.replaces;
    $("found-replaces").hidden = old === undefined;
    $("found-replaces").textContent = old === undefined ? "" :
      `Approval replaces the installation ${old.client_app} ${old.client_detail ?? ""}, enrolled ${moment(old.created_at)}, used `
      + `${moment(old.used_at)}. That phone must enroll again, and ${old.scheduled} of its appointments will be canceled.`;
    foundCode = code;
    $("found").hidden = false;
    return ["200: compare this with what the customer says", true];
  });
}

async function judge(path, words) {
  const code = foundCode;
  if (code === null) return;
  await attempt("find-status", async () => {
    const answer = await ask("POST", "/admin/installations/" + path, { user_code: code });
    if (!answer.ok) return [problem(answer), false];
    foundCode = null;
    $("found").hidden = true;
    $("find-code").value = "";
    counted = null;
    return [`204: ${words}`, true];
  });
}

async function deny() {
  if (await confirmed("Deny this request?", "The app learns that an operator denied it.", "Deny")) judge("deny", "denied");
}

$("find-form").addEventListener("submit", find);
$("approve").addEventListener("click", () => judge("approve", "approved; the app gets its secret when it polls next"));
$("deny").addEventListener("click", deny);
$("more").addEventListener("click", () => list(nextPage));
