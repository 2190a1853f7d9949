// Blocks the number of a decision or a record. The server has only its last digits, so the operator types it.
function blockButton(mask) {
  const block = button("Block this number…", "small danger", () => openBlock(mask));
  block.dataset.role = "approve";
  block.hidden = !may("approve");
  return block;
}

function openBlock(mask) {
  put($("block-mask"), mask);
  $("block-phone").value = "";
  // Only a number with these last digits is the one of the record.
  $("block-phone").pattern = `\\+[0-9]{${mask.length - 3}}${mask.slice(-2)}`;
  $("block-phone").title = `A number with ${mask.length - 1} digits that ends with ${mask.slice(-2)}`;
  $("block-reason").value = "";
  $("block-dialog").returnValue = "cancel";
  $("block-dialog").showModal();
}

async function blockClosed() {
  if ($("block-dialog").returnValue !== "block") return say("act-status", "nothing was blocked");
  const order = { phone: $("block-phone").value.trim() };
  const reason = $("block-reason").value.trim();
  if (reason) order.reason = reason;
  await attempt("act-status", async () => {
    const answer = await ask("POST", "/admin/numbers/block", order);
    return answer.ok ? [`Blocked ${$("block-mask").textContent}`, true] : [problem(answer), false];
  });
}

$("block-dialog").addEventListener("close", blockClosed);
