"""What ``hushgate up`` promises: the dead are started again, its addresses are all another shell needs."""

from __future__ import annotations

import urllib.request

from cli.demo.fleet import fleet
from sandbox.server import DIRECT
from worker.settings import Settings


def test_a_dead_sandbox_is_started_again_at_its_address(database_url: str, redis_url: str) -> None:
    """The workers know it by its port."""
    with fleet({"DATABASE_URL": database_url, "REDIS_URL": redis_url}) as running:
        assert running.sandbox is not None
        first = running.sandbox
        first.process.kill()
        first.process.wait()
        mended, again = running.mend(), running.mend()
        with DIRECT.open(urllib.request.Request(f"{first.url}/healthz"), timeout=10) as answer:
            status = answer.status

    assert (mended, again, status) == (("sandbox",), (), 200)
    assert running.sandbox.process.poll() is not None


def test_the_addresses_are_all_another_shell_needs(database_url: str, redis_url: str) -> None:
    """Every command reads its settings from them alone."""
    with fleet({"DATABASE_URL": database_url, "REDIS_URL": redis_url}) as running:
        settings = Settings.model_validate(running.addresses)

    assert (settings.openai_base_url, settings.openrouter_base_url) == (
        running.environment["OPENAI_BASE_URL"],
        running.environment["OPENROUTER_BASE_URL"],
    )


def test_the_caller_s_own_key_is_not_printed(database_url: str, redis_url: str) -> None:
    """It is in the caller's shell already."""
    outside = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "OPENAI_API_KEY": "secret"}
    with fleet(outside) as running:
        assert running.addresses == {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
        assert running.sandbox is None
