const mostDecisions = 200;

function forgetDecisions() { $("decision-rows").replaceChildren(); }

function showDecisions(decisions) {
  const rows = $("decision-rows");
  for (const decision of decisions) {
    // Decisions of several processes do not come in the order of their times.
    let next = rows.firstElementChild;
    while (next && next.dataset.time > decision.time) next = next.nextElementSibling;
    rows.insertBefore(decisionRow(decision), next);
  }
  while (rows.children.length > mostDecisions) rows.lastElementChild.remove();
}

function decisionRow(decision) {
  const line = tableRow([
    clock(decision.time), { badge: decision.decision, tone: tones[decision.decision] }, decision.action, decision.code,
    decision.rule, decision.caller, decision.app, decision.address, decision.contact,
    { number: milliseconds(decision.duration_ms / 1000) }, decision.request_id,
  ]);
  line.dataset.decision = decision.decision;
  line.dataset.time = decision.time;
  return line;
}

$("only-refusals").addEventListener("change", (event) => {
  $("decisions").classList.toggle("only-refusals", event.target.checked);
});
