// The last decisions of all processes that answered, the newest first: filtered, opened, explained, downloaded.
const mostDecisions = 500;
// Of each row, for what is made when it is opened: most never are.
const decisionOf = new WeakMap();
let decisionsHeld = [];

function forgetDecisions() {
  decisionsHeld = [];
  $("decision-rows").replaceChildren();
  $("found-decisions").replaceChildren();
}

// Writes every time again, in another zone.
function redrawDecisions() {
  const held = decisionsHeld.map(({ decision }) => decision);
  forgetDecisions();
  showDecisions(held);
}

function showDecisions(decisions) {
  if (decisions.length === 0) return;
  const rows = $("decision-rows");
  const wanted = chosenDecisions();
  for (const decision of decisions) {
    const item = decisionItem(decision);
    item.hidden = !wanted(decision);
    // Decisions of several processes do not come in the order of their times.
    let next = rows.firstElementChild;
    while (next && next.dataset.time > decision.time) next = next.nextElementSibling;
    rows.insertBefore(item, next);
    decisionsHeld.push({ decision, item });
  }
  decisionsHeld.sort((a, b) => (a.decision.time < b.decision.time ? 1 : -1));
  for (const { item } of decisionsHeld.splice(mostDecisions)) item.remove();
  for (const name of ["action", "code", "caller", "app"]) offer(name);
  countDecisions();
}

// The values that the held decisions have, in a filter.
function offer(name) {
  const select = $(`filter-${name}`);
  const values = [...new Set(decisionsHeld.map(({ decision }) => decision[name]).filter(Boolean))].sort();
  if (select.value && !values.includes(select.value)) values.push(select.value);
  const chosen = select.value;
  update(`filter-${name}`, values, () => ["", ...values].map((value) => {
    const option = make("option", value || "any");
    option.value = value;
    return option;
  }));
  select.value = chosen;
}

function chosenDecisions() {
  const words = $("filter-text").value.trim().toLowerCase();
  const outcome = $("filter-decision").value;
  const chosen = ["action", "code", "caller", "app"].map((name) => [name, $(`filter-${name}`).value]).filter(([, value]) => value);
  return (decision) => chosen.every(([name, value]) => decision[name] === value)
    && (!outcome || (outcome === "refused" ? decision.decision !== "allow" : decision.decision === outcome))
    && (!words || Object.values(decision).some((value) => typeof value === "string" && value.toLowerCase().includes(words)));
}

function filterDecisions() {
  const wanted = chosenDecisions();
  for (const { decision, item } of decisionsHeld) item.hidden = !wanted(decision);
  countDecisions();
}

function countDecisions() {
  const seen = decisionsHeld.filter(({ item }) => !item.hidden).length;
  put($("decision-count"), `${count(seen)} of ${several(decisionsHeld.length, "decision", "decisions")} on this page.`);
}

function decisionItem(decision) {
  const details = make("details");
  const line = make("summary");
  line.append(
    make("time", moment(decision.time)), make("span", decision.decision, "badge " + tones[decision.decision]),
    make("span", decision.action), make("span", [decision.code, decision.rule && `(${decision.rule})`].filter(Boolean).join(" ") || "–"),
    stranger([decision.caller, decision.app].filter(Boolean).join(" / ") || "–"));
  details.append(line);
  decisionOf.set(details, decision);
  const item = box("li", "", details);
  item.dataset.decision = decision.decision;
  item.dataset.time = decision.time;
  return item;
}

function decisionFacts(decision) {
  const list = make("dl");
  list.append(...pairsOf([
    ["time", whole(decision.time)], ["request id", decision.request_id && make("code", decision.request_id)],
    ["subject", decision.subject && stranger(decision.subject)], ["installation", decision.installation],
    ["address", decision.address], ["operator", decision.operator && box("span", "", stranger(decision.operator), `, ${decision.by}`)], ["number", decision.contact], ["callback", decision.callback], ["ticket", decision.ticket],
    ["conversation", decision.conversation && stranger(decision.conversation)],
    ["consent", decision.consent && `${decision.consent.text}, ${whole(decision.consent.at)}`],
    ["reason", decision.reason && stranger(decision.reason)], ["token", decision.cache === "none" ? "" : `cache ${decision.cache}`],
    ["Talkdesk's status", decision.upstream_status], ["took", milliseconds(decision.duration_ms / 1000)],
    ["trace", decision.trace_id],
  ]));
  const verdicts = make("ul", null, "plain");
  for (const { rule, verdict } of decision.verdicts ?? []) {
    verdicts.append(box("li", "", make("span", verdict, "badge " + ({ allow: "good", deny: "warn", would_deny: "warn" }[verdict] ?? "")), " ", rule));
  }
  if (verdicts.children.length === 0) verdicts.append(make("li", "no rule was evaluated", "empty"));
  const reasons = make("div");
  const parts = [list, make("h3", "Verdicts at the time"), verdicts];
  if (["access", "callback", "ticket", "enrol"].includes(decision.action)) {
    parts.push(box("p", "row", button("Why…", "small", () => explain(decision, reasons))), reasons);
  }
  if (decision.contact) parts.push(box("p", "row", blockButton(decision.contact)));
  return box("div", "opened", ...parts);
}

// Asks the rules of now, at the time of the decision, with the facts that the audit line has.
async function explain(decision, place) {
  const inquiry = { action: decision.action, caller: decision.caller ?? "anonymous", at: decision.time };
  for (const name of ["app", "address"]) if (decision[name]) inquiry[name] = decision[name];
  if (inquiry.caller === "installation" && decision.installation) inquiry.installation = decision.installation;
  if (decision.subject && decision.subject !== decision.caller) inquiry.subject = decision.subject;
  place.replaceChildren(make("p", "asking…", "soft"));
  try {
    const answer = await ask("POST", "/admin/explain", inquiry);
    if (!answer.ok) return place.replaceChildren(make("p", problem(answer), "result bad"));
    const { reason, verdicts } = answer.content;
    place.replaceChildren(
      make("p", `Today's rules, applied to ${whole(decision.time)} with the facts that the server recorded. `
        + "It does not record claims, headers or full phone numbers, and it uses current counts, so the result may differ.", "soft"),
      box("p", "", make("strong", reason)),
      box("ul", "plain", ...verdicts.map((one) => make("li", `${one.rule}: ${one.verdict}. ${one.reason}`))));
  } catch {
    place.replaceChildren(make("p", "The server is not responding.", "result bad"));
  }
}

async function findDecision(event) {
  event.preventDefault();
  $("found-decisions").replaceChildren();
  say("find-decision-status", "sending…");
  try {
    const answer = await ask("GET", "/admin/decisions?request_id=" + encodeURIComponent($("request-id").value.trim()));
    if (answer.status === 404) return say("find-decision-status", "Not among the last 10,000 decisions of this instance. Search the log for it.", false);
    if (!answer.ok) return say("find-decision-status", problem(answer), false);
    say("find-decision-status", several(answer.content.decisions.length, "decision", "decisions"), true);
    for (const decision of answer.content.decisions) {
      const item = decisionItem(decision);
      item.firstElementChild.open = true;
      $("found-decisions").append(item);
    }
  } catch {
    say("find-decision-status", "The server is not responding.", false);
  }
}

document.addEventListener("toggle", ({ target }) => {
  const decision = decisionOf.get(target);
  if (decision && target.open && target.children.length === 1) target.append(decisionFacts(decision));
}, true);
const seenDecisions = () => decisionsHeld.filter(({ item }) => !item.hidden).map(({ decision }) => decision);
$("find-decision").addEventListener("submit", findDecision);
for (const name of ["text", "decision", "action", "code", "caller", "app"]) {
  for (const event of ["input", "change"]) $(`filter-${name}`).addEventListener(event, filterDecisions);
}
$("decisions-csv").addEventListener("click", () => download("decisions", "csv", seenDecisions()));
$("decisions-json").addEventListener("click", () => download("decisions", "json", seenDecisions()));
