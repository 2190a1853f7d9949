function showServices(state) {
  table("scopes", state.tokens.map((scope) => [
    scope.scope,
    { badge: scope.last_exchange ?? "none yet", tone: scope.last_exchange === "success" ? "good" : scope.last_exchange ? "bad" : "" },
    ago(scope.last_exchange_age_seconds),
    scope.cool_down_seconds === undefined ? span(scope.token_expires_in_seconds) : `next try in ${span(scope.cool_down_seconds)}`,
  ]), 4, "none yet");
  table("upstreams", state.upstreams.map((service) => [
    service.upstream, service.last_success ? moment(service.last_success) : "never",
    Object.entries(service.outcomes).map(([outcome, number]) => `${count(number)} ${outcome}`).join(", "),
  ]), 3, "none used yet");
  table("latencies", state.latency.map((entry) => [
    entry.route, { number: count(entry.count) },
    ...["p50", "p95", "p99"].map((share) => ({ number: atMost(entry[share + "_seconds"]) })),
  ]), 5, "no requests yet");
}
