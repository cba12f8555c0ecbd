// Actions and shortcuts that a page declares on its elements: aria-keyshortcuts="s" or data-key="j k", with
// data-action="words" where the element's own text does not say it. Key handler and help read them here.
"use strict";

window.hushgate = (() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const shown = (element) => element.getClientRects().length > 0;
  const keysOn = () => document.body.dataset.keys === "on";

  function text(element) {
    const copy = element.cloneNode(true);
    for (const part of all("kbd, svg, input, select, textarea, .muted, .badge", copy)) part.remove();
    return copy.textContent.trim().replace(/\s+/g, " ");
  }

  function label(element) {
    return element.dataset.action || element.getAttribute("aria-label") || (element.labels?.length ? text(element.labels[0]) : text(element)) || element.title;
  }

  const keys = (element) => (element.dataset.key || element.getAttribute("aria-keyshortcuts") || "").split(" ").filter(Boolean);

  // what the page offers now, each action once, those of its content first
  function actions() {
    const found = new Map();
    for (const element of all("[data-action], [aria-keyshortcuts]")) {
      const usable = element.matches("template") || !element.disabled && (shown(element) || element.closest("[popover]"));
      if (!usable || element.closest("dialog")) continue;
      const action = { element, label: label(element), keys: keys(element) };
      const name = `${action.label} ${action.keys}`;
      if (action.label && !found.has(name)) found.set(name, action);
    }
    const within = ({ element }) => element.closest("main") ? 0 : 1;
    return [...found.values()].sort((one, other) => within(one) - within(other));
  }

  function act(element) {
    if (!element.matches("input:not([type=submit]), textarea, select")) { element.click(); return; }
    if (element.matches("[type=radio], [type=checkbox]")) element.click();
    element.focus({ preventScroll: true });
    reveal(element);
  }

  // inside a panel that scrolls the window stays where it is, so that the text beside it does not move
  function reveal(element) {
    const panel = element.closest(".sidebar");
    if (!panel || panel.scrollHeight <= panel.clientHeight) { element.scrollIntoView({ block: "center" }); return; }
    const place = element.getBoundingClientRect(), box = panel.getBoundingClientRect();
    panel.scrollTop += place.top + place.height / 2 - box.top - box.height / 2;
  }

  // --- help

  const shape = (key) => Object.assign(document.createElement("kbd"), { textContent: key.replace("Control", "Ctrl") });

  function row(list, shapes, words) {
    const term = document.createElement("dt");
    for (const [place, each] of shapes.entries()) term.append(place ? " " : "", shape(each));
    list.append(term, Object.assign(document.createElement("dd"), { textContent: words }));
  }

  function help() {
    const dialog = document.getElementById("keys-help");
    if (!dialog) return;
    const list = dialog.querySelector("dl");
    list.replaceChildren();
    for (const action of actions()) if (action.keys.length) row(list, action.keys, action.label);
    for (const link of all("[data-go]")) row(list, [`g ${link.dataset.go}`], text(link));
    dialog.querySelector("input[type=checkbox]").checked = keysOn();
    dialog.showModal();
  }

  function switchKeys(on) {
    if (on) document.body.dataset.keys = "on";
    else delete document.body.dataset.keys;
    const csrf = document.querySelector("input[name=csrf]")?.value;
    if (!csrf) return;
    const body = new URLSearchParams({ csrf, ...(on ? { keys: "on" } : {}) });
    fetch("/profile/keys", { method: "POST", body, redirect: "manual" }).catch(() => {});
  }

  document.querySelector("#keys-help input[type=checkbox]")?.addEventListener("change", (event) => switchKeys(event.target.checked));
  // a button that opens the help, for devices without a "?" key
  for (const button of all("[data-help]")) {
    button.hidden = false;
    button.parentElement.hidden = false;
    button.addEventListener("click", () => { document.getElementById("user-menu")?.hidePopover(); help(); });
  }

  return { actions, act, help, keysOn };
})();
