const words = { pass: "ready", warn: "ready, with warnings", fail: "not ready" };

function showNow(state) {
  put($("health"), words[state.status] ?? state.status);
  $("health").className = "badge " + (tones[state.status] ?? "");
  update("stopped", state.stops.map(stopText), () =>
    state.stops.length === 0 ? [] : [make("p", state.stops.map(stopText).join(" "), "notice bad")]);
  $("stopped").hidden = state.stops.length === 0;
  const tiles = [openTile(state), ...trafficTiles(state), ...workTiles(state)];
  update("tiles", tiles, () => tiles.map(makeTile));
}

function makeTile([name, value, more]) {
  const tile = make("div");
  const data = make("dd", value);
  if (more) data.append(make("small", more));
  tile.append(make("dt", name), data);
  return tile;
}

// One answer where all apps and callers have the same hours.
function openTile({ openings, stops }) {
  const stopped = stops.some((stop) => stop.scope === "all" && ["all", "callback"].includes(stop.action));
  if (stopped) return ["Callbacks", "stopped", "by an operator"];
  if (openings.length === 0) return ["Callbacks", "–", "no caller is configured"];
  const open = openings.filter((opening) => opening.open);
  const changes = openings.map((opening) => opening.next_change).filter(Boolean).sort();
  const next = changes.length > 0 ? `next change ${moment(changes[0])}` : "no change scheduled";
  if (open.length === openings.length) return ["Callbacks", "open", next];
  if (open.length === 0) return ["Callbacks", "closed", next];
  return ["Callbacks", `open for ${open.length} of ${openings.length}`, next];
}

function trafficTiles({ last_hour: hour, latency }) {
  const sum = (name) => hour.minutes.reduce((total, minute) => total + minute[name], 0);
  const [allow, deny, error] = [sum("allow"), sum("deny"), sum("error")];
  const access = latency.find((entry) => entry.route === "/access");
  return [
    ["Decisions, last hour", String(allow + deny + error), `${allow} allowed, ${deny} denied, ${error} errors`],
    ["Latency of /access", access ? milliseconds(access.p99_seconds) : "–", access ? "99 % take at most this" : "no request yet"],
  ];
}

function workTiles({ appointments, installations }) {
  const tiles = [];
  if (appointments) tiles.push(["Appointments", String(appointments.scheduled), `${appointments.pending} being called now`]);
  if (installations) tiles.push(["Installations", String(installations.active), `${installations.pending} waiting for approval`]);
  return tiles;
}
