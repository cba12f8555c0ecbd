"""What `hushgate up` promises: who reaches its servers, the dead start again, a shell has all it needs."""

from __future__ import annotations

import asyncio
import base64
import shlex
import stat
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from cli.demo.review_access import add_sample_reviews, await_pages, new_review_access
from cli.stack import Stack
from cli.stack.fleet import Fleet, fleet
from sandbox.server import DIRECT
from tests.support.running import eventually
from worker.errors import ConfigurationError
from worker.settings import Settings
from worker.settings.retention import KEY_BYTES


@pytest.fixture(scope="module")
def outside(database_url: str, stack: Stack) -> dict[str, str]:
    """The servers of a caller."""
    return {"DATABASE_URL": database_url, "REDIS_URL": stack.redis_url}


@pytest.fixture(scope="module")
def running(outside: dict[str, str]) -> Iterator[Fleet]:
    """A fleet on the servers of a caller, without workers."""
    with fleet(outside) as made:
        yield made
        assert made.sandbox is not None
        process = made.sandbox.process
    assert process.poll() is not None


def test_a_dead_sandbox_is_started_again_at_its_address(running: Fleet) -> None:
    """The workers know it by its port."""
    assert running.sandbox is not None
    first = running.sandbox
    first.process.kill()
    first.process.wait()
    restarted, again = running.restart_ended(), running.restart_ended()
    with DIRECT.open(urllib.request.Request(f"{first.url}/healthz"), timeout=10) as answer:
        status = answer.status

    assert (restarted, again, status) == (("sandbox",), (), 200)


def test_the_exports_are_all_another_shell_needs(running: Fleet) -> None:
    """Beside the sandbox every command reads its settings from them alone, and no model is made up."""
    found = {name: shlex.split(word)[0] for name, word in running.exports.items()}
    settings = Settings.model_validate(found)

    servers, url = settings.servers, running.environment["HUSHGATE_MODEL_URL"]

    assert servers.moderation is not None
    assert servers.judge is not None
    assert (servers.model.url, servers.moderation.url, servers.judge.url) == (url, url, url)
    assert (servers.model.model, servers.judge.model) == ("sandbox", "sandbox")
    assert running.inherited_keys == ()


def test_the_caller_s_own_key_is_not_printed(outside: dict[str, str]) -> None:
    """Another shell must set it too: its name is printed."""
    known = outside | {"HUSHGATE_REVIEW_URL": "https://review.example", "HUSHGATE_LOG_LEVEL": "INFO"}
    with fleet(known | {"OPENAI_API_KEY": "secret"}) as made:
        printed = made.exports
        for name in ("HUSHGATE_APPEAL_SECRET", "HUSHGATE_SECRETS_KEY", "HUSHGATE_SIGNING_KEY"):
            assert len(base64.b64decode(shlex.split(printed.pop(name))[0])) == KEY_BYTES
        assert printed == {
            "DATABASE_URL": shlex.quote(outside["DATABASE_URL"]),
            "REDIS_URL": shlex.quote(outside["REDIS_URL"]),
            "HUSHGATE_REVIEW_URL": "https://review.example",
            "HUSHGATE_LOG_LEVEL": "INFO",
        }
        assert made.inherited_keys == ("OPENAI_API_KEY",)
        assert made.sandbox is None


@pytest.mark.parametrize("variable", ["HUSHGATE_MODEL_URL", "OPENAI_BASE_URL", "OPENROUTER_BASE_URL"])
def test_a_server_of_models_that_needs_no_key_is_used(outside: dict[str, str], variable: str) -> None:
    """Its address is enough; without a key of OpenAI nothing is moderated."""
    place = "http://127.0.0.1:11434/v1"
    with fleet(outside | {variable: place}) as made:
        settings = Settings.model_validate(made.environment)

    assert made.sandbox is None
    assert (settings.servers.model.url, settings.servers.moderation) == (place, None)


def test_dead_review_pages_are_started_again_at_their_address(running: Fleet) -> None:
    """Whoever has them open goes on where they were."""
    running.start("review", "cli", "review")
    await_pages(running, print)
    address, died = running.review_url, running.workers["review"]
    died.kill()
    died.wait()
    restarted = running.restart_ended()
    await_pages(running, print)

    assert (restarted, running.review_url) == (("review",), address)


def test_no_person_is_added_to_a_database_of_the_caller(running: Fleet, database_url: str) -> None:
    """A person with every role and a link for them belong in a database that ends with the demo only."""
    asyncio.run(add_sample_reviews(running))
    way = asyncio.run(new_review_access(running))
    with psycopg.connect(database_url) as connection:
        people = connection.execute("SELECT login FROM people").fetchall()

    assert (way.link, people) == (None, [])
    assert "add-person" in "".join(way.lines())


def test_every_unusable_variable_is_named_before_anything_starts() -> None:
    """All together, one line each."""
    outside = {"DATABASE_URL": "nonsense", "REDIS_URL": "http://x", "HUSHGATE_MODEL_ATTEMPTS": "zero"}
    with pytest.raises(ConfigurationError) as caught, fleet(outside):
        pass  # pragma: no cover

    assert all(name in str(caught.value) for name in outside)


def test_a_cold_worker_starts_within_three_seconds_of_cpu(running: Fleet, redis_url: str) -> None:
    """Until its first heartbeat; on a busy machine these seconds decide how soon lanes are taken over."""
    running.start_worker("cold")
    process = psutil.Process(running.workers["cold"].pid)
    with Redis.from_url(redis_url) as redis:
        eventually(lambda: redis.keys("*:hb:*"), "the first heartbeat")
    used = process.cpu_times()

    assert used.user + used.system <= 3.0


def test_redis_without_the_password_does_nothing(stack: Stack) -> None:
    """Loopback is everybody's: a stranger may say PING and nothing else."""
    with Redis(port=urlsplit(stack.redis_url).port or 0) as stranger:
        answered = stranger.ping()
        with pytest.raises(NoPermissionError):
            stranger.xrange("hushgate:events")
        with pytest.raises(NoPermissionError):
            stranger.config_set("dir", "/tmp")

    assert answered is True


def test_files_of_the_servers_are_their_owners_alone(stack: Stack) -> None:
    """The append-only file holds what users wrote, the socket trusts every program that reaches it."""
    with Redis.from_url(stack.redis_url, decode_responses=True) as redis:
        valkey = Path(redis.config_get("dir")["dir"])
    socket = Path(urlsplit(stack.database_url).query.removeprefix("host="))

    assert stat.S_IMODE(valkey.stat().st_mode) == 0o700
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700
