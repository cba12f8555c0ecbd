"""docs/review.md describes the review pages as they are."""

from __future__ import annotations

import re
from pathlib import Path

from features.feature import parts
from review.decision.review_panel import KEYS
from review.http.static_files import STATIC
from review.shell.navigation import LINKS

TEMPLATES = (STATIC.parent / "templates", *parts("templates"))
ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "review.md").read_text(encoding="utf-8")


def _rows(header: str) -> list[list[str]]:
    lines = GUIDE[GUIDE.index(header) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_guide_lists_the_shortcuts_of_the_pages() -> None:
    """Every key that a template declares, and every key of the navigation."""
    templates = "".join(
        path.read_text(encoding="utf-8") for folder in TEMPLATES for path in folder.rglob("*.html")
    )
    declared = re.findall(r'(?:data-key|aria-keyshortcuts)="([^"{]+)"', templates)
    keys = {key.replace("Control", "Ctrl") for each in declared for key in each.split()}
    keys |= {f"g {link.key}" for link in LINKS} | set(KEYS.values())

    assert keys - {key for shown, _ in _rows("| keys |") for key in re.findall("`([^`]+)`", shown)} == set()


def test_every_picture_of_the_guide_exists_and_is_small() -> None:
    """Each file of docs/images is used; ``make screenshots`` makes them."""
    named = set(re.findall(r"\(images/([\w-]+\.webp)\)", GUIDE))
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "images").iterdir()}

    assert named == set(sizes)
    assert max(sizes.values()) < 90_000
    assert sum(sizes.values()) < 600_000
