"""Records what the workers of a release say to Postgres: ``python -m tests.support.record_release 0.1.0``.

Run it for every release, before the migrations of the next one. ``tests/integration/test_upgrades.py``
restores the database of the release, migrates it and repeats the recording there.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from cli.stack import Stack
from db.backup.dump import dump_database
from db.escalations.closing import close_due_escalations
from db.pool import Pool, create_pool
from db.schema import migrate
from db.schema.partitions import ensure_partitions
from sandbox.server import SandboxHandle, start
from tasks.retention.sweep import sweep
from tests.support.conversing import HOURS, QUESTION
from tests.support.release_statements import MARK, RELEASES, Recording, recorded
from tests.support.running import OPEN, Running, eventually, running, store_account
from tests.support.seeding import seed_document
from tests.support.webhooks import add_endpoint
from worker.account_settings import changed
from worker.model import Account
from worker.settings import RetentionSettings

QUICK: Final = {"HUSHGATE_WEBHOOK_LOOPBACK": "true"}
LONG_AGO: Final = datetime(2006, 1, 1, tzinfo=UTC)
KEEP: Final = RetentionSettings.model_validate({"DATABASE_URL": "postgresql://unused"})
DELIVERED: Final = """
    SELECT 1 FROM outbox
    HAVING count(*) > 0 AND bool_and(delivered_at IS NOT NULL OR cancelled_at IS NOT NULL)
"""


def main() -> None:
    """Write ``RELEASE.dump`` and ``RELEASE.json`` to ``tests/fixtures/releases``."""
    RELEASES.mkdir(exist_ok=True)
    file = RELEASES / f"{sys.argv[1]}.json"
    with Stack() as servers, start() as sandbox:
        migrate.upgrade(servers.database_url)
        save(file, servers.database_url, servers.redis_url, sandbox)
    sys.stdout.write(f"{file}\n")


def save(file: Path, url: str, redis_url: str, sandbox: SandboxHandle) -> Path:
    """Write a recording, and next to it the dump of the database before the recording."""
    dump_database(url, file.with_suffix(".dump"))
    recording = Recording(at=datetime.now(UTC))
    with recorded(recording):
        record(url, redis_url, sandbox)
    file.write_bytes(recording.stored())
    return file


def record(url: str, redis_url: str, sandbox: SandboxHandle) -> None:
    """Let a worker do everything that it stores."""
    with running(url, redis_url, sandbox, **QUICK) as engine:
        for name, act in SCENES.items():
            act(engine, f"{MARK}{name}")
        engine.redis.xadd("hushgate:events", {"data": "not json"})
        eventually(lambda: engine.row("SELECT 1 FROM dead_letters"), "the dead letter")
        eventually(lambda: engine.row(DELIVERED), "all replies")
        eventually(lambda: engine.row("SELECT 1 FROM webhook_deliveries WHERE attempts > 0"), "a webhook")
        for task in UPKEEP:
            engine.runtime.call(task(engine.runtime.parts.pool))


def _account(
    engine: Running, account: str, *, documents: Mapping[str, list[str]] | None = None, **settings: Any
) -> None:
    found = changed(Account(user_id=account, version=0), {**OPEN, **settings})
    asyncio.run(store_account(engine.url, found))
    for title, paragraphs in (documents or {}).items():
        seed_document(engine.url, account, title, paragraphs)


def _answered(engine: Running, account: str) -> None:
    """A reply, its repetition, an edit and the deletion of its message; with webhooks."""
    _account(engine, account, documents=HOURS)
    asyncio.run(_subscribed(engine.url, account))
    first = engine.decide(account, QUESTION, event_id=f"{account}-1", message_id=f"{account}-m")
    eventually(lambda: engine.reply(account, first["event_id"]), "the reply")
    engine.publish(account, QUESTION, event_id=f"{account}-1", message_id=f"{account}-m")
    more = {"conversation_id": first["conversation_id"], "message_id": f"{account}-m"}
    engine.decide(account, "And on Sunday?", event_id=f"{account}-2", type="message_edited", **more)
    engine.decide(account, "", event_id=f"{account}-3", type="message_deleted", **more)


def _flagged(engine: Running, account: str) -> None:
    """A rule's hit, and an edit that is flagged."""
    _account(engine, account, documents=HOURS, flagged_keywords=["spam"])
    engine.decide(account, "spam", event_id=f"{account}-1")
    clean = engine.decide(account, QUESTION, event_id=f"{account}-2", message_id=f"{account}-m")
    more = {"conversation_id": clean["conversation_id"], "message_id": f"{account}-m"}
    engine.decide(account, "spam", event_id=f"{account}-3", type="message_edited", **more)


def _handed_over(engine: Running, account: str) -> None:
    """An escalation with a text to the author, a message that waits, and the answer of a person."""
    _account(
        engine,
        account,
        escalation_actions={"flagged_keyword:refund": "escalate"},
        flagged_keywords=["refund"],
        handoff_texts={"en": "A person will answer."},
    )
    asked = engine.decide(account, "refund", event_id=f"{account}-1", conversation_id=account)
    assert asked["decision"] == "escalate", asked["reason_code"]
    engine.decide(account, QUESTION, event_id=f"{account}-2", conversation_id=account)
    more = {"conversation_id": account, "type": "agent_message", "author_id": "ann"}
    engine.decide(account, "Hello", event_id=f"{account}-3", **more)


def _held(engine: Running, account: str) -> None:
    """A reply that waits for a person."""
    _account(engine, account, documents=HOURS, reply_mode="suggest")
    engine.decide(account, QUESTION, event_id=f"{account}-1")


async def _subscribed(url: str, account: str) -> None:
    async with create_pool(url, size=1, application="test", role="hushgate_reviewer") as people:
        await add_endpoint(people, account, "http://127.0.0.1:1/")


SCENES: Final[dict[str, Callable[[Running, str], None]]] = {
    "answered": _answered,
    "flagged": _flagged,
    "handed-over": _handed_over,
    "held": _held,
}
UPKEEP: Final[tuple[Callable[[Pool], Coroutine[Any, Any, Any]], ...]] = (
    lambda pool: close_due_escalations(pool, datetime.now(UTC)),
    lambda pool: ensure_partitions(pool, datetime.now(UTC).date()),
    lambda pool: sweep(pool, KEEP, LONG_AGO),
)
"""What beat starts."""

if __name__ == "__main__":
    main()
