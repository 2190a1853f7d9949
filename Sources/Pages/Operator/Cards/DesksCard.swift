// The operator's card with the chat desks.

extension OperatorCard {
  /// How each chat desk does. Hidden where there are none.
  static let desks = OperatorCard(
    html: #"""
      <section id="desks" class="card" aria-labelledby="desks-title" hidden>
      <h2 id="desks-title">Chat desks</h2>
      <div class="scroll" tabindex="0" role="group" aria-label="Table of desks">
      <table><thead><tr><th scope="col">Desk</th><th scope="col">Session tokens</th><th scope="col">Last request</th><th scope="col">Age</th>
      <th scope="col" class="number">Users</th><th scope="col">Tickets</th></tr></thead><tbody id="desk-rows"></tbody></table></div>
      </section>
      """#,
    script: #"""
      function showDesks({ desks = [] }) {
        $("desks").hidden = desks.length === 0;
        const badge = (status) => status && { badge: { pass: "ok", warn: "failing" }[status] ?? status, tone: tones[status] };
        const rest = (seconds) => seconds === undefined ? "" : `, cools down for ${span(seconds)}`;
        table("desk-rows", desks.map((desk) => [
          desk.desk, badge(desk.status),
          `${desk.last_request ?? "none yet"}${rest(desk.cool_down_seconds)}`,
          ago(desk.last_request_age_seconds), { number: desk.users }, badge(desk.tickets),
        ]), 6, "none");
      }
      """#)
}
