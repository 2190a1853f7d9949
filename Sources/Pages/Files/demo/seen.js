// How many lines of a journal the page shows.
const mostSeen = 8;

// The status of a response. It is missing where Talkdesk dropped the connection.
function badge(status) {
  return make("span", status ?? "none", "badge " + (status >= 200 && status < 300 ? "good" : "bad"));
}

// The number that the phone on the page has, and how often it rang.
let watched = $("phone").value;
let rings = null;

function watchPhone(number) {
  watched = number;
  showEnd(null);
}

const rang = (count) => (count === 1 ? "rang once" : `rang ${count} times`);

function showHandset() {
  const count = rings?.[watched] ?? 0;
  put("handset-number", watched);
  put("handset-state", (count > 0 ? rang(count) : "has not rung") + endOf(ringing));
  const frame = $("handset").parentElement;
  frame.classList.toggle("rang", count > 0);
}

function ring(number) {
  watched = number;
  const frame = $("handset").parentElement;
  frame.classList.remove("ringing");
  // Read, so that the browser begins the animation again.
  void frame.offsetWidth;
  frame.classList.add("ringing");
}

function showRings(next) {
  const newest = Object.entries(next).find(([number, count]) => count > (rings?.[number] ?? 0));
  if (rings && newest) ring(newest[0]);
  rings = next;
  showHandset();
  const entries = Object.entries(rings);
  const shown = entries.slice(-5).reverse().map(([number, count]) => `${number} ${rang(count)}`);
  lines("rings", entries.length > 5 ? [...shown, `and ${entries.length - 5} more`] : shown, (words) => [words]);
}

const about = (context) => (context?.fields ?? []).map((field) => `${field.name}: ${field.value}`).join(", ");
const ends = { dropped_before: "closed unread", dropped_during: "closed in the middle", dropped_after: "rang, then closed", fault: "as set in the fault" };

// The newest entries of a journal, the newest first, and how many there are.
function journal(id, entries, render) {
  const shown = entries.slice(-mostSeen).reverse();
  const more = entries.length - shown.length;
  lines(id, more > 0 ? [...shown, { more }] : shown, (entry) => (entry.more ? [`and ${entry.more} before`] : render(entry)));
}

function showSeen(exchanges, callbacks) {
  journal("exchanges", exchanges.exchanges, (entry) => [
    timeOf(entry.time), badge(entry.status), ends[entry.outcome] ?? entry.outcome, entry.error,
    make("span", entry.granted_scope ?? entry.scope, "soft"),
  ]);
  showRings(callbacks.rings);
  const calls = [...callbacks.callbacks, ...callbacks.refused].sort((a, b) => (a.time < b.time ? -1 : 1));
  journal("callbacks", calls, (entry) => [
    timeOf(entry.time), badge(entry.status), ends[entry.outcome] ?? entry.outcome, entry.contact_phone_number,
    stranger(about(entry.context)),
  ]);
}
