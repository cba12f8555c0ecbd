"""``make screenshots``: the pictures of docs/review.md, taken of the world that the browser tests use."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import structlog
from playwright.sync_api import Page

from cli.stack import Stack
from db.schema import migrate
from sandbox import server
from tests.support.browser.chromium import chromium
from tests.support.browser.desk import Desk
from tests.support.browser.serving import serving
from tests.support.browser.world import CHANNEL, SHOP, world

IMAGES: Final = Path(__file__).parents[2] / "docs" / "images"
SECRETS_KEY: Final = base64.b64encode(bytes(32)).decode()
SCREEN: Final = {"width": 1200, "height": 860}
WEBP: Final = """async (picture) => {
    const bitmap = await createImageBitmap(await (await fetch(picture)).blob());
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    return canvas.toDataURL("image/webp", 0.5);
}"""
SHORT: Final[dict[str, object]] = {"viewport": {"width": 1200, "height": 620}}
DARK: Final[dict[str, object]] = {"color_scheme": "dark"}
ON_A_PHONE: Final[dict[str, object]] = {"viewport": {"width": 390, "height": 844}}


def main() -> None:
    """Write every picture anew."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    IMAGES.mkdir(exist_ok=True)
    with ExitStack() as stack:
        servers = stack.enter_context(Stack())
        migrate.upgrade(servers.database_url)
        sandbox = stack.enter_context(server.start())
        seeded = stack.enter_context(world(servers.database_url, servers.redis_url, sandbox))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        origin = stack.enter_context(
            serving(seeded.url, servers.redis_url, folder / "review.log", HUSHGATE_SECRETS_KEY=SECRETS_KEY)
        )
        desk = Desk(
            browser=stack.enter_context(chromium()), origin=origin, world=seeded, log=folder / "review.log"
        )
        for name, (path, options, prepare) in _pictures(desk).items():
            page = desk.sit("everything", **{"viewport": SCREEN} | options)
            page.goto(path)
            prepare(page)
            _keep(page, name)
            page.context.close()
        _collision(desk)


def _pictures(desk: Desk) -> dict[str, tuple[str, dict[str, object], Callable[[Page], None]]]:
    """Name -> page, how it is looked at, and what is done before the picture is taken."""
    block = f"/decisions/{desk.world.decision(SHOP, 'FLAGGED_RULE')}"
    reply = f"/decisions/{_about(desk, 'How long is my gift card valid?')}"
    shop = f"/decisions?account={SHOP}"
    return {
        "list": (shop, SHORT, _as_it_is),
        "list-phone": (shop, ON_A_PHONE, _as_it_is),
        "block": (block, {}, _overturned),
        "block-phone": (block, ON_A_PHONE, _as_it_is),
        "reply": (reply, {}, _as_it_is),
        "inbox-case": (f"/escalations/{desk.world.endings['LOW_CONFIDENCE_ESCALATED']}", {}, _as_it_is),
        "queues": ("/queues", {}, _as_it_is),
        "queues-phone": ("/queues", ON_A_PHONE | DARK, _as_it_is),
        "dashboard": (f"/dashboard?account={SHOP}", {}, _as_it_is),
        "dashboard-dark": (f"/dashboard?account={SHOP}", SHORT | DARK, _as_it_is),
        "owner-home": (f"/accounts/{SHOP}/home", {}, _as_it_is),
        "owner-settings": (f"/accounts/{SHOP}/settings", {}, _as_it_is),
        "connect": ("/connect", SHORT, _as_it_is),
        "agreement": ("/agreement", SHORT, _as_it_is),
        "rules": (f"/accounts/{SHOP}/rules", {}, _try_a_text),
    }


def _about(desk: Desk, message: str) -> str:
    """Id of the decision on a message of the demo."""
    row = desk.world.running.row("SELECT id FROM ai_decisions WHERE message_text = %s", message)
    assert row is not None, message
    return str(row["id"])


def _as_it_is(_: Page) -> None:
    pass


def _overturned(page: Page) -> None:
    for key in "2b":
        page.keyboard.press(key)


def _try_a_text(page: Page) -> None:
    page.locator("textarea[name=text]").fill("Do you sell v.i.a.g.r.a here? c1ick here!")
    page.locator("#hits mark").first.wait_for()
    page.evaluate("scrollTo(0, 0)")


def _collision(desk: Desk) -> None:
    """Two people review the same decision; the slower one is shown both versions."""
    path = f"/decisions/{desk.world.decision(CHANNEL, 'NO_ANSWER')}"
    pages = [desk.sit(who, viewport=SCREEN) for who in ("reviewer", "second reviewer")]
    for page in pages:
        page.goto(path)
    for page, ruling, note in zip(
        pages, ("Agree", "Unsure"), ("Not in the documents.", "I would have asked back."), strict=True
    ):
        page.get_by_role("radio", name=ruling).check()
        page.locator("#note").fill(note)
        page.get_by_role("button", name="Store").click()
        page.locator("[data-reviews]").first.wait_for()
    _keep(pages[1], "collision")


def _keep(page: Page, name: str) -> None:
    """Write the picture as WebP, which the browser encodes: a third of a PNG."""
    encoded = base64.b64encode(page.screenshot(scale="css")).decode()
    darkroom = page.context.browser.new_page() if page.context.browser else page
    small = darkroom.evaluate(WEBP, f"data:image/png;base64,{encoded}")
    darkroom.close()
    (IMAGES / f"{name}.webp").write_bytes(base64.b64decode(small.partition(",")[2]))


if __name__ == "__main__":
    main()
