// A slider beside each percent field; the field alone is sent, so the page works without this file.
"use strict";

for (const slider of document.querySelectorAll("input[type=range][data-slider]")) {
  const field = document.getElementById(slider.dataset.slider);
  slider.hidden = false;
  const show = () => { slider.value = field.value || slider.max; slider.classList.toggle("unset", !field.value); };
  show();
  slider.addEventListener("input", () => {
    field.value = slider.value;
    slider.classList.remove("unset");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.addEventListener("input", (event) => { if (event.isTrusted) show(); });
}
