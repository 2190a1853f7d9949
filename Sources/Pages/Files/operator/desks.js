function showDesks({ desks = [] }) {
  $("desks").hidden = desks.length === 0;
  const badge = (status) => status && { badge: { pass: "ok", warn: "failing" }[status] ?? status, tone: tones[status] };
  const rest = (seconds) => seconds === undefined ? "" : `, next try in ${span(seconds)}`;
  table("desk-rows", desks.map((desk) => [
    `${desk.desk}, ${several(desk.users, "user", "users")}`, badge(desk.status),
    [desk.last_request ?? "none yet", ago(desk.last_request_age_seconds)].filter(Boolean).join(", ") + rest(desk.cool_down_seconds),
    badge(desk.tickets),
  ]), 4, "none");
}
