function rows(id, entries, cells) {
  if (entries.length === 0) return $(id).replaceChildren(nothing(id));
  $(id).replaceChildren(...entries.slice(-8).reverse().map((entry) => {
    const row = document.createElement("tr");
    for (const text of cells(entry)) {
      const cell = document.createElement("td");
      cell.append(text ?? "");
      row.append(cell);
    }
    return row;
  }));
}

// The status of a response. It is missing where Talkdesk dropped the connection.
function badge(status) {
  const element = document.createElement("span");
  element.textContent = status ?? "none";
  element.className = "badge " + (status >= 200 && status < 300 ? "good" : "bad");
  return element;
}

// The row of an empty table.
function nothing(id) {
  const row = document.createElement("tr");
  const cell = document.createElement("td");
  cell.colSpan = $(id).parentElement.tHead.rows[0].cells.length;
  cell.textContent = "none yet";
  cell.className = "empty";
  row.append(cell);
  return row;
}

function showRings(rings) {
  const entries = Object.entries(rings);
  $("rings").replaceChildren(...(entries.length ? entries : [["none yet", 0]]).map(([number, count]) => {
    const item = document.createElement("li");
    item.textContent = count === 0 ? number : `${number} rang ${count === 1 ? "once" : count + " times"}`;
    if (count === 0) item.className = "empty";
    return item;
  }));
}

const about = (context) => (context?.fields ?? []).map((field) => `${field.name}: ${field.value}`).join(", ");

function showSeen(exchanges, callbacks) {
  rows("exchanges", exchanges.exchanges, (e) => [
    clock(e.time), badge(e.status), e.error ? `${e.outcome} (${e.error})` : e.outcome,
    e.granted_scope ?? e.scope, e.token_jti?.slice(0, 8),
  ]);
  showRings(callbacks.rings);
  const calls = [...callbacks.callbacks, ...callbacks.refused].sort((a, b) => (a.time < b.time ? -1 : 1));
  rows("callbacks", calls, (c) => [
    clock(c.time), badge(c.status), c.outcome, c.contact_phone_number, about(c.context),
  ]);
}
