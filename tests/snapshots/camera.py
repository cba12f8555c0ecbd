"""Takes the looks of a page: every size and both themes, from one load."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from db.people.records import Person
from tests.snapshots.state import COLUMNS, ROWS, Look
from tests.support.browser.desk import sign_in

SIZES: Final[dict[str, ViewportSize]] = {
    "wide": {"width": 1440, "height": 900},
    "laptop": {"width": 1200, "height": 800},
    "phone": {"width": 390, "height": 844},
}
THEMES: Final = {"wide": ("light", "dark"), "laptop": ("light",), "phone": ("light", "dark")}
"""In two sizes both: boxes are those of the light page, and colours do not depend on the size."""
MASKED: Final = """
    time, code, bdi, [translate=no], [data-left], main svg:not(.icon) { visibility: hidden !important; }
    *, *::before, *::after { transition: none !important; animation: none !important; }
"""
"""Times, ids, data and plots: what they show is not the look. They keep their place."""
LANDMARKS: Final = (
    "nav",
    "main",
    "h1",
    ".toolbar",
    "main section",
    "main table",
    "main form",
    "main aside",
    "main figure",
    ".review-bar",
)
MOST_OF_A_KIND: Final = 3
BOXES: Final = """([selectors, most]) => {
    const found = {};
    for (const selector of selectors) {
        const seen = [...document.querySelectorAll(selector)].map((each) => each.getBoundingClientRect())
            .filter((box) => box.width > 1 && box.height > 1)
            .filter((box) => box.top < innerHeight - 24 && box.left < innerWidth - 24)
            .slice(0, most);
        for (const [place, box] of seen.entries()) {
            found[`${selector} ${place + 1}`] = [Math.max(0, box.left), Math.max(0, box.top),
                Math.min(innerWidth, box.right), Math.min(innerHeight, box.bottom)].map(Math.round);
        }
    }
    return found;
}"""
CELLS: Final = """async ([picture, columns, rows]) => {
    const bitmap = await createImageBitmap(await (await fetch(picture)).blob());
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(bitmap, 0, 0);
    const pixels = context.getImageData(0, 0, bitmap.width, bitmap.height).data;
    const sums = new Float64Array(columns * rows * 3), counts = new Float64Array(columns * rows);
    for (let y = 0, at = 0; y < bitmap.height; y++) {
        const row = Math.floor(y * rows / bitmap.height) * columns;
        for (let x = 0; x < bitmap.width; x++, at += 4) {
            const cell = row + Math.floor(x * columns / bitmap.width);
            counts[cell]++;
            for (let colour = 0; colour < 3; colour++) sums[cell * 3 + colour] += pixels[at + colour];
        }
    }
    return [...sums].map((sum, place) => Math.round(sum / counts[Math.floor(place / 3)]));
}"""
"""The mean red, green and blue of each cell of a picture."""
STEP: Final = 8
"""Colours are kept in steps of this size, so that the file is small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """A browser that looks at the pages of one site.

    Attributes:
        darkroom: an empty page in which pictures become thumbnails.
    """

    context: BrowserContext
    darkroom: Page

    def open(self, path: str, style: str = "") -> Page:
        """A page, masked; ``style`` is added to its own."""
        page = self.context.new_page()
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, (path, answer.status)
        page.wait_for_load_state("networkidle")  # panels load on their own
        page.add_style_tag(content=MASKED + style)
        return page

    def looks(self, page: Page) -> Iterator[tuple[str, Look, bytes]]:
        """Size and theme, the look, and the whole picture as PNG."""
        for size, viewport in SIZES.items():
            page.set_viewport_size(viewport)
            for theme in THEMES[size]:
                page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
                look, picture = self.look(page)
                yield f"{size} {theme}", look, picture

    def look(self, page: Page) -> tuple[Look, bytes]:
        """The page as it is now."""
        boxes = page.evaluate(BOXES, [LANDMARKS, MOST_OF_A_KIND])
        picture = page.screenshot(scale="css")
        encoded = "data:image/png;base64," + base64.b64encode(picture).decode()
        cells = self.darkroom.evaluate(CELLS, [encoded, COLUMNS, ROWS])
        kept = bytes(min(255, round(cell / STEP) * STEP) for cell in cells)
        return Look(boxes={name: tuple(box) for name, box in boxes.items()}, cells=kept), picture


def camera(browser: Browser, origin: str, person: Person, *, scale: float = 1) -> Camera:
    """A camera of this person; pages run their scripts, and their policy lets the mask in."""
    context = browser.new_context(
        base_url=origin,
        bypass_csp=True,
        locale="en-GB",
        timezone_id="UTC",
        device_scale_factor=scale,
        reduced_motion="reduce",
    )
    darkroom = context.new_page()
    sign_in(darkroom, person)
    return Camera(context=context, darkroom=darkroom)
