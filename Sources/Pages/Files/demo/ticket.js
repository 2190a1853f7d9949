const ticketFaults = [
  ["Token refused", { endpoint: "desk", status: 401 }],
  ["Rate limit", { endpoint: "desk", status: 400, body: { error: true, code: 500910 }, retry_after: 5 }],
  ["503 three times", { endpoint: "desk", status: 503, times: 3 }],
  ["3 s delay", { endpoint: "desk", delay_ms: 3000 }],
];

function showTicketPhone() {
  const isUser = phone?.query === "?app=example-chat";
  if (isUser) $("ticket-phone").replaceChildren("Enrolled: ", stranger(phone.values.client_app), ".");
  else $("ticket-phone").textContent = phone ? "This phone is not enrolled for the chat desk. Enroll one that is." : "First enroll a phone for the chat desk.";
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
  lines("tickets", tickets.slice(0, mostSeen), (ticket) => [
    make("strong", ticket.id), stranger(ticket.channelName), ...ticket.messages.flatMap((message) => ["·", stranger(message)]),
  ]);
}

for (const [label, fault] of ticketFaults) {
  $("desk-faults").append(smallButton(label, () => post(fault, "ticket-fault-status")));
}
$("open-ticket").addEventListener("click", openTicket);
