"""An export of several pieces, downloaded by Chromium from a real server."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Locator, expect

from cli.stack import Stack
from db.people.records import Person, Role
from tests.conftest import create_database, database_at
from tests.integration.test_cli import MANY
from tests.support.browser.desk import Desk, export, sign_in
from tests.support.browser.serving import serving
from tests.support.reviewing import add_person

ROWS = 4_500
"""Three pieces."""


@pytest.fixture(scope="module")
def large(
    stack: Stack, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Person, str]]:
    """The address of pages over a large audit, a lead, and the database."""
    create_database(stack.database_url, "hushgate_large", template)
    database_url = database_at(stack.database_url, "hushgate_large")
    with psycopg.connect(database_url) as connection:
        connection.execute(MANY, {"first": 0, "last": ROWS})
    with ThreadPoolExecutor(1) as other:  # this thread's event loop is the browser's
        person = other.submit(add_person, database_url, Role.LEAD).result()
    with serving(database_url, stack.redis_url, tmp_path_factory.mktemp("large") / "log") as origin:
        yield origin, person, database_url


def link_to_export(desk: Desk, origin: str, person: Person) -> Locator:
    """The link to a new export of everything."""
    page = desk.stranger(base_url=origin)
    desk.watches.clear()  # these pages are not the desk's: it watches for what leaves its own origin
    sign_in(page, person)
    return export(page, "/decisions?since=all")


def test_chromium_saves_every_row_of_an_export(
    room: Desk, large: tuple[str, Person, str], tmp_path: Path
) -> None:
    """As many rows as the page says that the file holds, each once."""
    origin, person, _ = large
    link, saved = link_to_export(room, origin, person), tmp_path / "decisions.csv"
    expect(link.page.locator("#job")).to_contain_text(re.compile(r"has 4\D500 decisions"))
    with link.page.expect_download() as download:
        link.click()
    download.value.save_as(saved)
    with saved.open(encoding="utf-8", newline="") as file:
        found = [row["event_id"] for row in csv.DictReader(file)]

    assert found == [str(number) for number in range(ROWS)]


def test_chromium_says_that_a_download_failed_when_the_file_is_cut(
    room: Desk, large: tuple[str, Person, str]
) -> None:
    """A piece that is missing is no short file."""
    origin, person, database_url = large
    link = link_to_export(room, origin, person)
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM job_parts WHERE number = 3")
    with link.page.expect_download() as download:
        link.click()

    assert download.value.failure() is not None
