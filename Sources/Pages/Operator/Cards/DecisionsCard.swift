// The operator's card with the last decisions.

extension OperatorCard {
  /// The last 200 decisions of all processes that answered, the newest first.
  static let decisions = OperatorCard(
    html: #"""
      <section class="card" aria-labelledby="decisions-title">
      <h2 id="decisions-title">Recent decisions</h2>
      <label class="check"><input id="only-refusals" type="checkbox"> Only refusals and errors</label>
      <div id="decision-scroll" class="scroll" tabindex="0" role="group" aria-label="Table of decisions">
      <table id="decisions"><thead><tr><th scope="col">Time</th><th scope="col">Decision</th><th scope="col">Action</th>
      <th scope="col">Code</th><th scope="col">Rule</th><th scope="col">Caller</th><th scope="col">App</th>
      <th scope="col">Address</th><th scope="col">Number</th><th scope="col" class="number">Took</th>
      <th scope="col">Request id</th></tr></thead><tbody id="decision-rows"></tbody></table></div>
      <p class="soft">The last 200 that this page has read. The log has each one under its request id.</p>
      </section>
      """#,
    script: #"""
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
      """#)
}
