// The operator's card with tokens, upstream services and latency.

extension OperatorCard {
  /// What the server holds and whom it asks.
  static let services = OperatorCard(
    html: #"""
      <section class="card" aria-labelledby="services-title">
      <h2 id="services-title">Tokens and services</h2>
      <h3 id="tokens-title">Talkdesk tokens</h3>
      <div class="scroll" tabindex="0" role="region" aria-labelledby="tokens-title">
      <table><thead><tr><th scope="col">Scope</th><th scope="col">Last exchange</th><th scope="col">Age</th>
      <th scope="col">Expires in</th></tr></thead><tbody id="scopes"></tbody></table></div>
      <h3 id="upstreams-title">Services behind the server</h3>
      <div class="scroll" tabindex="0" role="region" aria-labelledby="upstreams-title">
      <table><thead><tr><th scope="col">Service</th><th scope="col">Last success</th><th scope="col">Since the start</th></tr></thead>
      <tbody id="upstreams"></tbody></table></div>
      <h3 id="latency-title">Latency, last hour</h3>
      <div class="scroll" tabindex="0" role="region" aria-labelledby="latency-title">
      <table><thead><tr><th scope="col">Route</th><th scope="col" class="number">Responses</th><th scope="col" class="number">50 %</th>
      <th scope="col" class="number">95 %</th><th scope="col" class="number">99 %</th></tr></thead>
      <tbody id="latencies"></tbody></table></div>
      </section>
      """#,
    script: #"""
      function showServices(state) {
        table("scopes", state.tokens.map((scope) => [
          scope.scope,
          { badge: scope.last_exchange ?? "none yet", tone: scope.last_exchange === "success" ? "good" : scope.last_exchange ? "bad" : "" },
          ago(scope.last_exchange_age_seconds),
          scope.cool_down_seconds === undefined ? span(scope.token_expires_in_seconds) : `cools down for ${span(scope.cool_down_seconds)}`,
        ]), 4, "none yet");
        table("upstreams", state.upstreams.map((service) => [
          service.upstream, service.last_success ? moment(service.last_success) : "never",
          Object.entries(service.outcomes).map(([outcome, count]) => `${count} ${outcome}`).join(", "),
        ]), 3, "none asked yet");
        table("latencies", state.latency.map((entry) => [
          entry.route, { number: entry.count },
          ...["p50", "p95", "p99"].map((share) => ({ number: milliseconds(entry[share + "_seconds"]) })),
        ]), 5, "no request yet");
      }
      """#)
}
