"""The live test of the models and the test message, with a real engine and the sandbox."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from redis import Redis
from uuid_utils.compat import uuid7

from cli.review.first_run import model_answers
from db.people.records import Role
from gateway.event_stream import RedisEventStream
from review.first_run.message_page import MARK
from review.first_run.services import MOST_A_MINUTE, FirstRunServices, RecentAttempts
from sandbox.server import SandboxHandle
from tests.support.reviewing import ADDRESS, Visitor, add_person, site, site_with
from tests.support.running import eventually, running
from worker.settings import GatewaySettings, Settings

KEY = "sk-secret-of-the-test"
DONE = re.compile(r'<li class="done">\s*<span>([^<]+)</span>')
UNDECIDED = 'hx-trigger="every 1s"'


def services(url: str, redis_url: str, sandbox: SandboxHandle) -> FirstRunServices:
    """The services as ``hushgate review`` makes them."""
    servers = {"DATABASE_URL": url, "REDIS_URL": redis_url}
    keys = {"OPENAI_API_KEY": KEY, "OPENROUTER_API_KEY": KEY}
    urls = {"OPENAI_BASE_URL": sandbox.base_url, "OPENROUTER_BASE_URL": sandbox.base_url}
    models = Settings.model_validate(servers | keys | urls)
    stream = GatewaySettings.model_validate(servers | {"HUSHGATE_REVIEW_URL": ADDRESS})
    return FirstRunServices(call_models=lambda: model_answers(models), events=RedisEventStream(stream))


@pytest.fixture
def visitors(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Callable[[], Visitor]]:
    """Visitors of a site that can call models and publish."""
    with site_with(services(database_url, redis_url, sandbox), database_url) as running_site:
        yield running_site


def admin_of(visitors: Callable[[], Visitor], url: str) -> Visitor:
    """An administrator of every account."""
    visitor = visitors()
    visitor.sign_in(add_person(url, Role.ACCOUNT_ADMIN))
    return visitor


def test_the_model_test_makes_real_calls_and_names_errors_without_keys(
    visitors: Callable[[], Visitor], database_url: str, sandbox: SandboxHandle
) -> None:
    """Latency or error of each endpoint; a success marks the step; the number of tests is limited."""
    admin = admin_of(visitors, database_url)
    before = admin.get("/").text
    admin.get("/first-steps/models")
    sandbox.add_rule("chat", "401")
    refused = admin.post("/first-steps/models").text
    after_failure = admin.get("/").text
    sandbox.reset()
    passed = admin.post("/first-steps/models").text
    answers = [admin.post("/first-steps/models").status_code for _ in range(MOST_A_MINUTE - 1)]

    assert "401" in refused
    assert "set OPENROUTER_API_KEY to a key that the endpoint accepts" in refused
    assert "Every model answered." in passed
    assert "answered in" in passed
    assert KEY not in refused + passed
    steps = [DONE.findall(page) for page in (before, after_failure, admin.get("/").text)]
    assert steps == [[], [], ["Connect a model"]]
    assert answers[-1] == 429


def test_a_test_message_is_published_and_watched_until_decided(
    visitors: Callable[[], Visitor], database_url: str, redis_url: str, sandbox: SandboxHandle
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
    visitors: Callable[[], Visitor], database_url: str, redis_url: str
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

        assert "OPENROUTER_API_KEY" in admin.get("/first-steps/models").text
        assert "REDIS_URL" in admin.get("/accounts/shop/test-message").text
        assert admin.post("/first-steps/models").status_code == 409
        assert admin.post("/accounts/shop/test-message", text="x").status_code == 409


def test_attempts_are_counted_for_a_minute() -> None:
    """The fourth attempt of a minute waits for the end of the first one's."""
    start, attempts = datetime(2026, 11, 23, tzinfo=UTC), RecentAttempts()
    waits = [attempts.wait_s(start + timedelta(seconds=second)) for second in (0, 1, 2, 30, 61)]

    assert waits == [0, 0, 0, 31, 0]
