// How callbacks ended since the start, and how much of each brake is in use.
const periods = { number: "a day to one number", burst: "in 5 minutes", hour: "an hour", lookups: "an hour" };

function showCallbacks(state) {
  const tiles = Object.entries(state.callback_counts).map(([name, number]) => [name, count(number)]);
  update("callback-facts", tiles, () => tiles.map(makeTile));
  update("brakes", state.brakes, () => Object.keys(periods).map((name) => brakeItem(name, state.brakes.find(({ brake }) => brake === name)) ?? ""));
}

function brakeItem(name, brake) {
  // Lookups are listed only where a rule has numbers looked up.
  if (!brake) return name === "lookups" ? null : make("li", `${name}: off`);
  const share = brake.used_ratio;
  const item = make("li", `${name}: ${count(brake.limit)} ${periods[name]}`);
  if (share === undefined) return item;
  const tone = share >= 1 ? "bad" : share >= 0.5 ? "warn" : "";
  item.append(", ", make("span", share >= 1 ? "used up" : `${Math.round(share * 100)}% used`, tone && "badge " + tone));
  const bar = make("progress", null, tone);
  bar.max = 1;
  bar.value = share;
  bar.setAttribute("aria-label", `${name} used`);
  item.append(bar);
  return item;
}
