"use strict";
const $ = (id) => document.getElementById(id);

// Changes a text only where it differs, so that a screen reader does not repeat it.
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function say(id, text, good) {
  const element = $(id);
  put(element, text);
  element.classList.toggle("good", good === true);
  element.classList.toggle("bad", good === false);
}

function make(tag, text, name) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (name) element.className = name;
  return element;
}

// A stranger's text beside other words: its marks of direction end with it.
function stranger(text) {
  return make("bdi", text);
}

function button(text, name, action) {
  const element = make("button", text, name);
  element.type = "button";
  element.addEventListener("click", action);
  return element;
}

function facts(id, pairs) {
  const list = pairs.filter(([, value]) => value !== undefined && value !== "");
  update(id, list, () => list.flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
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
  update(id, rows, () => {
    if (rows.length > 0) return rows.map((row) => tableRow(row));
    const line = make("tr");
    const cell = make("td", none, "empty");
    cell.colSpan = width;
    line.append(cell);
    return [line];
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

const clock = (time) => new Date(time).toLocaleTimeString();
const minuteOf = (time) => new Date(time).toLocaleTimeString([], { timeStyle: "short" });
const tones = { allow: "good", deny: "warn", error: "bad", pass: "good", warn: "warn", fail: "bad", ok: "good", failed: "bad" };

function moment(time) {
  const date = new Date(time);
  return date.toDateString() === new Date().toDateString() ? clock(time) : date.toLocaleString();
}

function span(seconds) {
  if (seconds === undefined || seconds === null) return "";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

function milliseconds(seconds) {
  if (seconds === null) return "> 30 s";
  return seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : `${Number(seconds.toPrecision(3))} s`;
}

const ago = (seconds) => (seconds === undefined ? "" : span(seconds) + " ago");
