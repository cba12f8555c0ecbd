// The decision page: keys of the review form, and cited sentences in view. The page works without this file.
"use strict";

(() => {
  const FIELDS = "input:not([type=radio], [type=checkbox], [type=submit], [type=button]), textarea, select, [contenteditable]:not([contenteditable=false])";
  // the cited sentence in view inside its passage
  for (const mark of document.querySelectorAll(".passage mark.cited")) {
    const box = mark.closest(".passage");
    if (!box.dataset.moved) box.scrollTop = mark.offsetTop - box.clientHeight / 3;
    box.dataset.moved = "1";
  }

  const form = document.querySelector("#review-form");
  if (!form) return;
  let corrected = Boolean(form.querySelector("input[name=corrected]:checked"));

  // keys.js listens first; a key that it handled is not for the form
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat || document.body.dataset.keys !== "on") return;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.(FIELDS)) return;
    const named = [...form.querySelectorAll("[data-key]")].filter((each) => each.dataset.key === event.key);
    const field = named.find((each) => !each.disabled && each.getClientRects().length > 0);
    if (!field) return;
    event.preventDefault();
    field.checked = true;
    field.dispatchEvent(new Event("change", { bubbles: true }));
    field.focus({ preventScroll: true });
  });

  // a reason proposes the right decision until the person has chosen one
  form.addEventListener("change", (event) => {
    if (event.target.name === "corrected") corrected = true;
    if (event.target.name !== "reason" || corrected) return;
    const proposed = form.querySelector(`input[name=corrected][value="${event.target.dataset.proposes}"]`);
    if (proposed) { proposed.disabled = false; proposed.checked = true; }
  });
})();
