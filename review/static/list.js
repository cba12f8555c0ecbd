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

  for (const failure of ["htmx:response:error", "htmx:error"]) {
    document.addEventListener(failure, (event) => { if (event.detail.ctx?.target === pane) shown = ""; });
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

// Ticked decisions: how many, and all of the page.
(() => {
  const form = document.getElementById("ticked");
  const every = document.querySelector("[data-tick-all]");
  if (!form || !every) return;
  const button = form.querySelector("button"), number = form.querySelector("[data-number]");
  const boxes = () => [...document.querySelectorAll("input[data-tick]")];

  function count() {
    const ticked = boxes().filter((box) => box.checked).length;
    button.disabled = !ticked;
    number.hidden = !ticked;
    number.textContent = String(ticked);
    every.checked = ticked > 0 && ticked === boxes().length;
    every.indeterminate = ticked > 0 && !every.checked;
  }

  every.hidden = false;
  every.addEventListener("change", () => {
    const wanted = every.checked;
    for (const box of boxes()) box.checked = wanted;
    count();
  });
  document.addEventListener("change", (event) => { if (event.target.matches("input[data-tick]")) count(); });
  window.addEventListener("pageshow", count);  // also after the back button, when the browser restores ticks
})();

// Suggestions of the search: the arrow keys move through them, Escape closes them.
(() => {
  const field = document.querySelector("[data-search]"), list = document.getElementById("search-suggestions");
  if (!field || !list) return;
  const links = () => [...list.querySelectorAll("a")];
  // htmx starts in a task of its own, after this script: what was typed until then is asked for now.
  setTimeout(() => { if (field.value !== field.defaultValue) field.dispatchEvent(new Event("input", { bubbles: true })); });

  field.parentElement.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") { list.replaceChildren(); field.focus(); }
    if (!step || !links().length || event.isComposing) return;
    event.preventDefault();
    const places = [field, ...links()];
    places[(places.indexOf(document.activeElement) + step + places.length) % places.length].focus();
  });
  document.addEventListener("click", (event) => { if (!event.target.closest("[role=search]")) list.replaceChildren(); });
})();
