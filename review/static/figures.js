// The dashboard in a browser: values under the pointer or the arrow keys, PNG files, and a refresh each minute.
// Everything here is extra: without it the plots have titles, tables and files.
"use strict";

(() => {
  const NS = "http://www.w3.org/2000/svg";

  const rowsOf = (frame) => [...document.getElementById(frame.dataset.table).tBodies[0].rows];

  const show = (frame, at) => {
    const area = frame.querySelector(".area");
    const steps = Number(frame.dataset.steps);
    const place = Math.max(0, Math.min(steps - 1, at));
    let line = area.querySelector(".crosshair");
    if (!line) {
      line = document.createElementNS(NS, "line");
      line.setAttribute("class", "crosshair");
      line.setAttribute("y1", "4%");
      line.setAttribute("y2", "88%");
      area.append(line);
    }
    const x = `${((place + 0.5) * 100) / steps}%`;
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    frame.dataset.at = place;
    const heads = [...document.getElementById(frame.dataset.table).tHead.rows[0].cells].slice(1);
    const cells = [...rowsOf(frame)[place].cells];
    const readout = frame.parentElement.querySelector(".readout");
    readout.textContent = `${cells[0].textContent.trim()}: ` +
      heads.map((head, number) => `${head.textContent} ${cells[number + 1].textContent.trim()}`).join(" · ");
    readout.hidden = false;
  };

  const hide = (frame) => {
    frame.querySelector(".crosshair")?.remove();
    delete frame.dataset.at;
    frame.parentElement.querySelector(".readout").hidden = true;
  };

  const placeOf = (frame, event) => {
    const box = frame.querySelector(".area").getBoundingClientRect();
    return Math.floor(((event.clientX - box.left) / box.width) * Number(frame.dataset.steps));
  };

  const reachable = () => {
    for (const frame of document.querySelectorAll(".frame[data-steps]")) {
      frame.tabIndex = 0;
      frame.setAttribute("role", "group");
      frame.setAttribute("aria-label", frame.closest("figure").querySelector("h3").textContent.trim());
    }
    for (const link of document.querySelectorAll("a[data-svg]")) {
      if (link.nextElementSibling?.dataset.png) continue;
      const png = link.cloneNode(true);
      png.firstChild.textContent = "PNG";
      png.removeAttribute("data-svg");
      png.dataset.png = link.dataset.svg;
      link.after(" ", png);
      link.after(" ");
    }
  };

  const savePng = async (link) => {
    const image = new Image();
    image.src = link.href;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.naturalWidth;
    canvas.height = 2 * image.naturalHeight;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    const save = document.createElement("a");
    save.href = URL.createObjectURL(blob);
    save.download = `hushgate-${link.dataset.png}.png`;
    save.click();
    setTimeout(() => URL.revokeObjectURL(save.href), 10000);
  };

  const frameOf = (event) => event.target.closest?.(".frame[data-steps]");

  document.addEventListener("pointermove", (event) => {
    const frame = frameOf(event);
    for (const other of document.querySelectorAll(".frame[data-at]")) {
      if (other !== frame && other !== document.activeElement) hide(other);
    }
    if (frame) show(frame, placeOf(frame, event));
  });
  document.addEventListener("focusout", (event) => { if (frameOf(event)) hide(frameOf(event)); });
  document.addEventListener("focusin", (event) => {
    const frame = frameOf(event);
    if (frame && frame === event.target) show(frame, Number(frame.dataset.at ?? frame.dataset.steps - 1));
  });
  document.addEventListener("keydown", (event) => {
    const frame = frameOf(event);
    if (!frame || event.ctrlKey || event.altKey || event.metaKey) return;
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -1e6, End: 1e6 }[event.key];
    if (by) {
      event.preventDefault();
      show(frame, Number(frame.dataset.at ?? 0) + by);
    } else if (event.key === "Escape") {
      hide(frame);
    }
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-png]");
    if (!link) return;
    event.preventDefault();
    savePng(link);
  });

  const refresh = () => {
    const box = document.querySelector("[data-refresh]");
    const part = document.getElementById("figures");
    const isHeld = part?.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
    if (!part || !box?.checked || document.visibilityState !== "visible" || isHeld) return;
    const open = [...part.querySelectorAll("details[open]")].map((each) => each.closest("[id]")?.id);
    const held = document.activeElement?.closest?.("[id]")?.id;
    const at = document.activeElement?.dataset?.at;
    const scroll = [scrollX, scrollY];
    document.addEventListener("htmx:after:swap", () => {
      for (const id of open) document.getElementById(id)?.querySelector("details")?.setAttribute("open", "");
      reachable();
      const again = held && document.getElementById(held);
      if (again && document.activeElement === document.body) again.querySelector(".frame")?.focus();
      const frame = frameOf({ target: document.activeElement });
      if (frame && at !== undefined) show(frame, Number(at));
      scrollTo(...scroll);
    }, { once: true });
    part.dispatchEvent(new CustomEvent("figures:refresh"));
  };

  const box = document.querySelector("[data-refresh]");
  if (box) {
    box.closest("label").hidden = false;
    setInterval(refresh, Number(box.dataset.refresh) * 1000);
    document.addEventListener("figures:now", refresh);
  }
  reachable();
})();
