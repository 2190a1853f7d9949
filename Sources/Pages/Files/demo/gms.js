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
