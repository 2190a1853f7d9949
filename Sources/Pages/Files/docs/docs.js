"use strict";
// What the pages of the API reference do beyond showing text: the server's own address in commands, copying, searching.

for (const place of document.querySelectorAll(".address")) place.textContent = location.origin;
for (const note of document.querySelectorAll(".no-script")) note.hidden = true;

async function copy(button, source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

for (const box of document.querySelectorAll(".copy")) {
  const source = box.querySelector("pre");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy the command: ${box.dataset.name}`);
  button.addEventListener("click", () => copy(button, source));
  box.append(button);
}

// Shows the links that have every word in their text or in their data-words, and all operations again where there is none.
const links = [...document.querySelectorAll("#contents li")];
const groups = [...document.querySelectorAll("#contents .group")];

function find() {
  const words = document.getElementById("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const link of links) {
    const text = `${link.textContent} ${link.dataset.words ?? ""}`.toLowerCase();
    link.hidden = words.length > 0 ? !words.every((word) => text.includes(word)) : link.dataset.words === undefined;
    if (!link.hidden) count += 1;
  }
  for (const group of groups) group.hidden = words.length > 0 && !group.querySelector("li:not([hidden])");
  document.getElementById("found").textContent = words.length > 0 ? `${count} found` : "";
}

document.getElementById("finder").hidden = false;
document.getElementById("find").addEventListener("input", find);

// A code or schema that a link leads to is open. An operation of a link to the first page has a page of its own.
function arrive() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.dataset.page) location.replace(target.dataset.page);
  else if (target?.tagName === "DETAILS") target.open = true;
}

addEventListener("hashchange", arrive);
arrive();
