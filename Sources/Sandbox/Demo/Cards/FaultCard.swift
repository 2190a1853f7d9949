// The demo page's card that makes the emulated Talkdesk misbehave.

extension DemoCard {
  /// Queues faults, and forgets them and the cached token.
  static let faults = DemoCard(
    html: #"""
      <section class="card" aria-labelledby="fault-title">
      <h2 id="fault-title">Make Talkdesk misbehave</h2>
      <p>The next request to Talkdesk meets the fault. While Callgate holds a token, it requests no other. Forget the
      cached token first.</p>
      <h3 id="token-faults-title">Next token request</h3>
      <div id="token-faults" class="row" role="group" aria-labelledby="token-faults-title"></div>
      <h3 id="callback-faults-title">Next callback</h3>
      <div id="callback-faults" class="row" role="group" aria-labelledby="callback-faults-title"></div>
      <h3>Start again</h3>
      <p class="row"><button type="button" id="forget-token" class="small">Forget the cached token</button>
      <button type="button" id="clear-faults" class="small">Forget all faults</button>
      <span id="fault-status" class="result" role="status"></span></p>
      <ul id="waiting" class="log mono" aria-label="Faults that wait for a request"></ul>
      </section>
      """#,
    script: #"""
      const faults = [
        ["Refused", { endpoint: "token", status: 401 }],
        ["503", { endpoint: "token", status: 503, retry_after: 3 }],
        ["3 s late", { endpoint: "token", delay_ms: 3000 }],
        ["No response", { endpoint: "token", drop: "before" }],
        ["Not JSON", { endpoint: "token", body: "<html>gateway</html>" }],
        ["Lives 20 s", { endpoint: "token", expires_in: 20 }],
        ["429", { endpoint: "callback", status: 429, retry_after: 5 }],
        ["500", { endpoint: "callback", status: 500 }],
        ["401 once", { endpoint: "callback", status: 401 }],
        ["Rings, no response", { endpoint: "callback", drop: "after" }],
        ["Empty 202", { endpoint: "callback", status: 202, body: "" }],
      ];

      const post = (fault, place = "fault-status") => attempt(place, async () => {
        const answer = await fetch("/_sandbox/faults", {
          method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(fault),
        });
        return answer.ok
          ? ["waiting for the next request", true] : [problem(answer.status, await answer.text()), false];
      });

      const forgetToken = () => attempt("fault-status", async () => {
        const answer = await fetch("/_sandbox/token", { method: "DELETE" });
        return answer.ok ? ["token forgotten", true] : [problem(answer.status, await answer.text()), false];
      });

      const clearFaults = () => attempt("fault-status", async () => {
        const answer = await fetch("/_sandbox/faults", { method: "DELETE" });
        return answer.ok ? ["forgotten", true] : [problem(answer.status, await answer.text()), false];
      });

      function showWaiting(faults) {
        $("waiting").replaceChildren(...faults.slice(0, 20).map((fault) => {
          const item = document.createElement("li");
          item.textContent = JSON.stringify(fault);
          return item;
        }));
      }

      for (const [label, fault] of faults) {
        const button = smallButton(label, () => post(fault));
        (fault.endpoint === "token" ? $("token-faults") : $("callback-faults")).append(button);
      }
      $("forget-token").addEventListener("click", forgetToken);
      $("clear-faults").addEventListener("click", clearFaults);
      """#)
}
