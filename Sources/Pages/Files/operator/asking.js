const tokenKey = "callgate.admin-token";
let token = sessionStorage.getItem(tokenKey) ?? "";
// Whether the page waits for a token.
let isLocked = false;

// What each role may press, the server decides; the page offers no more. A role includes those before it.
const roles = ["read", "approve", "operate"];
const may = (role) => roles.indexOf(last?.operator.role) >= roles.indexOf(role);

function showOperator({ operator: { name, role } }) {
  update("operator", [name, role], () => [stranger(name), `, ${role}`]);
  for (const element of document.querySelectorAll("[data-role]")) element.hidden = !may(element.dataset.role);
}

// Sends a request and reads the JSON of its response. Throws where the server does not respond.
async function ask(method, path, body, candidate) {
  const used = candidate ?? token;
  const headers = {};
  if (used) headers.Authorization = "Bearer " + used;
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    method, headers, body: body && JSON.stringify(body), cache: "no-store", redirect: "error",
    signal: AbortSignal.timeout(15000),
  });
  let content = null;
  try { content = JSON.parse(await answer.text()); } catch { /* No body, or a proxy's page. */ }
  // The operator forgot or changed the token meanwhile, so the page does not show this response.
  if (candidate === undefined && used !== token) throw new Error("another token");
  if (answer.status === 401) forget(used ? content?.detail ?? "That is not an operator's token." : "");
  return { ok: answer.ok, status: answer.status, content, wait: answer.headers.get("Retry-After") };
}

function problem({ status, content, wait }) {
  if (!content || !content.code) return `${status}: not a response from Callgate`;
  const fields = (content.fields ?? []).map((field) => `${field.name}: ${field.description}`).join(" ");
  return `${status} ${content.code}: ${fields || content.detail || content.title}${wait && content.code !== "rate_limited" ? ` (${wait} s)` : ""}`;
}

// Runs an act, and shows its result beside its button.
async function attempt(id, work) {
  say(id, "sending…");
  try {
    const [words, good] = await work();
    say(id, words, good);
    // It is no state: another problem may be at hand later.
    if (good) setTimeout(() => { if ($(id).textContent === words) say(id, ""); }, 10000);
  } catch {
    say(id, "No response. The server may or may not have done it.", false);
  }
  await poll();
}

// Asks before an act. The dialog has the focus, and Escape is Cancel.
function confirmed(title, text, act) {
  const dialog = $("confirm");
  put($("confirm-title"), title);
  $("confirm-text").replaceChildren(...[text].flat());
  put($("confirm-act"), act);
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "act"), { once: true });
  });
}

function forget(words) {
  token = "";
  last = null;
  sessionStorage.removeItem(tokenKey);
  reset();
  $("connection").hidden = true;
  showLogin(words);
}

function showLogin(words) {
  isLocked = true;
  $("board").hidden = true;
  $("tools").hidden = true;
  for (const element of document.querySelectorAll("[data-role]")) element.hidden = true;
  $("login").hidden = false;
  $("token").focus();
  say("login-status", words ?? "", words ? false : undefined);
}

async function enter(event) {
  event.preventDefault();
  const candidate = $("token").value.trim();
  say("login-status", "sending…");
  // A header takes no other characters.
  if (!/^[!-~]+$/.test(candidate)) return forget("A token has no spaces and no special characters.");
  try {
    const answer = await ask("GET", "/admin/status", undefined, candidate);
    if (answer.status === 401) return;
    if (!answer.ok) return say("login-status", problem(answer), false);
    token = candidate;
    isLocked = false;
    sessionStorage.setItem(tokenKey, token);
    $("token").value = "";
    $("login").hidden = true;
    say("login-status", "");
    show(answer.content, 0);
    // The form that had the focus is gone. The kill switch is the next stop of the tab key.
    $("top").focus();
  } catch {
    say("login-status", "The server is not responding.", false);
  }
}

$("login-form").addEventListener("submit", enter);
$("lock").addEventListener("click", () => forget(""));
