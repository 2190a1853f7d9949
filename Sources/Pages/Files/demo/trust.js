// A phone of the attested app: how it proves that it is genuine, what is wrong with it, and the key that it proves with each request.
const attestedApp = "?app=example-attested";
let attested = null;

// What each phone gets from Apple and Google. Firebase gives an emulator nothing to send.
const phoneFaults = {
  genuine: {},
  resigned: { app_check: "wrong_app", app_attest: "wrong_app", play_integrity: "wrong_app" },
  emulator: { app_check: "nothing", app_attest: "bad_signature", play_integrity: "jailbroken" },
  old: { app_check: "old", app_attest: "old", play_integrity: "old" },
};

const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const octets = (text) => new TextEncoder().encode(text);

// A key that stays in the browser: DPoP, RFC 9449.
async function makePhoneKey() {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  const { crv, kty, x, y } = await crypto.subtle.exportKey("jwk", pair.publicKey);
  const jwk = { crv, kty, x, y };
  return { pair, jwk, thumbprint: base64url(await crypto.subtle.digest("SHA-256", octets(JSON.stringify(jwk)))) };
}

async function proof({ key, nonce }, method, path) {
  const part = (value) => base64url(octets(JSON.stringify(value)));
  const input = part({ typ: "dpop+jwt", alg: "ES256", jwk: key.jwk }) + "." + part({
    jti: newKey(), htm: method, htu: location.origin + path.split("?")[0], iat: Math.floor(gatewayTime() / 1000), nonce,
  });
  return input + "." + base64url(
    await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key.pair.privateKey, octets(input)));
}

// Sends a request with a new proof, and once more with the nonce that the server asks for.
async function askProved(method, path, body, fields = {}) {
  for (const isLast of [false, true]) {
    if (attested.key) attested.proof = await proof(attested, method, path);
    const answer = await ask(method, path, body, attested.key ? { ...fields, DPoP: attested.proof } : fields, "omit");
    attested.nonce = answer.nonce ?? attested.nonce;
    if (isLast || !answer.challenge.includes("use_dpop_nonce")) return answer;
  }
}

// What the phone of a way sends as `attestation`; nothing where Firebase gives it nothing.
async function attestation(way, fault, values, jkt) {
  if (fault === "nothing") return {};
  const wish = { type: way, app: "example-attested", ...(fault && { fault }) };
  if (way !== "app_check") {
    const answer = await ask("POST", "/attestation/challenge" + attestedApp, undefined, {}, "omit");
    if (!answer.ok) throw answer;
    const { challenge } = JSON.parse(answer.text);
    wish.client_data = ["callgate-enrol-1", values.client_id, values.client_app, "", challenge, jkt ?? ""].join("\n");
  }
  return { attestation: JSON.parse((await ask("POST", "/_sandbox/attest", wish)).text) };
}

const enrolAttested = () => attempt("trust-status", async () => {
  const [way, kind] = [$("trust-way").value, $("trust-kind").value];
  attested = { key: $("trust-key").value ? await makePhoneKey() : null };
  $("trusted").hidden = true;
  const values = { client_id: newUUID(), client_app: "Attested phone" };
  const jkt = attested.key?.thumbprint;
  const sent = await attestation(way, phoneFaults[kind][way], values, jkt);
  const answer = await askProved("POST", "/fetch-code" + attestedApp, { ...values, ...sent, ...(jkt && { jkt }) });
  if (answer.status !== 200) return [problem(answer.status, answer.text), false];
  attested.credential = `${values.client_id}:${JSON.parse(answer.text).client_secret}`;
  facts("trust-facts", { client_id: values.client_id, key: jkt ? jkt.slice(0, 8) + "…" : "none" });
  $("trust-copied").disabled = $("trust-again").disabled = !jkt;
  say("trust-token-status", "");
  $("trusted").hidden = false;
  return ["200: installed", true];
});

// A token with what the phone sends: a new proof, none, or the last one again.
const fetchAttestedToken = (send) => attempt("trust-token-status", async () => {
  const answer = await send("GET", "/access", undefined, { Authorization: "Basic " + btoa(attested.credential) });
  return answer.status === 200 ? ["200: authorized", true] : [problem(answer.status, answer.text), false];
});

$("trust").addEventListener("submit", (event) => { event.preventDefault(); enrolAttested(); });
$("trust-token").addEventListener("click", () => fetchAttestedToken(askProved));
$("trust-copied").addEventListener("click", () => fetchAttestedToken((...parts) => ask(...parts, "omit")));
$("trust-again").addEventListener("click", () => fetchAttestedToken(
  (method, path, body, fields) => ask(method, path, body, { ...fields, DPoP: attested.proof }, "omit")));
