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
