// The preview beside the list of decisions: j and k move, the decision is read without leaving the list.
"use strict";

(() => {
  const button = document.querySelector("[data-preview]");
  const pane = document.getElementById("preview");
  if (!button || !pane || !window.htmx) return;
  const KEPT = "hushgate-preview";
  const WAIT_MS = 120;  // who holds j down reads only where they stop
  const wide = window.matchMedia("(min-width: 70rem)");
  let waiting = 0;
  let shown = "";

  const on = () => document.body.classList.contains("previewing");

  function show(row) {
    const link = row?.querySelector("[data-open]");
    if (!link || !on() || link.href === shown) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      shown = link.href;
      window.htmx.ajax("GET", link.href, { target: "#preview", select: "#content", swap: "innerHTML" });
    }, WAIT_MS);
  }

  function set(wanted) {
    const open = wanted && wide.matches;
    document.body.classList.toggle("previewing", open);
    pane.hidden = !open;
    button.setAttribute("aria-pressed", String(open));
    if (open) show(document.querySelector("[data-row][aria-current=true]") || document.querySelector("[data-row]"));
  }

  button.hidden = !wide.matches;
  wide.addEventListener("change", () => { button.hidden = !wide.matches; set(localStorage.getItem(KEPT) === "on"); });
  button.addEventListener("click", () => {
    localStorage.setItem(KEPT, on() ? "off" : "on");
    set(!on());
  });
  new MutationObserver((changes) => {
    for (const { target } of changes) if (target.matches("[data-row][aria-current=true]")) show(target);
  }).observe(document.getElementById("list").parentElement, { subtree: true, attributeFilter: ["aria-current"] });
  set(localStorage.getItem(KEPT) === "on");
})();
