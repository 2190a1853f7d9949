function showConfiguration(state) {
  const { generation, files, last_reload: last } = state.configuration;
  facts("configuration-facts", [
    ["configuration number", String(generation)],
    ["last reload", last ? `${last.status} at ${moment(last.time)}` : "none since startup"],
    ["problems", (last?.problems ?? []).join(" ")],
    ["needs a restart", (last?.restart_needed ?? []).join(", ")],
    ["files", files.join(", ") || "none"], ["started", moment(state.started)],
    ["store", state.store.kind + (state.store.failure ? `: ${state.store.failure}` : "")],
  ]);
  table("rules", state.rules.map((rule) => [rule.name, rule.kind, rule.mode]), 3, "no rules");
}

const reload = () => attempt("reload-status", async () => {
  const answer = await ask("POST", "/admin/reload", {});
  const lines = answer.ok
    ? [...answer.content.notices, ...answer.content.restart_needed.map((name) => `Restart the server to change ${name}.`)]
    : (answer.content?.fields ?? []).map((field) => `${field.name}: ${field.description}`);
  update("reload-lines", lines, () => lines.map((line) => make("li", line)));
  if (answer.ok) return [`200: now using configuration number ${answer.content.generation}`, true];
  return [lines.length > 0 ? `${answer.status}: still using the old configuration` : problem(answer), false];
});

$("reload").addEventListener("click", reload);
