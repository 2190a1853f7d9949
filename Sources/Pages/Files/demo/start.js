for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copy(button));
}
setInterval(() => { if (!document.hidden) refresh(); }, 5000);
showCommands();
offerOperatorsPage().catch(() => { /* Without a server the page shows nothing of operators. */ });
restore().catch(() => { /* The server stopped. What the tab keeps stays for the next load. */ });
refresh();
