// How the server does, in a few large figures, and which server it is.
const words = { pass: "ready", warn: "ready, with warnings", fail: "not ready" };

function showNow(state) {
  put($("health"), words[state.status] ?? state.status);
  // What is well needs no color here: the list of problems says it once.
  $("health").className = "badge " + (state.status === "pass" ? "" : tones[state.status] ?? "");
  const { instance, version, account, region } = state.server;
  const apart = Math.abs(serverAhead) / 1000;
  put($("identity"), [
    instance, `Callgate ${version}`, account && `account ${account}`, region,
    apart >= 10 && `times are the server's; your browser's clock is ${span(apart)} ${serverAhead > 0 ? "behind" : "ahead"}`,
  ].filter(Boolean).join(" · "));
  const tiles = [openTile(state), ...trafficTiles(state), ...workTiles(state)];
  update("tiles", [tiles, isUTC], () => tiles.map(makeTile));
}

function makeTile([name, value, more, tone]) {
  const data = make("dd", value, tone ?? "");
  if (more) data.append(make("small", more));
  return box("div", "", make("dt", name), data);
}

// One answer where all apps and callers have the same hours.
function openTile({ openings, callbacks }) {
  const open = openings.filter((opening) => opening.open);
  const changes = openings.map((opening) => opening.next_change).filter(Boolean).sort();
  const next = changes.length > 0 ? `hours change at ${moment(changes[0])}` : "hours don't change";
  const some = open.length > 0 && open.length < openings.length ? `open for ${open.length} of ${openings.length}, ` : "";
  const more = { failing: "see the reason above", held: "some or all are refused, see above" }[callbacks] ?? some + next;
  return ["Callbacks", callbacks, more, "state " + (outlook[callbacks] ?? "")];
}

function trafficTiles({ last_hour: hour, latency }) {
  const sum = (name) => hour.minutes.reduce((total, minute) => total + minute[name], 0);
  const [allow, deny, error] = [sum("allow"), sum("deny"), sum("error")];
  const access = latency.find((entry) => entry.route === "/access");
  return [
    ["Decisions, last hour", count(allow + deny + error), `${count(allow)} allowed, ${count(deny)} denied, ${several(error, "error", "errors")}`],
    ["Latency of /access, p99", access ? atMost(access.p99_seconds) : "–",
      access ? `of ${several(access.count, "request", "requests")}` : "no requests yet"],
  ];
}

const attestations = { app_check: "App Check", app_attest: "App Attest", play_integrity: "Play Integrity", key: "Phones' keys" };

function workTiles({ appointments, installations, trust }) {
  const tiles = [];
  if (appointments) tiles.push(["Appointments", count(appointments.scheduled), `${count(appointments.pending)} being called now`]);
  if (installations) tiles.push(["Installations", count(installations.active), `${count(installations.pending)} waiting for approval`]);
  for (const { kind, judged, failed } of trust ?? []) {
    tiles.push([attestations[kind] ?? kind, `${count(failed)} of ${count(judged)}`, kind === "key" ? "failed; required refuses them" : "failed; enforce refuses them, audit only counts them"]);
  }
  return tiles;
}
