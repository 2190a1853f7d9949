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
