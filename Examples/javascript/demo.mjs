// Goes through everything that a client does with a Callgate server, and prints it. The sandbox approves its enrolment by itself.
//   node demo.mjs [URL [STEP [PHONE_NUMBER]]]   STEP: token, callback, availability, appointment, enrolment, renewal or again

import { Callgate, Problem, basic, tap } from "./callgate.mjs";

// Node 18 has it under another name only.
globalThis.crypto ??= (await import("node:crypto")).webcrypto;

const [base = "http://localhost:8080", step, number = `+1415555${Math.floor(1000 + Math.random() * 9000)}`] = process.argv.slice(2);
const callgate = new Callgate(base);
const tomorrow = new Date(Date.now() + 86_400_000);

const told = ({ code }, { text, action }) => `${code}: ${text} (${action})`;
const describe = (outcome) => {
  const { kind, callback, problem } = outcome;
  return callback ? `${callback.status} ${callback.id}` : `${kind}, ${told(problem, outcome)}`;
};

const steps = {
  async token() {
    // Fifty parts of a page ask at once, and the server is asked once.
    const tokens = new Set(await Promise.all(Array.from({ length: 50 }, () => callgate.token())));
    console.log(`token: 50 requests, ${tokens.size} token of ${[...tokens][0].length} characters`);
  },
  async renewal() {
    // A page that stays open, until its token is another one.
    const first = await callgate.token();
    while (await callgate.token() === first) await new Promise((resolve) => setTimeout(resolve, 100));
    console.log("renewal: another token");
  },
  async callback() {
    console.log(`callback: ${describe(await callgate.call(tap(number, { context: { issue: "My flight was cancelled" } })))}`);
  },
  async again() {
    // A page that sends its tap, the same once more, and after it is loaded again the saved one until its outcome is known.
    const call = tap(number);
    const saved = JSON.stringify(call);
    for (const one of [call, call, JSON.parse(saved), JSON.parse(saved)]) {
      console.log(`again: ${describe(await new Callgate(base).call(one))}`);
    }
  },
  async availability() {
    const { open, slots = [] } = await callgate.availability(tomorrow, new Date(+tomorrow + 3_600_000));
    console.log(`availability: ${open ? "open" : "closed"}, ${slots.length} times tomorrow`);
  },
  async appointment() {
    const outcome = await callgate.call(tap(number, { at: tomorrow }));
    console.log(`appointment: ${describe(outcome)}`);
    if (outcome.callback) console.log(`appointment: ${(await callgate.cancel(outcome.callback.id)).status}`);
  },
  async enrolment() {
    const phone = await callgate.enrol({
      app: "JavaScript example",
      async show(code) {
        console.log(`enrolment: tell an operator the code ${code}`);
        await fetch(`${base}/_sandbox/installations/approve`, { method: "POST", body: JSON.stringify({ user_code: code }) });
      },
    });
    const authorization = () => basic(phone.client_id, phone.client_secret);
    const enrolled = new Callgate(base, { authorization });
    console.log(`enrolment: this device has a credential, and its own token of ${(await enrolled.token()).length} characters`);
    await enrolled.unenrol();
    await new Callgate(base, { authorization }).token().catch((problem) => console.log(`enrolment: afterwards ${told(problem, problem)}`));
  },
};

try {
  for (const name of step ? [step] : ["token", "callback", "availability", "appointment", "enrolment"]) await steps[name]();
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  console.log(`refused, ${told(error, error)}`);
  process.exitCode = 1;
}
