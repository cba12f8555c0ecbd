// Notes that survive a closed tab and an ended session; every page works without this file.
"use strict";

(() => {
  const DRAFT_DAYS = 7;
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];

  function stored(key) {
    try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
  }

  function keep(key, text) {
    try {
      if (text) localStorage.setItem(key, JSON.stringify({ text, at: Date.now() }));
      else localStorage.removeItem(key);
    } catch { /* private windows may refuse; the server keeps what was sent */ }
  }

  const person = document.body.dataset.person || "";
  const refused = (performance.getEntriesByType("navigation")[0]?.responseStatus || 200) >= 400;
  // a screen reader reads what has the focus, not an alert that was there before it
  const alert = refused && !one("[autofocus]") && one("main [role=alert]");
  if (alert) { alert.tabIndex = -1; alert.focus(); }
  // drop the stored note after a submit, except after a refusal or where the form returned with its text
  function forget() {
    const key = sessionStorage.getItem("hushgate:sent");
    if (!key) return;
    const back = all("form[action$='/review'] textarea").some((field) => field.value);
    if (refused || back || one("input[type=password]")) return;
    sessionStorage.removeItem("hushgate:sent");
    keep(key, "");
  }
  forget();
  const kept = new WeakSet();
  function keepDrafts() {
    for (const field of all("textarea[data-draft]")) if (!kept.has(field)) keepDraft(field);
  }
  function keepDraft(field) {
    kept.add(field);
    const key = `hushgate:${person}:${field.dataset.draft}`;
    const found = stored(key);
    if (found && !field.value && Date.now() - found.at < DRAFT_DAYS * 864e5) field.value = found.text;
    field.addEventListener("input", () => keep(key, field.value));
    field.form?.addEventListener("submit", () => sessionStorage.setItem("hushgate:sent", key));
  }
  keepDrafts();
  // parts that load on their own have fields too, and may hold what the address points at
  document.addEventListener("htmx:after:swap", () => {
    keepDrafts();
    const target = location.hash.length > 1 && !one(":target") && document.getElementById(location.hash.slice(1));
    if (target) target.scrollIntoView();
  });
  try {
    for (const key of Object.keys(localStorage).filter((each) => each.startsWith("hushgate:"))) {
      const found = stored(key);
      if (!found || Date.now() - found.at > DRAFT_DAYS * 864e5) localStorage.removeItem(key);
    }
  } catch { /* as above */ }
  one("form[action='/sign-out']")?.addEventListener("submit", () => {
    try { for (const key of Object.keys(localStorage)) if (key.startsWith("hushgate:")) localStorage.removeItem(key); } catch { /* as above */ }
  });
})();
