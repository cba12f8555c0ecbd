"""Pages look as they did: parts in their places, colours in theirs. ``make snapshots`` accepts a change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from cli.stack import Stack
from tests.conftest import NUMBERS, create_database
from tests.snapshots.camera import Camera
from tests.snapshots.rows import Seeded, seed
from tests.snapshots.state import FILE, Look, differences, load
from tests.snapshots.take import NAMES, Site, looks, site

OUT: Final = Path(__file__).parents[2] / "out" / "snapshots"
MOST_BYTES: Final = 100_000
WIDE_LIST: Final = "list wide light"


@pytest.fixture(scope="module")
def seeded(stack: Stack, template: str) -> tuple[str, Seeded]:
    """A database of this module's own, made before the browser, whose event loop is this thread's."""
    name = f"hushgate_snapshots_{next(NUMBERS)}"
    url = create_database(stack.database_url, name, template)
    return url, seed(url)


@pytest.fixture(scope="module")
def pages(
    seeded: tuple[str, Seeded], stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """The running site with its cameras."""
    url, rows = seeded
    with site(url, stack.redis_url, rows, tmp_path_factory.mktemp("snapshots")) as running:
        yield running


@pytest.mark.parametrize("name", NAMES)
def test_a_page_looks_as_before(pages: Site, name: str) -> None:
    """At three sizes, within the tolerance; the whole picture is kept when it does not."""
    before, found = load(), {}
    for state, look, picture in looks(pages, name):
        changed = differences(before[state], look) if state in before else ["not in the file"]
        if changed:
            OUT.mkdir(parents=True, exist_ok=True)
            (OUT / f"{state.replace(' ', '-')}.png").write_bytes(picture)
            found[state] = changed

    assert found == {}, f"`make snapshots` accepts this; pictures are in {OUT}"


def test_the_file_is_small_and_has_nothing_else() -> None:
    """A page that is gone leaves the file; readers of a change load it in no time."""
    assert {state.rsplit(" ", 2)[0] for state in load()} == set(NAMES)
    assert FILE.stat().st_size < MOST_BYTES


@pytest.mark.parametrize(
    ("style", "noticed"),
    [
        ("main h1 { position: relative; left: 20px; }", "h1 1"),
        (".nav { transform: translateX(24px); }", "nav 1"),
        (".badge { background: #b00020 !important; }", "colours"),
        ("main a { background: #fff3a0 !important; }", "colours"),
    ],
)
def test_a_moved_bar_and_a_changed_colour_are_seen(pages: Site, style: str, noticed: str) -> None:
    """Changes that a person notices exceed the tolerance."""
    changed = _wide(pages.lead, pages, style)

    assert any(line.startswith(noticed) for line in differences(load()[WIDE_LIST], changed))


def _wide(taken_by: Camera, pages: Site, style: str = "") -> Look:
    page = taken_by.open(pages.rows.paths["list"], style)
    page.set_viewport_size({"width": 1440, "height": 900})
    look, _ = taken_by.look(page)
    page.close()
    return look
