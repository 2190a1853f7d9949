// The operator's card with callbacks by state, and the brakes.

extension OperatorCard {
  /// How callbacks ended since the start, appointments that wait, and how much of each brake is in use.
  static let callbacks = OperatorCard(
    html: #"""
      <section class="card" aria-labelledby="callbacks-title">
      <h2 id="callbacks-title">Callbacks since the start</h2>
      <dl id="callback-facts" class="tiles"></dl>
      <h3>Brakes</h3>
      <ul id="brakes" class="plain"></ul>
      </section>
      """#,
    script: #"""
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
      """#)
}
