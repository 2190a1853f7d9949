// SPDX-License-Identifier: MIT
// A client for Callgate, for web pages and Node programs: tokens for Talkdesk's SDK, also by push, callbacks, appointments, and a
// credential for this device.
//
// Version 0.2.0. Copy this file: it has no dependencies. It runs in browsers released since the end of 2022 and in Node 18. Node 18 has no global
// `crypto`: set it first, as demo.mjs does.

/** Why there is no result: a `text` for the customer and an `action` for the page. */
export class Problem extends Error {
  constructor(status, members = {}) {
    super(members.code || `HTTP ${status}`);
    // All members of the server's response: code, title, detail, instance (the id of the request), fields, retry_after, next_open,
    // alternatives, id, verification_code.
    Object.assign(this, { code: "" }, members, { status, message: this.message, retry_after: seconds(members.retry_after) });
  }

  static noAnswer() { return new Problem(0, { code: "no_answer" }); }

  get action() { return this.#meaning[0]; }
  get text() { return this.#meaning[1]; }

  // A newer server may have more codes. For those, decide by the status.
  get #meaning() {
    if (Object.hasOwn(MEANINGS, this.code)) return MEANINGS[this.code];
    if (this.status === 401) return ["authorize", "Please sign in again."];
    if ([403, 404, 409, 410].includes(this.status)) return ["show", "We cannot do this right now."];
    if (this.status >= 400 && this.status < 500 && this.status !== 429) {
      return ["report", "Something is wrong with this app. Please update it."];
    }
    return ["later", "We cannot do this at the moment. Please try again later."];
  }

  /** Whether the same request may be sent again, with the same key. */
  get mayBeSentAgain() {
    return [0, 429, 503].includes(this.status) || this.code === "in_progress" || (this.status >= 500 && !this.code);
  }
}

/**
 * What a page should do:
 *   later      let the customer try again: after `retry_after` seconds, if given
 *   authorize  sign in again; a program with its own credential enrolls again
 *   enrol      start the enrollment again; after `taken`, use a new UUID
 *   correct    let the customer correct the number, or what `fields` names
 *   chooseTime offer other times: `alternatives`, or from `next_open` on
 *   look       request the record (`id`), and show its status
 *   maybe      show that the phone may ring, and do not repeat the request with a new key
 *   show       show the text; repeating the request does not help
 *   report     send `code` and `instance` to your error reports: the page or its configuration has a bug
 */
export const MEANINGS = {
  malformed_request: ["report", "Something is wrong with this app. Please update it."],
  invalid_json: ["report", "Something is wrong with this app. Please update it."],
  unauthenticated: ["authorize", "Please sign in again."],
  invalid_token: ["authorize", "Please sign in again."],
  invalid_client: ["authorize", "This phone is no longer registered. Please register it again."],
  invalid_proof: ["report", "Please update this app."],
  attestation_required: ["report", "Please update this app."],
  attestation_failed: ["show", "Please install this app from the official app store."],
  closed: ["chooseTime", "We are closed at this time. Please choose another."],
  denied: ["show", "This is not available to you. Please contact us."],
  number_not_proven: ["correct", "Please confirm that this phone number is yours."],
  consent_required: ["correct", "Please agree to be called first."],
  number_not_allowed: ["correct", "We cannot call this number. Please enter another."],
  no_agents: ["later", "All our agents are busy. Please try again in a minute."],
  stopped: ["later", "We are not taking requests right now."],
  not_found: ["show", "We can no longer find this call."],
  unknown_app: ["report", "Something is wrong with this app. Please update it."],
  method_not_allowed: ["report", "Something is wrong with this app. Please update it."],
  request_timeout: ["later", "Your connection is slow. Please try again."],
  too_many: ["show", "You have registered too many phones. Please remove one first."],
  taken: ["enrol", "This phone is registered to another user. Please try again."],
  request_expired: ["enrol", "Your code is no longer valid. Please ask for a new one."],
  already_delivered: ["enrol", "Your code is no longer valid. Please ask for a new one."],
  claim_expired: ["later", "This is no longer valid. Please try again."],
  challenge_expired: ["later", "This is no longer valid. Please try again."],
  duplicate: ["look", "You have already asked us to call this number."],
  in_progress: ["later", "We are still working on your call."],
  slot_full: ["chooseTime", "This time is taken. Please choose another."],
  too_late: ["look", "This call can no longer be changed."],
  no_device: ["report", "Please allow notifications for this app."],
  content_too_large: ["correct", "Your text is too long. Please shorten it."],
  target_too_long: ["report", "Something is wrong with this app. Please update it."],
  unsupported_media_type: ["report", "Something is wrong with this app. Please update it."],
  invalid_request: ["correct", "Please check what you entered."],
  idempotency_mismatch: ["report", "Something is wrong with this app. Please update it."],
  slow_down: ["later", "Please wait a moment."],
  rate_limited: ["later", "Too many requests. Please try again in a moment."],
  quota_exhausted: ["later", "You have asked for too many calls. Please try again later."],
  upstream_rate_limited: ["later", "We are getting a lot of calls right now. Please try again shortly."],
  fields_too_large: ["report", "Something is wrong with this app. Please update it."],
  internal: ["later", "Something went wrong on our side. Please try again later."],
  upstream_refused: ["show", "We cannot call you at the moment."],
  upstream_failed: ["look", "Something went wrong on our side."],
  upstream_unavailable: ["later", "We cannot call you at the moment. Please try again shortly."],
  audit_unavailable: ["later", "We cannot call you at the moment. Please try again shortly."],
  store_unavailable: ["later", "We cannot call you at the moment. Please try again shortly."],
  attestation_unavailable: ["later", "We cannot call you at the moment. Please try again shortly."],
  overloaded: ["later", "We are getting a lot of requests right now. Please try again shortly."],
  upstream_timeout: ["later", "We cannot call you at the moment. Please try again shortly."],
  outcome_unknown: ["maybe", "We may be calling you. Please keep your phone nearby."],
  no_answer: ["later", "We could not reach our server. Check your connection and try again."],
};

const sleep = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, seconds * 1000);
  signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

/** Values for `authorization`: a user's JWT, or the credential of a program on your own machine. Never put a secret into a page. */
export const bearer = (token) => `Bearer ${token}`;
export const basic = (user, password) =>
  `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${user}:${password}`)))}`;

/** Creates a key for this device, which signs a proof for each request (DPoP, RFC 9449). No script can read the private key. Save the pair
 * in IndexedDB before you enroll. */
export const makeKey = () => crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);

const utf8 = (text) => new TextEncoder().encode(text);
const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const sha256 = async (text) => base64url(await crypto.subtle.digest("SHA-256", utf8(text)));

// The public half, its members in the order of RFC 7638.
async function publicKey(pair) {
  const { crv, kty, x, y } = await crypto.subtle.exportKey("jwk", pair.publicKey);
  return { crv, kty, x, y };
}

/** The key's thumbprint (RFC 7638). */
export const thumbprint = async (pair) => sha256(JSON.stringify(await publicKey(pair)));

// The taps that were not sent yet. A tap from localStorage does not count: it may have been sent before the page was reloaded.
const unsent = new WeakSet();

/** One tap on "Call me". Save it before you send it, for example in localStorage, and delete it once its outcome is not `unanswered`. Its key
 * keeps the phone from ringing twice. `number` is E.164. `at`, a Date, is when the phone rings. */
export function tap(number, { context, at } = {}) {
  const made = { key: crypto.randomUUID(), created: Date.now(), body: { contact_phone_number: number, context, at: at?.toISOString() } };
  unsent.add(made);
  return made;
}

/** Whether a saved tap is older than an hour. Then discard it: the server remembers a key for 24 hours. After that, the phone would ring again. */
export const isExpired = ({ created }) => !(Math.abs(Date.now() - created) < 3_600_000);

export class Callgate {
  #base; #authorization; #appCheck; #key; #nonce; #fetch;
  #token; #renewal; #pausedUntil = 0; #lastFailure; #claim;

  /** `authorization` returns the header's value, or nothing. It is called before each request, so a renewed JWT is used at once. Create a new
   * Callgate when the user changes: this one holds the user's token. `key` is the pair of `makeKey`, if this device has one. `appCheck` returns
   * a Firebase App Check token, and is called before each request, since the SDK caches the token. If it returns none or fails, the request is
   * sent without. */
  constructor(base, { authorization = async () => undefined, appCheck = async () => undefined, key, fetch = globalThis.fetch.bind(globalThis) } = {}) {
    this.#base = base.replace(/\/$/, "");
    this.#authorization = authorization;
    this.#appCheck = appCheck;
    this.#key = key;
    this.#fetch = fetch;
  }

  /** A token for Talkdesk's SDK. Parallel calls share one request. After 80% of its lifetime, a token is renewed while it is still in use. */
  async token() {
    const now = Date.now(); // Unlike performance.now(), this includes the time when the machine sleeps.
    if (!this.#renewal && now >= this.#pausedUntil && now >= (this.#token?.renewAt ?? 0)) {
      this.#renewal = this.#fetchToken().finally(() => { this.#renewal = undefined; });
      this.#renewal.catch(() => {}); // Its callers get the error.
    }
    if (this.#token && now < this.#token.end) return this.#token.value;
    // No renewal is running, so the server asked for a pause: an earlier request would only be refused again.
    return this.#renewal ?? Promise.reject(this.#lastFailure);
  }

  async #fetchToken() {
    try {
      // Talkdesk's SDKs wait 30 seconds for a response.
      const answer = await this.#send("GET", "/access", { patience: 20 });
      return answer.status === 202 ? await this.#pushedToken(answer.asked) : this.#keep(answer);
    } catch (error) {
      this.#lastFailure = error;
      this.#pausedUntil = Date.now() + (error.retry_after ?? 1) * 1000;
      throw error;
    }
  }

  #keep(answer) {
    const { access_token, expires_in } = result(answer);
    if (!access_token || !(expires_in > 0)) throw Problem.noAnswer();
    this.#token = { value: access_token, renewAt: answer.asked + expires_in * 800, end: answer.asked + expires_in * 950 };
    return access_token;
  }

  /** Registers this device, for an app whose tokens arrive by push: at each start of the program, and whenever its token changes.
   * `platform` is "fcm", "apns" or "http". */
  async register(device, platform) {
    result(await this.#send("PUT", "/installations/self/push", { body: { platform, token: device } }));
  }

  /** Claims the token that a push announces. Pass the string `message` of each push. Returns false if the push is about something else. A
   * waiting `token()` gets the token. */
  async receive(message) {
    let notice;
    try { notice = JSON.parse(message); } catch { /* It is no notice of Callgate. */ }
    if (notice?._action !== "access") return false;
    const asked = Date.now();
    const token = this.#send("POST", "/access/claim", { body: { claim: notice._id } }).then((answer) => this.#keep(answer));
    this.#claim = { asked, token };
    await token;
    return true;
  }

  // Waits until `receive` has claimed a token. The push may arrive before the response that announces it.
  async #pushedToken(asked) {
    for (; Date.now() < asked + 25_000; await sleep(0.1)) {
      if (this.#claim?.asked >= asked) return this.#claim.token;
    }
    throw new Problem(410, { code: "claim_expired" });
  }

  /**
   * Requests a callback for a `tap`. The outcome is one of:
   *   { kind: "accepted", callback }   the phone rings; with `at`, at that time. Show its verification_code, if it has one.
   *   { kind: "maybe", problem }       the phone may ring: create a new tap only when the customer requests another call
   *   { kind: "refused", problem }     no call was requested
   *   { kind: "unanswered", problem }  the outcome is unknown: send the same tap again later
   * All but the first have a `text` for the customer and an `action` for the page. Do not use the text and action of `problem` instead: they
   * describe a single response.
   */
  async call(tap) {
    if (isExpired(tap)) return outcome("maybe", Problem.noAnswer());
    const { key, body } = tap;
    const wasUnsent = unsent.delete(tap);
    // The server can take up to 20 seconds to respond.
    const { content, problem = Problem.noAnswer(), wasLost } = await this.#send("POST", "/calls/callback", { key, body, patience: 60 });
    if (content?.id) return { kind: "accepted", callback: content };
    if (problem.code === "outcome_unknown") return outcome("maybe", problem);
    if (problem.code === "upstream_failed" && problem.id) {
      // Talkdesk returned an error. Only the record says whether Talkdesk may have accepted the call anyway.
      const record = await this.callback(problem.id).catch(() => undefined);
      return outcome(record?.status === "failed" ? "refused" : "maybe", problem);
    }
    // After a try without a response, a refusal proves nothing: the server may have accepted the earlier try.
    const isOpen = !wasUnsent || wasLost || ["in_progress", "no_answer"].includes(problem.code);
    return outcome(isOpen ? "unanswered" : "refused", problem);
  }

  /** The record of a callback; `status` is `accepted`, `scheduled`, `pending`, `failed`, `unknown`, `cancelled` or `expired`. */
  async callback(id) { return result(await this.#send("GET", `/callbacks/${encodeURIComponent(id)}`)); }

  /** Moves an appointment to a Date. `too_late` means that the call is in progress or over; `slot_full` has `alternatives`. */
  async move(id, at) { return result(await this.#send("PATCH", `/callbacks/${encodeURIComponent(id)}`, { body: { at: at.toISOString() } })); }

  /** Cancels an appointment. Once this returns, the phone never rings. `too_late` means that the call is in progress or over. */
  async cancel(id) { return result(await this.#send("DELETE", `/callbacks/${encodeURIComponent(id)}`)); }

  /** Whether to show the button now. With a span (two Dates, at most 31 days), also the times to book. */
  async availability(from, to) {
    const span = from ? `?from=${from.toISOString()}&to=${to.toISOString()}` : "";
    return result(await this.#send("GET", `/availability${span}`));
  }

  /**
   * Gets a credential for this device: { client_id, client_secret }. Pass it to `basic`. With the user's JWT as the authorization, this
   * returns at once. Otherwise `show` receives a code, which the customer reads to an operator, and this waits for the approval.
   * `app` is a name that the operator sees. `serverApp` is the app in the server's configuration, if more than one has installations.
   * `attest` returns a new Firebase App Check token, if the server requires one: `getLimitedUseToken(appCheck)`.
   * This is for kiosks and desktop programs. A page cannot store a secret: sign users in, and send their JWTs.
   */
  async enrol({ clientID = crypto.randomUUID(), app, detail, serverApp, attest, show, signal }) {
    // Send the same values in each request, byte for byte: the server compares them.
    const body = { client_id: clientID, client_app: app, client_detail: detail };
    if (this.#key) body.jkt = await thumbprint(this.#key);
    if (attest) body.attestation = { type: "app_check", token: await attest() };
    const path = "/fetch-code" + (serverApp ? `?app=${encodeURIComponent(serverApp)}` : "");
    for (;;) {
      const content = result(await this.#send("POST", path, { body, patience: 60, signal }));
      if (content.client_secret) return { client_id: clientID, client_secret: content.client_secret };
      if (!content.request_id) throw Problem.noAnswer();
      if (!body.request_id) await show(content.user_code);
      // Until the secret is delivered, anyone with this value can get it: hold it in memory only, and do not log it.
      body.request_id = content.request_id;
      delete body.attestation;
      await sleep(Math.min(seconds(content.interval) ?? 5, 600), signal);
    }
  }

  /** Revokes this device's credential. Delete the secret afterwards. */
  async unenrol() { result(await this.#send("DELETE", "/installations/self")); }

  // A proof for one request, signed with this device's key. Each proof works once.
  async #proof(method, path, authorization) {
    const url = new URL(this.#base + path, globalThis.location?.href);
    const claims = { jti: crypto.randomUUID(), htm: method, htu: url.origin + url.pathname, iat: Math.floor(Date.now() / 1000), nonce: this.#nonce };
    const token = /^(?:Bearer|DPoP) (.*)$/.exec(authorization ?? "")?.[1];
    if (token) claims.ath = await sha256(token);
    const header = { typ: "dpop+jwt", alg: "ES256", jwk: await publicKey(this.#key) };
    const input = [header, claims].map((part) => base64url(utf8(JSON.stringify(part)))).join(".");
    const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, this.#key.privateKey, utf8(input));
    return `${input}.${base64url(signature)}`;
  }

  // Retries a request only when that is safe: without a response, after 409 in_progress, 429 and 503, and after a proxy's error. Waits as
  // long as the server says, and starts no try that would exceed `patience` (seconds).
  async #send(method, path, { key, body, patience = 20, signal } = {}) {
    const end = Date.now() + patience * 1000;
    const headers = { Accept: "application/json" };
    // Read once: an Idempotency-Key belongs to one user.
    const authorization = await this.#authorization();
    if (authorization) headers.Authorization = authorization;
    const attestation = await Promise.resolve().then(this.#appCheck).catch(() => undefined);
    if (attestation) headers["X-Firebase-AppCheck"] = attestation;
    if (body) headers["Content-Type"] = "application/json";
    if (key) headers["Idempotency-Key"] = key;
    let wasLost = false;
    let hasNewNonce = false;
    for (let pause = 1; ; pause = Math.min(2 * pause, 8)) {
      let problem = Problem.noAnswer();
      const asked = Date.now(); // A token's lifetime counts from here: after a slow response, less of it is left.
      const limit = Math.min(25_000, Math.max(5_000, end - asked));
      if (this.#key) headers.DPoP = await this.#proof(method, path, authorization);
      try {
        const response = await this.#fetch(this.#base + path, {
          method, headers, body: body && JSON.stringify(body), cache: "no-store", signal: AbortSignal.timeout(limit),
        });
        const content = await response.json().catch(() => undefined);
        this.#nonce = response.headers.get("DPoP-Nonce") ?? this.#nonce;
        if (content?.code === "invalid_proof" && !hasNewNonce) {
          hasNewNonce = true;
          continue; // Nothing was done yet: send the same request with a proof for this nonce.
        }
        if (response.ok) return { content, status: response.status, asked, wasLost };
        problem = new Problem(response.status, content?.code ? content : { retry_after: response.headers.get("Retry-After") });
      } catch { /* No response: fetch gives no reason that could be relied on. */ }
      signal?.throwIfAborted();
      if (!problem.code || !problem.status) wasLost = true;
      const wait = problem.retry_after ?? pause;
      if (!problem.mayBeSentAgain || Date.now() + wait * 1000 >= end) return { problem, wasLost };
      await sleep(wait, signal);
    }
  }
}

// The pause that the server requests: whole seconds, at least one.
const seconds = (value) => /^[0-9]{1,9}$/.test(value) ? Math.max(1, Number(value)) : undefined;

// Only the text and action of `refused` may prompt the customer to tap again.
function outcome(kind, problem) {
  const code = { maybe: "outcome_unknown", unanswered: problem.code === "no_answer" ? "no_answer" : "in_progress" }[kind];
  const [action, text] = MEANINGS[code] ?? [problem.action, problem.text];
  return { kind, problem, text, action };
}

function result({ content, problem }) {
  if (problem) throw problem;
  return content ?? {};
}
