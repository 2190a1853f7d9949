// A scripted AI agent. Its conversation lasts as long as the page.
const agentVersion = "2026-07-28";
const agentConversation = newKey();
let agentCallback = null;

async function agentSend(method, params) {
  const protocol = "io.modelcontextprotocol/";
  const headers = { "MCP-Protocol-Version": agentVersion, "Mcp-Method": method };
  if (params.name) headers["Mcp-Name"] = params.name;
  const _meta = { [protocol + "protocolVersion"]: agentVersion, [protocol + "clientCapabilities"]: {} };
  const answer = await ask("POST", "/mcp", { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }, headers);
  showAnswer("agent-answer", answer.text);
  if (!answer.ok) throw new Error(String(answer.status));
  return JSON.parse(answer.text).result;
}

const agentCall = (name, more) => attempt("agent-status", async () => {
  const given = { conversation_id: agentConversation, ...more };
  const result = await agentSend("tools/call", { name, arguments: given });
  if (name === "request_callback" && !result.isError) agentCallback = result.structuredContent;
  $("agent-cancel").disabled = agentCallback === null;
  return [result.content[0].text, !result.isError];
});

const agentNumber = () => $("agent-number").value.trim();
$("agent-list").addEventListener("click", () => attempt("agent-status", async () => {
  const { tools } = await agentSend("tools/list", {});
  return [tools.map((tool) => tool.name).join(", "), true];
}));
$("agent-call").addEventListener("click", () => {
  watchPhone(agentNumber());
  return agentCall("request_callback", { phone_number: agentNumber() });
});
$("agent-book").addEventListener("click", () => {
  const at = new Date(gatewayTime() + 86400000);
  at.setMinutes(0, 0, 0);
  return agentCall("request_callback", { phone_number: agentNumber(), at: at.toISOString() });
});
$("agent-cancel").addEventListener("click", () => agentCall("cancel_callback", { id: agentCallback.id }));
