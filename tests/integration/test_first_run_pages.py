"""The live test of the models and the test message, with a real engine and the sandbox."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest
from redis import Redis
from uuid_utils.compat import uuid7

from cli.review.site import model_answers
from db.people.attempts import MOST_A_MINUTE, AttemptKind
from db.people.records import Role
from gateway.event_stream import RedisEventStream
from review.first_run.message_page import MARK
from review.services.first_run import FirstRunServices
from sandbox.server import SandboxHandle
from tests.support.reviewing import ADDRESS, Visitor, Visitors, add_person, signed_in, site, site_with
from tests.support.running import eventually, running
from worker.settings import GatewaySettings, Settings

KEY = "sk-secret-of-the-test"
DONE = re.compile(r'<li class="done">\s*<span>([^<]+)</span>')
UNDECIDED = 'hx-trigger="every 1s"'


def services(url: str, redis_url: str, sandbox: SandboxHandle) -> FirstRunServices:
    """The services as ``hushgate review`` makes them."""
    servers = {"DATABASE_URL": url, "REDIS_URL": redis_url}
    named = {"HUSHGATE_MODEL_URL": sandbox.base_url, "HUSHGATE_MODEL_KEY": KEY}
    models = Settings.model_validate(servers | named)
    stream = GatewaySettings.model_validate(servers | {"HUSHGATE_REVIEW_URL": ADDRESS})
    return FirstRunServices(test_servers=partial(model_answers, models), events=RedisEventStream(stream))


@pytest.fixture
def visitors(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Visitors]:
    """Visitors of a site that can call models and publish."""
    with site_with(services(database_url, redis_url, sandbox), database_url) as running_site:
        yield running_site


def admin_of(visitors: Visitors, url: str) -> Visitor:
    """An administrator of every account."""
    return signed_in(visitors, add_person(url, Role.ACCOUNT_ADMIN))


def test_a_test_message_is_published_and_watched_until_decided(
    visitors: Visitors, database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Without a worker the page says so; with one it ends with the decision."""
    admin = admin_of(visitors, database_url)
    with running(database_url, redis_url, sandbox) as engine:
        account = engine.account(documents={"Hours": ["We are open from 9 to 17."]})
    path = f"/accounts/{account}/test-message"
    admin.get(path)
    sent = admin.post(path, text="When are you open?")
    watch = sent.headers["location"]
    waiting = admin.get(watch).text
    with running(database_url, redis_url, sandbox):
        decided = eventually(
            lambda: page if UNDECIDED not in (page := admin.get(watch).text) else "", "the decision"
        )

    assert sent.status_code == 303
    assert UNDECIDED in waiting
    assert "Open the decision" in decided
    assert "When are you open?" in decided
    assert "<code>generation</code>" in decided
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT author_id, event_id FROM ai_decisions").fetchone()
    assert row is not None
    assert row[0] == "test-message"
    assert f"event={row[1]}" in watch


def test_a_message_that_no_worker_reads_says_what_to_do(
    visitors: Visitors, database_url: str, redis_url: str
) -> None:
    """An old entry that is still unread; ids of other forms are not looked for."""
    admin = admin_of(visitors, database_url)
    path = "/accounts/shop/test-message"
    with Redis.from_url(redis_url) as redis:
        redis.xadd("hushgate:events", {"data": b"{}"}, id="5-0")
    admin.get(path)

    assert (
        "Start one with <code>hushgate worker</code>"
        in admin.get(f"{path}?event={MARK}{uuid7()}&entry=5-0").text
    )
    assert admin.get(path + "?event=other&entry=1-0").status_code == 404
    assert admin.post(path, text=" ").status_code == 400


def test_without_settings_the_pages_say_what_is_missing(database_url: str) -> None:
    """A server without Redis and without settings of the models."""
    with site(database_url) as visitors:
        admin = admin_of(visitors, database_url)

        assert "REDIS_URL" in admin.get("/connect").text
        assert "REDIS_URL" in admin.get("/accounts/shop/test-message").text
        assert admin.post("/connect", what="save").status_code == 409
        assert admin.post("/accounts/shop/test-message", text="x").status_code == 409


def test_servers_count_the_test_messages_of_a_person_and_of_an_account_together(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Of twelve at once ten are sent; the limit is the person's and the account's, on every server."""
    offered, most = services(database_url, redis_url, sandbox), MOST_A_MINUTE[AttemptKind.TEST_MESSAGE]
    person, other = (add_person(database_url, Role.ACCOUNT_ADMIN) for _ in range(2))
    with site_with(offered, database_url) as here, site_with(offered, database_url) as there:
        first, again, colleague = here(), there(), there()
        for visitor, who in ((first, person), (again, person), (colleague, other)):
            visitor.sign_in(who)
            visitor.get("/accounts/crowded/test-message")

        def send(visitor: Visitor, account: str = "crowded") -> int:
            return visitor.post(f"/accounts/{account}/test-message", text="Hello").status_code

        with ThreadPoolExecutor(4) as threads:
            sent = Counter(threads.map(send, [first] * (most + 2)))

        assert sent == {303: most, 429: 2}
        assert [send(again, "quiet"), send(colleague), send(colleague, "quiet")] == [429, 429, 303]
