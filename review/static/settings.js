// A slider beside each percent field, the unit after a number, and the search; the fields alone are sent, so the
// page works without this file.
"use strict";

for (const slider of document.querySelectorAll("input[type=range][data-slider]")) {
  const field = document.getElementById(slider.dataset.slider);
  slider.hidden = false;
  // an empty field: the slider stands at the value in force, and without one it has no thumb
  const show = () => {
    const isSet = field.value.trim() !== "";
    slider.value = isSet ? field.value.replace(",", ".") : slider.dataset.stands ?? "50";
    slider.classList.toggle("unset", !isSet);
    slider.classList.toggle("nowhere", !isSet && !slider.dataset.stands);
    if (isSet) slider.removeAttribute("aria-valuetext");
    else slider.setAttribute("aria-valuetext", slider.dataset.notSet);
  };
  show();
  slider.addEventListener("input", () => {
    field.value = slider.value;
    show();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.addEventListener("input", (event) => { if (event.isTrusted) show(); });
}

for (const select of document.querySelectorAll("select[data-unit-of]")) {
  const field = document.getElementById(select.dataset.unitOf);
  field.addEventListener("input", () => {
    for (const option of select.options) option.textContent = field.value.trim() === "1" ? option.dataset.one : option.dataset.many;
  });
}

const filter = document.querySelector("[data-filter]");
if (filter) {
  const settings = [...document.querySelectorAll("[data-setting]")].map((shown) => [shown, shown.textContent.toLowerCase()]);
  filter.closest("label").hidden = false;
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    for (const [shown, text] of settings) shown.hidden = !words.every((word) => text.includes(word));
    for (const section of document.querySelectorAll("[data-section]")) section.hidden = !section.querySelector("[data-setting]:not([hidden])");
    document.querySelector("[data-none]").hidden = document.querySelector("[data-section]:not([hidden])") !== null;
  });
}
