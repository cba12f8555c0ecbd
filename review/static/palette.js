// The command palette: a combobox over the results of /go and the actions of the page. Without this file the
// button is a link to /go.
"use strict";

(() => {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const field = dialog.querySelector("input"), list = dialog.querySelector("[role=listbox]"), status = dialog.querySelector("[role=status]");
  const WAIT_MS = 90;
  let request = null, timer = 0;

  const options = () => [...list.querySelectorAll("[role=option]")];
  const selected = () => list.querySelector("[aria-selected=true]");

  function select(option) {
    selected()?.setAttribute("aria-selected", "false");
    if (!option) { field.removeAttribute("aria-activedescendant"); return; }
    option.setAttribute("aria-selected", "true");
    field.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  function move(step) {
    const each = options();
    if (each.length) select(each[(each.indexOf(selected()) + step + each.length) % each.length]);
  }

  // the page's own actions that have every word of the query
  function ownActions(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = window.hushgate.actions().filter(({ element, label }) =>
      !element.matches("template, [data-palette]") && words.every((word) => label.toLowerCase().includes(word)));
    if (!found.length) return null;
    const group = document.createElement("div");
    group.setAttribute("role", "group");
    group.setAttribute("aria-labelledby", "go-actions");
    const heading = Object.assign(document.createElement("div"), { id: "go-actions", className: "go-heading", textContent: dialog.dataset.actions });
    heading.setAttribute("role", "presentation");
    group.append(heading);
    for (const [place, action] of found.entries()) {
      const option = Object.assign(document.createElement("div"), { id: `go-actions-${place}`, className: "go-action" });
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.append(Object.assign(document.createElement("span"), { textContent: action.label }));
      for (const key of action.keys) {
        const shape = Object.assign(document.createElement("kbd"), { textContent: key.replace("Control", "Ctrl") });
        shape.setAttribute("aria-hidden", "true");
        option.append(shape);
      }
      option.addEventListener("click", () => { dialog.close(); window.hushgate.act(action.element); });
      group.append(option);
    }
    return group;
  }

  async function look() {
    request?.abort();
    request = new AbortController();
    const query = field.value.trim();
    try {
      const answer = await fetch(`${dialog.dataset.url}?q=${encodeURIComponent(query)}`, { headers: { "HX-Request": "true" }, signal: request.signal });
      if (answer.status === 401) { location.assign(dialog.dataset.url); return; }
      show(answer.ok ? await answer.text() : "", query);
    } catch (error) {
      if (error.name !== "AbortError") show("", query);
    }
  }

  function show(html, query) {
    list.innerHTML = html;  // a part of a page of this server, escaped there
    const own = ownActions(query);
    if (own) list.prepend(own);
    const number = options().length;
    status.textContent = number ? `${number}` : dialog.dataset.nothing;
    list.dataset.empty = number ? "" : dialog.dataset.nothing;
    list.dataset.query = query;
    select(options()[0]);
  }

  function open() {
    if (dialog.open) { field.select(); return; }
    for (const other of document.querySelectorAll("dialog[open]")) other.close();
    field.value = "";
    list.replaceChildren();
    dialog.showModal();
    field.focus();
    look();
  }

  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(look, WAIT_MS); });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); move(step); }
  });
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    if (list.dataset.query !== field.value.trim()) await look();  // Enter before the results of the last letters
    selected()?.click();
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    open();
  });
  for (const link of document.querySelectorAll("[data-palette]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      open();
    });
  }
})();
