const periods = { number: "to one number in a day", burst: "in 5 minutes", hour: "in an hour" };

function showCallbacks(state) {
  const tiles = [
    ...Object.entries(state.callbacks), ...Object.entries(state.appointments ?? {}),
  ].map(([name, count]) => [name, String(count)]);
  update("callback-facts", tiles, () => tiles.map(makeTile));
  showBrakes(state.brakes);
}

function showBrakes(brakes) {
  update("brakes", brakes, () => {
    if (brakes.length === 0) return [make("li", "All brakes are off.", "empty")];
    return brakes.map((brake) => {
      const share = brake.used_ratio;
      const used = share === undefined ? "" : `, ${Math.round(share * 100)} % used`;
      const item = make("li", `${brake.brake}: ${brake.limit} ${periods[brake.brake] ?? ""}${used}`);
      if (share === undefined) return item;
      const bar = make("progress");
      bar.max = 1;
      bar.value = share;
      bar.setAttribute("aria-label", `${brake.brake} used`);
      item.append(bar);
      return item;
    });
  });
}
