"""Uploads over a real socket: a document that takes minutes to read holds up its own account only."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import httpx2
import psycopg
import pytest
from redis import Redis

from cli.stack import Stack
from db.people.records import Role
from tests.support.browser.serving import serving
from tests.support.exporting import cookie_of
from tests.support.reader_processes import kill_readers, reader_processes
from tests.support.reviewing import CSRF, add_person
from tests.support.running import eventually
from tests.unit.documents.test_document_process import SLOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """A person with a browser of their own who edits the documents of one account."""

    address: str
    account: str
    cookie: str

    def upload(self, data: bytes) -> int:
        """Hand in a Markdown file; the status of the answer."""
        page = f"{self.address}/accounts/{self.account}/documents"
        with httpx2.Client(headers={"Cookie": self.cookie}, timeout=120, trust_env=False) as client:
            token = CSRF.search(client.get(page).text)
            assert token is not None
            file = {"file": ("slow.md", data, "text/markdown")}
            return client.post(page, data={"csrf": token[1]}, files=file).status_code


@pytest.fixture
def editors(
    database_url: str, stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Editor, Editor]]:
    """Editors of two accounts."""
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO ai_rules (user_id, version) VALUES ('slow', 1), ('quick', 1)")
    people = {name: add_person(database_url, Role.RULE_EDITOR, account=name) for name in ("slow", "quick")}
    with serving(database_url, stack.redis_url, tmp_path_factory.mktemp("uploads") / "log") as address:
        slow, quick = (
            Editor(address=address, account=name, cookie=cookie_of(database_url, person))
            for name, person in people.items()
        )
        yield slow, quick


def test_an_account_with_slow_documents_does_not_hold_up_another(editors: tuple[Editor, Editor]) -> None:
    """Three uploads of one account are under way; one of another account is stored meanwhile."""
    slow, quick = editors
    with ThreadPoolExecutor(4) as threads:
        held: list[Future[int]] = [threads.submit(slow.upload, SLOW + b"%d" % number) for number in range(3)]
        try:
            eventually(lambda: bool(reader_processes()), "a slow document to be read")
            stored = quick.upload(b"# Hours\n\nOpen at nine.")
            under_way = [each for each in held if not each.done()]
            reading = len(reader_processes())
        finally:
            while not all(each.done() for each in held):
                kill_readers()

    assert stored == 303
    assert (len(under_way), reading) == (3, 1)
    assert [each.result() for each in held] == [422] * 3
