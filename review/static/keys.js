// Shortcuts and small conveniences; every page works without this file.
"use strict";

(() => {
  const FIELDS = "input:not([type=radio], [type=checkbox], [type=submit], [type=button]), textarea, select, [contenteditable]:not([contenteditable=false])";
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const shown = (element) => element && element.getClientRects().length > 0;

  // --- lists: j and k move, o and Enter open

  const rows = () => all("[data-row]").filter(shown);
  const current = () => one("[data-row][aria-current=true]");

  function move(step) {
    if (one("[data-list-position]")) { one(step > 0 ? "[data-list-position] [data-next]" : "[data-list-position] [data-prev]")?.click(); return; }
    const list = rows();
    if (!list.length) return;
    const at = list.indexOf(current());
    if (at >= 0 && !list[at + step]) { one(step > 0 ? "[data-next]" : "[data-prev]")?.click(); return; }
    const next = list[Math.min(list.length - 1, Math.max(0, at < 0 ? (step > 0 ? 0 : list.length - 1) : at + step))];
    current()?.removeAttribute("aria-current");
    next.setAttribute("aria-current", "true");
    next.scrollIntoView({ block: "nearest" });
    (one("[data-open]", next) || one("a[href], button", next))?.focus({ preventScroll: true });
  }

  function open() {
    const row = current();
    if (row) (one("[data-open]", row) || one("a[href], button", row))?.click();
  }

  // x ticks the current row, shift with j or k also the next ones

  function tick(row, wanted) {
    const box = row && one("input[data-tick]", row);
    if (!box) return;
    box.checked = wanted ?? !box.checked;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function extend(step) {
    const list = rows();
    tick(current(), true);
    if (current() && !list[list.indexOf(current()) + step]) return;
    move(step);
    tick(current(), true);
  }

  const TICKS = { "x": () => tick(current()), "J": () => extend(1), "K": () => extend(-1) };

  // --- the review form

  function choose(number) {
    const choice = all("#review-form input[name=ruling]")[number - 1];
    if (!shown(choice)) return;
    choice.checked = true;
    choice.dispatchEvent(new Event("change", { bubbles: true }));
    choice.focus({ preventScroll: true });
  }

  function fit() {
    const form = one("#review-form");
    if (!form) return;
    const ruling = one("input[name=ruling]:checked", form)?.value;
    form.classList.toggle("ruled", Boolean(ruling));
    for (const part of all("[data-when]", form)) {
      const fits = !ruling || part.dataset.when === ruling;  // without a ruling, show the fields of every ruling
      part.hidden = !fits;
      const fields = all("input, select", part);
      for (const field of fields) field.disabled = !fits;
      const chosen = fits ? null : fields.find((field) => field.checked);
      if (!chosen) continue;
      chosen.checked = false;
      if (chosen.name !== "remedy") continue;
      const none = one("input[name=remedy][value=none]", form);
      if (none) none.checked = true;
    }
    for (const field of all("[name=reason], input[name=corrected]", form)) {
      field.required = ruling === "overturn" || "always" in field.dataset;
    }
    const remedies = one("#remedies", form);
    if (remedies) remedies.hidden = all(".choice:not([hidden])", remedies).length < 2;
    const note = one("#note", form);
    if (note) note.required = ruling === "overturn" && one("input[value=OTHER]", form)?.checked === true;
  }

  function submit() {
    const form = document.activeElement?.closest?.("form") || one("#review-form");
    const target = form?.matches("[method=post]") ? form : one("#review-form");
    // with its button, which may say what is done
    target?.requestSubmit(one("button:not([type=button]):not([hidden])", target));
  }

  function press(id) {
    const button = document.getElementById(id);
    if (shown(button)) button.click();
  }

  function approve() {
    const button = one("[data-approve]");
    button?.scrollIntoView({ block: "center" });
    button?.focus({ preventScroll: true });  // Enter sends
  }

  function write() {
    const field = document.getElementById("own-answer");
    if (!field) one("#review-form [value=answer]")?.click();  // of a queue's item: the review is stored first
    field?.focus();
    field?.scrollIntoView({ block: "center" });
  }

  function reveal() {
    const within = current() || document;
    one("[data-reveal]", within)?.click();
  }

  function search() {
    const field = one("[data-search]") || one("input[type=search]");
    if (!field) { location.assign("/decisions#search"); return; }
    const closed = field.closest("details:not([open])");
    if (closed) closed.open = true;
    field.focus();
    field.select?.();
  }

  // from a remark to its line
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-line]");
    const box = link && one(link.hash);
    if (!box) return;
    event.preventDefault();
    const lines = box.value.split("\n");
    const at = Math.min(Number(link.dataset.line), lines.length) - 1;
    const start = lines.slice(0, at).reduce((sum, line) => sum + line.length + 1, 0);
    box.setSelectionRange(start, start + lines[at].length);
    box.focus();
  });

  function note() {
    const field = document.getElementById("note");
    field?.focus();
    field?.scrollIntoView({ block: "center" });
  }

  const ACTS = {
    "j": () => move(1), "k": () => move(-1), "o": open,
    "1": () => choose(1), "2": () => choose(2), "3": () => choose(3),
    "n": note, "/": search, "?": () => window.hushgate.help(), "s": () => press("skip"), "u": () => press("undo"), "r": reveal,
    "a": approve, "e": () => write(),
  };
  // the first element of the page that declares this key, which is one character: Enter belongs to the focus
  function declared(key) {
    if (key.length > 1) return null;
    const action = window.hushgate.actions().find(({ element, keys }) => keys.includes(key) && !element.matches("template"));
    return action && (() => window.hushgate.act(action.element));
  }

  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat && !"jkJK".includes(event.key)) return;
    if (!window.hushgate.keysOn()) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey) {
      event.preventDefault();
      submit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
    // a dialog that was just closed keeps the focus for a moment
    if (event.target.closest?.(FIELDS) && !event.target.closest("dialog:not([open])")) return;
    if (Date.now() < going) {
      going = 0;
      const place = one(`[data-go="${CSS.escape(event.key)}"]`);
      if (place) { event.preventDefault(); location.assign(place.href); return; }
    }
    if (event.key === "g") { going = Date.now() + 1500; return; }
    const ticks = one("input[data-tick]") && Object.hasOwn(TICKS, event.key) && TICKS[event.key];
    const act = ticks || (Object.hasOwn(ACTS, event.key) ? ACTS[event.key] : declared(event.key));
    if (!act) return;
    event.preventDefault();
    act();
  });

  if (location.hash === "#search") search();

  // the open tab of a strip that is wider than the screen
  for (const tab of all(".tabs [aria-current]")) {
    const strip = tab.closest(".tabs");
    strip.scrollLeft = tab.offsetLeft - strip.offsetLeft - (strip.clientWidth - tab.offsetWidth) / 2;
  }

  // --- a field that another choice of its form requires, such as data-required-with="outcome=restored"

  function require() {
    for (const field of all("[data-required-with]")) {
      const [name, value] = field.dataset.requiredWith.split("=");
      field.required = Boolean(one(`[name="${name}"][value="${value}"]:checked`, field.form));
    }
  }
  document.addEventListener("change", require);
  require();

  // --- a calendar beside a field of time

  for (const calendar of all("[data-calendar]")) {
    calendar.hidden = false;
    calendar.addEventListener("change", () => { one("input[name]", calendar.parentElement).value = calendar.value; });
  }

  // --- URLs of filtered lists, without empty fields

  for (const form of all("form[method=get]")) {
    form.addEventListener("formdata", ({ formData }) => {
      for (const name of new Set(formData.keys())) {
        const values = formData.getAll(name).filter((value) => value !== "");
        formData.delete(name);
        for (const value of values) formData.append(name, value);
      }
    });
  }

  // --- remaining time, by the server's clock: that of this computer may be wrong

  const ahead = Date.now() - (Date.parse(document.body.dataset.now) || Date.now());
  const now = () => Date.now() - ahead;

  function rest(seconds) {
    const [value, unit] = seconds >= 120 ? [Math.floor(seconds / 60), "minute"] : [seconds, "second"];
    return new Intl.NumberFormat(document.documentElement.lang, { style: "unit", unit, unitDisplay: "narrow" }).format(value);
  }

  function left() {
    for (const place of all("[data-left]")) {
      const seconds = Math.round((Date.parse(place.dataset.left) - now()) / 1000);
      place.textContent = seconds > 0 ? ` (${rest(seconds)})` : place.dataset.over ?? "";
      const undo = place.closest("[data-undo]");
      if (undo && seconds <= 0) undo.hidden = true;
    }
  }

  let active = 0;
  document.addEventListener("input", () => { active = Date.now(); });
  async function renew() {
    const form = one("form[data-lease]");
    if (!form || Date.now() - active > 60e3) return;
    if (Date.parse(form.dataset.lease) - now() > 60e3) return;
    active = 0;
    try {
      const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { "Accept": "text/plain" } });
      if (!answer.ok) return;
      form.dataset.lease = await answer.text();
      const place = one("#held [data-left]");
      if (place) place.dataset.left = form.dataset.lease;
    } catch { /* the next minute tries again, or the person presses the button */ }
  }

  // a field of one ruling also selects that ruling
  function imply(part) {
    const form = one("#review-form");
    const implied = part && !one("input[name=ruling]:checked", form) && one(`input[name=ruling][value="${part.dataset.when}"]`, form);
    if (implied) implied.checked = true;
  }

  document.addEventListener("change", (event) => {
    if (!event.target.closest?.("#review-form")) return;
    if (event.target.value) imply(event.target.closest("[data-when]"));
    fit();
  });
  fit();
  left();
  if (one("[data-left]")) setInterval(() => { left(); renew(); }, 1000);
})();
