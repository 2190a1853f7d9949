// What the app keeps on its phone. This tab keeps it over a reload.
let phone = null;

function newUUID() {
  const hex = newKey();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

// Omits the browser's credentials, so that the browser asks for no password after a 401.
const askAsPhone = (method, path, body, credential) =>
  ask(method, path, body, credential ? { Authorization: "Basic " + btoa(credential) } : {}, "omit");

const fetchCode = (more) => askAsPhone("POST", "/fetch-code" + phone.query, { ...phone.values, ...more });
const credential = () => `${phone.values.client_id}:${phone.secret}`;

// Shows which step the phone has reached: 0 is asking, 1 is waiting, 2 is installed.
function reach(step) {
  [...$("enrol-steps").children].forEach((item, index) => {
    if (index === step) item.setAttribute("aria-current", "step"); else item.removeAttribute("aria-current");
  });
  $("approval").hidden = step !== 1;
  $("installed").hidden = step !== 2;
}

const enrol = () => attempt("enrol-status", async () => {
  clearTimeout(phone?.timer);
  const app = $("app-kind").value;
  phone = {
    values: { client_id: newUUID(), client_app: $("app-name").value }, query: app ? "?app=" + app : "", device: newKey(),
  };
  reach(0);
  const answer = await fetchCode();
  if (answer.status !== 202) return [problem(answer.status, answer.text), false];
  const { request_id, user_code, interval } = JSON.parse(answer.text);
  phone.request = { request_id };
  $("user-code").textContent = user_code;
  say("approve-status", "");
  reach(1);
  pollLater(interval);
  return [`202: pending; the phone polls every ${interval} s`, true];
});

function pollLater(seconds) {
  const mine = phone;
  mine.timer = setTimeout(async () => {
    try {
      const answer = await fetchCode(mine.request);
      if (phone === mine) delivered(answer);
    } catch {
      if (phone === mine) pollLater(seconds);
    }
  }, seconds * 1000);
}

function delivered(answer) {
  if (answer.status === 202 || answer.status === 429) return pollLater(answer.wait);
  if (answer.status !== 200) {
    reach(0);
    return say("enrol-status", problem(answer.status, answer.text), false);
  }
  const content = JSON.parse(answer.text);
  phone.secret = content.client_secret;
  installed(content, "200: installed");
}

function installed(content, words) {
  facts("phone-facts", { ...phone.values, client_secret: phone.secret.slice(0, 4) + "…, stored on the phone" });
  showCode(content);
  say("phone-status", "");
  say("verify-status", "");
  say("enrol-status", words, true);
  reach(2);
  showPhone();
}

// What needs a phone shows the one there is.
function showPhone() {
  showPushPhone();
  showDialogPhone();
  showTicketPhone();
}

function forgetPhone(words) {
  phone = null;
  reach(0);
  say("enrol-status", words ?? "", words ? true : undefined);
  showPhone();
}

const approve = () => attempt("approve-status", async () => {
  const answer = await askAsPhone("POST", "/_sandbox/installations/approve", { user_code: $("user-code").textContent });
  return answer.status === 204
    ? ["204: approved; the phone finds out when it polls next", true] : [problem(answer.status, answer.text), false];
});

function showCode({ code, expires_in }) {
  phone.code = code;
  phone.codeEnd = Date.now() + expires_in * 1000;
  $("code").textContent = code;
  tickCode();
}

function tickCode() {
  if (!phone?.code) return;
  const left = Math.max(0, Math.round((phone.codeEnd - Date.now()) / 1000));
  $("code-left").textContent = left > 0 ? `for ${left} s` : "expired: get another";
}

const renewCode = () => attempt("phone-status", async () => {
  const answer = await fetchCode({ client_secret: phone.secret });
  if (answer.status !== 200) return [problem(answer.status, answer.text), false];
  showCode(JSON.parse(answer.text));
  return ["200: a code", true];
});

const fetchPhoneToken = () => attempt("phone-status", async () => {
  const answer = await askAsPhone("GET", "/access", undefined, credential());
  if (answer.status === 202) return ["202: the token comes by push", true];
  return answer.status === 200 ? ["200: authorized", true] : [problem(answer.status, answer.text), false];
});

const revoke = () => attempt("phone-status", async () => {
  const answer = await askAsPhone("DELETE", "/installations/self", undefined, credential());
  if (answer.status !== 204) return [problem(answer.status, answer.text), false];
  const secret = credential();
  const after = await askAsPhone("GET", "/access", undefined, secret);
  forgetPhone(`204: revoked. Its secret now gets ${after.status}.`);
  return ["", undefined];
});

const verify = () => attempt("verify-status", async () => {
  const answer = await askAsPhone("POST", "/codes/verify", { client_id: phone.values.client_id, code: phone.code });
  if (answer.status !== 200) return [problem(answer.status, answer.text), false];
  const { valid } = JSON.parse(answer.text);
  return [valid ? "200: valid" : "200: not valid", valid];
});

$("enrol").addEventListener("submit", (event) => { event.preventDefault(); enrol(); });
$("approve").addEventListener("click", approve);
$("fetch-code").addEventListener("click", renewCode);
$("phone-token").addEventListener("click", fetchPhoneToken);
$("revoke").addEventListener("click", revoke);
$("verify").addEventListener("click", verify);
setInterval(tickCode, 1000);
