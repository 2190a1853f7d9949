// SPDX-License-Identifier: MIT
// Runs everything that a client does with Callgate, and prints the results. It approves its own enrollment in the sandbox.
//   node demo.mjs [URL [STEP [PHONE_NUMBER]]]   STEP: token, callback, availability, appointment, enrolment, push, renewal or again

import { Callgate, Problem, basic, tap } from "./callgate.mjs";

// Node 18 has no global crypto.
globalThis.crypto ??= (await import("node:crypto")).webcrypto;

const [base = "http://localhost:8080", step, number = `+1415555${Math.floor(1000 + Math.random() * 9000)}`] = process.argv.slice(2);
// A Firebase App Check token. In your program, the SDK returns it. `POST /_sandbox/attest` makes one.
const appCheck = async () => process.env.CALLGATE_APP_CHECK;
const callgate = new Callgate(base, { appCheck });
const tomorrow = new Date(Date.now() + 86_400_000);

const told = ({ code }, { text, action }) => `${code}: ${text} (${action})`;
const describe = (outcome) => {
  const { kind, callback, problem } = outcome;
  return callback ? `${callback.status} ${callback.id}` : `${kind}, ${told(problem, outcome)}`;
};

// Approves an enrollment, as an operator would.
const approve = (code) => fetch(`${base}/_sandbox/installations/approve`, { method: "POST", body: JSON.stringify({ user_code: code }) });

// The message of a device's first push, as the system passes it to the program.
async function pushed(device) {
  for (let time = 0; time < 100; time += 1) {
    const { notices } = await (await fetch(`${base}/_sandbox/notices`)).json();
    const mine = notices.find((notice) => notice.device?.slice(-4) === device.slice(-4));
    if (mine?.message) return mine.message;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Problem(410, { code: "claim_expired" });
}

const steps = {
  async token() {
    // Fifty parts of a page need a token at once, and the server gets one request.
    const tokens = new Set(await Promise.all(Array.from({ length: 50 }, () => callgate.token())));
    console.log(`token: 50 requests, ${tokens.size} token of ${[...tokens][0].length} characters`);
  },
  async renewal() {
    // A page that stays open until its token is renewed.
    const first = await callgate.token();
    while (await callgate.token() === first) await new Promise((resolve) => setTimeout(resolve, 100));
    console.log("renewal: another token");
  },
  async callback() {
    console.log(`callback: ${describe(await callgate.call(tap(number, { context: { issue: "My flight was canceled" } })))}`);
  },
  async again() {
    // A page that sends its tap twice, and after a reload the saved tap, until its outcome is known.
    const call = tap(number);
    const saved = JSON.stringify(call);
    for (const one of [call, call, JSON.parse(saved), JSON.parse(saved)]) {
      console.log(`again: ${describe(await new Callgate(base, { appCheck }).call(one))}`);
    }
  },
  async availability() {
    const { open, slots = [] } = await callgate.availability(tomorrow, new Date(+tomorrow + 3_600_000));
    console.log(`availability: ${open ? "open" : "closed"}, ${slots.length} times tomorrow`);
  },
  async appointment() {
    const outcome = await callgate.call(tap(number, { at: tomorrow }));
    console.log(`appointment: ${describe(outcome)}`);
    if (!outcome.callback) return;
    const { id, at } = outcome.callback;
    console.log(`appointment: moved to ${(await callgate.move(id, new Date(+new Date(at) + 3_600_000))).at}`);
    console.log(`appointment: ${(await callgate.cancel(id)).status}`);
  },
  async enrolment() {
    const phone = await callgate.enrol({
      app: "JavaScript example", attest: await appCheck() && appCheck,
      async show(code) {
        console.log(`enrolment: tell an operator the code ${code}`);
        await approve(code);
      },
    });
    const authorization = () => basic(phone.client_id, phone.client_secret);
    const enrolled = new Callgate(base, { authorization, appCheck });
    console.log(`enrolment: this device has a credential, and its own token of ${(await enrolled.token()).length} characters`);
    await enrolled.unenrol();
    await new Callgate(base, { authorization, appCheck }).token().catch((problem) => console.log(`enrolment: afterwards ${told(problem, problem)}`));
  },
  async push() {
    const phone = await callgate.enrol({ app: "JavaScript example", serverApp: "example-app-push", show: approve });
    const enrolled = new Callgate(base, { authorization: () => basic(phone.client_id, phone.client_secret), appCheck });
    const device = `javascript-${crypto.randomUUID()}`;
    await enrolled.register(device, "fcm");
    // What the system calls when a push arrives.
    const delivery = pushed(device).then(async (message) => (await enrolled.receive(message)) && message);
    delivery.catch(() => {});
    console.log(`push: a notice came, and a token of ${(await enrolled.token()).length} characters`);
    await enrolled.receive(await delivery).catch((problem) => console.log(`push: the same notice once more: ${told(problem, problem)}`));
  },
};

try {
  for (const name of step ? [step] : ["token", "callback", "availability", "appointment", "enrolment", "push"]) await steps[name]();
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  console.log(`refused, ${told(error, error)}`);
  process.exit(1); // Something may still wait for a push.
}
