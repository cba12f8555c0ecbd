// A button that copies the text before it. Without this file, or without a clipboard, the text is selected by hand.
"use strict";

for (const button of navigator.clipboard ? document.querySelectorAll("[data-copy]") : []) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = button.dataset.copy;
  });
}
