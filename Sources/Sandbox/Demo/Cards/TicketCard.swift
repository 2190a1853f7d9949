// The demo page's card for tickets of a chat desk.

extension DemoCard {
  /// Opens a ticket as the enrolled phone, and shows the desk's tickets.
  static let ticket = DemoCard(
    html: #"""
      <section class="card" aria-labelledby="ticket-title">
      <h2 id="ticket-title">Open a ticket</h2>
      <p>An app of the chat desk sends <code>POST /tickets</code>. Callgate opens the ticket at the emulated desk, and sends the first
      message.</p>
      <p id="ticket-phone" class="soft"><a href="#enrol-title">Enrol a phone</a> for the chat desk first.</p>
      <label for="ticket-name">Title</label>
      <input id="ticket-name" value="My reservation" maxlength="255" autocomplete="off">
      <label for="ticket-message">First message</label>
      <input id="ticket-message" value="I cannot change the date." maxlength="255" autocomplete="off">
      <p class="row"><button type="button" id="open-ticket" class="primary" disabled>Open the ticket</button>
      <span id="ticket-status" class="result" role="status"></span></p>
      <h3 id="tickets-title">At the desk</h3>
      <ul id="tickets" class="log" aria-labelledby="tickets-title"></ul>
      <h3 id="desk-faults-title">Next request to the desk</h3>
      <div id="desk-faults" class="row" role="group" aria-labelledby="desk-faults-title"></div>
      <p class="row"><span id="ticket-fault-status" class="result" role="status"></span></p>
      </section>
      """#,
    script: #"""
      const ticketFaults = [
        ["Token refused", { endpoint: "desk", status: 401 }],
        ["Rate limit", { endpoint: "desk", status: 400, body: { error: true, code: 500910 }, retry_after: 5 }],
        ["503 three times", { endpoint: "desk", status: 503, times: 3 }],
        ["3 s late", { endpoint: "desk", delay_ms: 3000 }],
      ];

      function showTicketPhone() {
        const isUser = phone.query === "?app=example-chat";
        $("ticket-phone").textContent = isUser ? `Enrolled: ${phone.values.client_app}.` : "This phone has no chat desk. Enrol one for the chat desk.";
        $("open-ticket").disabled = !isUser;
        say("ticket-status", "");
      }

      const openTicket = () => attempt("ticket-status", async () => {
        const ticket = { title: $("ticket-name").value, message: $("ticket-message").value || undefined };
        const answer = await askAsPhone("POST", "/tickets", ticket, credential());
        if (answer.status !== 201) return [problem(answer.status, answer.text), false];
        const { ticket_id, message_sent } = JSON.parse(answer.text);
        return [`201: ticket ${ticket_id}${message_sent ? "" : ", without its first message"}`, true];
      });

      function showTickets(tickets) {
        $("tickets").replaceChildren(...tickets.slice(0, 8).map((ticket) => {
          const item = document.createElement("li");
          item.textContent = [ticket.id, ticket.channelName, ...ticket.messages].join(" · ");
          return item;
        }));
        if (tickets.length > 0) return;
        const item = document.createElement("li");
        item.textContent = "none yet";
        item.className = "empty";
        $("tickets").append(item);
      }

      for (const [label, fault] of ticketFaults) {
        $("desk-faults").append(smallButton(label, () => post(fault, "ticket-fault-status")));
      }
      $("open-ticket").addEventListener("click", openTicket);
      """#)
}
