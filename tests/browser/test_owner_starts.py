"""An owner on an empty server: from the printed link to the first sent answer, without a terminal."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, expect

from cli.demo.review_access import await_pages, new_review_access
from cli.stack.fleet import Fleet, fleet
from sandbox.server import SandboxHandle
from tests.support.browser.desk import Desk

ROOT = Path(__file__).parents[2]
KEY = "sk-of-the-owner"
MOST_DECISIONS = 12
MOST_S = 180
PATIENCE_MS = 60_000
PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR")


@pytest.fixture
def running() -> Iterator[Fleet]:
    """``hushgate up --no-sandbox``: servers, pages and a worker without any model."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    with fleet(environment | {"PYTHONPATH": str(ROOT)}, sandbox=False) as made:
        made.start_all(1)
        await_pages(made, lambda _: None)
        yield made


class Owner:
    """A person at the pages, whose clicks are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.decisions = 0

    def press(self, name: str) -> None:
        """Press a button."""
        self._decide()
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def open(self, name: str) -> None:
        """Follow a link."""
        self._decide()
        self.page.get_by_role("link", name=name, exact=True).first.click()

    def write(self, label: str, text: str) -> None:
        """Fill a field."""
        self.page.get_by_label(label).first.fill(text)

    def home(self) -> None:
        """Back to the first steps."""
        self.page.get_by_role("link", name="Home").first.click()

    def _decide(self) -> None:
        self.decisions += 1


def test_an_owner_reaches_the_first_sent_answer_without_a_terminal(
    running: Fleet, sandbox: SandboxHandle, room: Desk
) -> None:
    """Connect, account, document, message, approval: at most twelve decisions and three minutes."""
    with ThreadPoolExecutor(1) as thread:  # the browser's event loop is this thread's
        link = thread.submit(asyncio.run, new_review_access(running)).result().link
    assert link is not None
    began = time.monotonic()
    with room.browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(link)
        owner = Owner(page)
        owner.press("Sign in")
        expect(page.get_by_role("heading", level=1)).to_have_text("Hello, Administrator")
        owner.open("Connect a model")
        owner.write("Address", sandbox.base_url)
        owner.write("Key", KEY)
        owner.press("Test and save")
        expect(page.get_by_text("Saved.")).to_be_visible(timeout=PATIENCE_MS)
        shown = page.content()
        owner.home()
        owner.open("Add an account")
        owner.write("Account", "corner-shop")
        owner.press("Set up")
        owner.home()
        owner.open("Add a document")
        owner.write("Or paste a text", "Opening hours: we are open from nine to six.")
        owner.press("Add")
        owner.home()
        owner.open("Send a test message")
        owner.write("A message of a customer", "When are you open?")
        owner.press("Send")
        page.get_by_role("link", name="Read the draft and answer").wait_for(timeout=PATIENCE_MS)
        owner.open("Read the draft and answer")
        owner.press("Approve and send")
        sent = _sent(running)
    took_s = time.monotonic() - began

    assert "nine to six" in sent
    assert KEY not in shown
    assert owner.decisions <= MOST_DECISIONS
    assert took_s < MOST_S


def _sent(running: Fleet) -> str:
    """The text of the delivered reply."""
    query = "SELECT text FROM outbox WHERE delivered_at IS NOT NULL"
    until = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < until:
        with psycopg.connect(running.stack.database_url) as connection:
            if row := connection.execute(query).fetchone():
                return str(row[0])
        time.sleep(0.2)
    raise AssertionError("no reply was delivered")
