// The demo page's card for clients of Genesys Mobile Services.

extension DemoCard {
  /// Books, finds and cancels a callback as a GMS client does.
  static let gms = DemoCard(
    html: #"""
      <section class="card" aria-labelledby="gms-title">
      <h2 id="gms-title">More: a GMS client</h2>
      <p>An app that speaks with Genesys Mobile Services needs another base URL. It asks for the service <code>support</code>.</p>
      <label for="gms-number">Number</label>
      <input id="gms-number" type="tel" value="+14155550123" autocomplete="off">
      <p class="row"><button type="button" id="gms-book" class="primary">Book for tomorrow</button>
      <button type="button" id="gms-find">Find</button>
      <button type="button" id="gms-cancel" disabled>Cancel</button>
      <span id="gms-status" class="result" role="status"></span></p>
      <pre id="gms-answer" tabindex="0" role="group" aria-label="Response body" hidden></pre>
      </section>
      """#,
    script: #"""
      const gmsService = "/genesys/1/service/callback/support";
      let gmsID = null;

      function gmsSend(method, path, body) {
        return attempt("gms-status", async () => {
          const answer = await ask(method, path, body);
          showAnswer("gms-answer", answer.text);
          if (method === "POST" && answer.ok) gmsID = JSON.parse(answer.text)._id;
          if (method === "DELETE" && answer.ok) gmsID = null;
          $("gms-cancel").disabled = gmsID === null;
          return [String(answer.status), answer.ok];
        });
      }

      $("gms-book").addEventListener("click", () => gmsSend("POST", gmsService, {
        _customer_number: $("gms-number").value.trim(),
        _desired_time: new Date(gatewayTime() + 86400000).toISOString(),
      }));
      $("gms-find").addEventListener("click", () => gmsSend(
        "GET", `${gmsService}?_customer_number=${encodeURIComponent($("gms-number").value.trim())}`));
      $("gms-cancel").addEventListener("click", () => gmsSend("DELETE", `${gmsService}/${gmsID}`));
      """#)
}
