"""Every page that can be opened, as addresses of the seeded world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from review.routes import PAGES
from review.web import Page
from tests.browser.desk import Desk
from tests.browser.world import SHOP

SAMPLES: Final[dict[str, Callable[[Desk], str]]] = {
    "account": lambda _: SHOP,
    "decision_id": lambda desk: desk.world.endings["MODERATION_FLAGGED"],
    "document": lambda desk: str(_first(desk, "SELECT id FROM documents WHERE user_id = %s", SHOP)),
    "job_id": lambda desk: str(_first(desk, "SELECT id FROM jobs WHERE state = 'done'")),
    "version": lambda _: "1",
}
"""What stands for a parameter of a path; a route with another one needs a line here."""
QUERIES: Final[dict[str, str]] = {"compare": "?from=1&to=2"}
"""What a page needs to show something, by name of its route."""
OPENED: Final = tuple(
    page
    for page in PAGES
    if "GET" in page.methods and not page.api and not page.name.startswith("oidc")  # those lead elsewhere
)


def parameters(page: Page) -> tuple[str, ...]:
    """Names in braces of a path."""
    return tuple(part.split("}")[0].split(":")[0] for part in page.path.split("{")[1:])


def _first(desk: Desk, query: str, *values: object) -> object:
    row = desk.world.running.row(query, *values)
    assert row is not None, query
    return next(iter(row.values()))


def address(desk: Desk, page: Page) -> str:
    """A path of this route that leads somewhere."""
    path = page.path
    for part in path.split("{")[1:]:
        placeholder = part.split("}")[0]
        path = path.replace("{" + placeholder + "}", SAMPLES[placeholder.split(":")[0]](desk))
    return path + QUERIES.get(page.name, "")
