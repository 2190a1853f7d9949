// Lists of records: shown in part, downloaded whole.
const mostRecords = 10000;
const mostListed = 100;
const isToday = (record) => record.at && dayOf(record.at) === dayOf(Date.now());
const kinds = {
  unknown: { path: "/admin/callbacks?status=unknown", member: "callbacks", wanted: (record) => !record.outcome },
  failed: { path: "/admin/callbacks?status=failed", member: "callbacks" },
  today: { path: "/admin/callbacks?status=scheduled", member: "callbacks", wanted: isToday, order: (a, b) => (a.at < b.at ? -1 : 1) },
};
kinds.blocked = { path: "/admin/numbers?", member: "numbers" };
for (const state of ["pending", "approved", "active", "denied", "revoked"]) {
  kinds[state] = { path: `/admin/installations?state=${state}`, member: "installations" };
}

// All records of a list, by pages, at most `mostRecords`, and whether that is all.
async function records(name) {
  const { path, member, wanted, order } = kinds[name];
  const found = [];
  let [read, next] = [0, null];
  do {
    const answer = await ask("GET", `${path}&limit=1000${next ? `&after=${encodeURIComponent(next)}` : ""}`);
    if (!answer.ok) throw new Error(problem(answer));
    read += answer.content[member].length;
    found.push(...answer.content[member].filter(wanted ?? (() => true)));
    next = answer.content.next ?? null;
  } while (next !== null && read < mostRecords);
  if (order) found.sort(order);
  return { found: found.slice(0, mostRecords), isCut: next !== null };
}

function recordItem(record) {
  const name = record.client_app === undefined
    ? [make("time", moment(record.at ?? record.created_at ?? record.since)), make("span", record.status ?? "blocked", "badge"),
      make("span", record.contact_phone_number ?? record.phone ?? "ticket")]
    : [make("time", moment(record.created_at)), make("span", record.state, "badge"), box("strong", "", stranger(record.client_app))];
  const rest = Object.entries(record).filter(([key, value]) =>
    !["contact_phone_number", "phone", "status", "state", "client_app"].includes(key) && value !== null && value !== "" && value !== undefined);
  const list = make("dl");
  list.append(...pairsOf(rest.map(([key, value]) => [
    key.replaceAll("_", " "), stranger(typeof value === "object" ? JSON.stringify(value) : /_at$|^(at|since|until)$/.test(key) ? whole(value) : value)])));
  const details = make("details");
  details.append(box("summary", "", ...name, stranger(record.reason ?? record.code ?? record.client_detail ?? record.app ?? record.caller ?? "")), list);
  if (record.contact_phone_number) details.append(box("p", "row", blockButton(record.contact_phone_number)));
  return box("li", "", details);
}

async function showList(event) {
  event?.preventDefault();
  say("list-status", "reading…");
  $("list-rows").replaceChildren();
  try {
    const { found, isCut } = await records($("list-kind").value);
    $("list-rows").replaceChildren(...found.slice(0, mostListed).map(recordItem));
    const part = found.length > mostListed ? `, the first ${mostListed} are shown: download all` : "";
    say("list-status", `${several(found.length, "record", "records")}${part}${isCut ? ". The list is incomplete: the server has more" : ""}`, true);
  } catch (error) {
    say("list-status", error instanceof TypeError ? "The server is not responding." : error.message, false);
  }
}

function openList(name) {
  $("list-kind").value = name;
  $("lists-title").scrollIntoView();
  $("list-kind").focus();
  showList();
}

async function downloadList(format) {
  say("list-status", "reading…");
  try {
    const name = $("list-kind").value;
    const { found, isCut } = await records(name);
    download(name, format, found);
    say("list-status", `${several(found.length, "record", "records")} downloaded${isCut ? `. The list ends at ${count(mostRecords)}: the server has more` : ""}`, true);
  } catch (error) {
    say("list-status", error instanceof TypeError ? "The server is not responding." : error.message, false);
  }
}

// An apostrophe precedes what a spreadsheet would run. Some spreadsheets also begin a cell after a semicolon, a tab or a line end,
// and some of those ignore the quotation marks.
function csvCell(value) {
  const text = value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const safe = text.replace(/(^|[;,\t\r\n])(?=["' ]*[=+\-@\t\r])/g, "$1'");
  return /[";,\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csv(found) {
  const columns = [...new Set(found.flatMap(Object.keys))];
  return [columns, ...found.map((record) => columns.map((column) => record[column]))]
    .map((row) => row.map(csvCell).join(",") + "\r\n").join("");
}

function download(name, format, found) {
  const text = format === "csv" ? csv(found) : JSON.stringify(found, null, 2) + "\n";
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type: format === "csv" ? "text/csv" : "application/json" }));
  link.download = `callgate-${name}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

$("list-form").addEventListener("submit", showList);
$("list-csv").addEventListener("click", () => downloadList("csv"));
$("list-json").addEventListener("click", () => downloadList("json"));
