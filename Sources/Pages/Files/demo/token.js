// The claims of the token that the card shows.
let claims = null;

function decode(token) {
  const part = token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
  const bytes = Uint8Array.from(atob(part), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

const meanings = {
  iss: "issuer", aud: "audience", exp: "expires", nbf: "not before", iat: "issued", jti: "token id",
  cid: "client", gty: "grant", scp: "scopes",
};

function showToken(token) {
  $("raw").textContent = token;
  $("token").hidden = false;
  try { claims = decode(token); } catch { claims = null; }
  facts("claims", Object.fromEntries(Object.entries(claims ?? {}).map(([name, value]) => [
    meanings[name] ? `${name} · ${meanings[name]}` : name,
    ["exp", "nbf", "iat"].includes(name)
      ? `${value} (${clock(value * 1000)})`
      : Array.isArray(value) ? value.join(" ") : String(value),
  ])));
  $("life").max = claims ? Math.max(1, claims.exp - claims.iat) : 1;
  tick();
}

function tick() {
  if (!claims) {
    $("left").textContent = $("left-words").textContent = "";
    $("life").value = 0;
    return;
  }
  const left = Math.max(0, Math.round(claims.exp - gatewayTime() / 1000));
  $("left").textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  $("left-words").textContent = left > 0 ? "until this token expires" : "expired: get another";
  $("life").value = left;
}

const fetchToken = () => attempt("token-status", async () => {
  const answer = await ask("GET", "/access");
  if (answer.status !== 200) return [problem(answer.status, answer.text), false];
  showToken(answer.text);
  return ["200: authorized", true];
});

const probe = () => attempt("token-status", async () => {
  const answer = await ask("GET", "/access?probe");
  return answer.status === 204 ? ["204: would be authorized", true] : [problem(answer.status, answer.text), false];
});

$("fetch-token").addEventListener("click", fetchToken);
$("probe").addEventListener("click", probe);
setInterval(tick, 1000);
