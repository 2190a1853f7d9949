"use strict";
const $ = (id) => document.getElementById(id);

// Characters that steer a terminal, turn the text around them or hide: shown by their number in every text.
const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const plain = (text) => String(text).replace(unseen, (sign) => `\\u{${sign.charCodeAt(0).toString(16).toUpperCase()}}`);

// Changes a text only where it differs, so that a screen reader does not repeat it.
function put(element, text) {
  if (element.textContent !== plain(text)) element.textContent = plain(text);
}

function say(id, text, good) {
  const element = $(id);
  put(element, text);
  element.classList.toggle("good", good === true);
  element.classList.toggle("bad", good === false);
}

function make(tag, text, name) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = plain(text);
  if (name) element.className = name;
  return element;
}

// An element with elements and texts in it.
function box(tag, name, ...parts) {
  const element = make(tag, null, name);
  element.append(...parts.filter((part) => part !== null && part !== undefined && part !== ""));
  return element;
}

// A stranger's text beside other words: its direction ends with it.
const stranger = (text) => make("bdi", text ?? "");

function button(text, name, action) {
  const element = make("button", text, name);
  element.type = "button";
  element.addEventListener("click", action);
  return element;
}

const pairsOf = (pairs) => pairs.filter(([, value]) => value !== undefined && value !== null && value !== "")
  .flatMap(([name, value]) => [make("dt", name), value instanceof Node ? box("dd", "", value) : make("dd", value)]);

function facts(id, pairs) {
  update(id, pairs, () => pairsOf(pairs));
}

// Renders a list again only where its data has changed: focus and selection stay.
const shown = new Map();
function update(id, data, render) {
  const key = JSON.stringify(data);
  if (shown.get(id) === key) return;
  shown.set(id, key);
  $(id).replaceChildren(...render());
}

function table(id, rows, width, none) {
  update(id, [rows, isUTC], () => {
    if (rows.length > 0) return rows.map((row) => tableRow(row));
    const cell = make("td", none, "empty");
    cell.colSpan = width;
    return [box("tr", "", cell)];
  });
}

// A cell is a text, or a number as { number }, or a badge as { badge, tone }.
function tableRow(cells) {
  const line = make("tr");
  for (const cell of cells) {
    if (cell && typeof cell === "object") {
      const data = make("td", cell.number, "number" in cell ? "number" : "");
      if (cell.badge) data.append(make("span", cell.badge, "badge " + cell.tone));
      line.append(data);
    } else {
      line.append(make("td", cell ?? ""));
    }
  }
  return line;
}

const tones = { allow: "good", deny: "warn", error: "bad", pass: "good", warn: "warn", fail: "bad", ok: "good", failed: "bad" };
const count = new Intl.NumberFormat("en").format;
const several = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

// How far the server's clock is ahead of this device's, in milliseconds. Times are the server's.
let serverAhead = 0;
const serverNow = () => Date.now() + serverAhead;

// All times have one form: 2026-11-24 15:04:05, without the date on the same day, in the zone that the page names.
let isUTC = sessionStorage.getItem("callgate.utc") === "true";
const zone = () => (isUTC ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone ?? "local time");

function dayAndTime(time) {
  const date = new Date(time);
  const local = isUTC ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60000);
  const [day, rest] = local.toISOString().split("T");
  return [day, rest.slice(0, 8)];
}

const dayOf = (time) => dayAndTime(time)[0];
const clock = (time) => dayAndTime(time)[1];
const minuteOf = (time) => clock(time).slice(0, 5);
const whole = (time) => dayAndTime(time).join(" ");
const moment = (time) => (!time ? "never" : dayOf(time) === dayOf(serverNow()) ? clock(time) : whole(time));

function span(seconds) {
  if (seconds === undefined || seconds === null) return "";
  if (seconds < 120) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

function milliseconds(seconds) {
  if (seconds === null) return "> 30 s";
  return seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : `${Number(seconds.toPrecision(3))} s`;
}

// The bound of a histogram's bucket.
const atMost = (seconds) => (seconds === null ? "> 30 s" : `≤ ${milliseconds(seconds)}`);
const ago = (seconds) => (seconds === undefined ? "" : span(seconds) + " ago");
