"""Erasure: a planted sentinel that went through every path is found nowhere afterwards."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import orjson
import psycopg
import pytest
from redis import Redis
from uuid_utils.compat import uuid7

from cli.stack import Stack
from db import conservation
from db.audit.decision_list import read_connection
from db.governance.erasures import ErasureKind
from db.people.records import Role
from db.pool import create_pool
from db.webhooks import endpoints
from db.webhooks.endpoints import NewEndpoint
from review.lists.export_layout import Form
from sandbox.server import SandboxHandle
from tasks.publish import append
from tests.support import erasing
from tests.support.exporting import finished_export
from tests.support.reviewing import Visitor, add_person, site
from tests.support.running import Running, eventually, running
from tests.support.webhooks import LOGGED
from worker.webhooks.types import WebhookType

HOURS: Final = {
    "Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]
}
WORD, AUTHOR, PLACE = "zquibble7731", "author-zorblax-4421", "chat-quux-9917"
QUESTION: Final = f"When are you open on weekdays? {WORD}"
FORM: Final = {name: re.compile(rf'name="{name}" value="([^"]*)"') for name in ("answer", "seen", "draft")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """An account with an engine, the review pages and a webhook that nobody receives."""

    engine: Running
    account: str
    visitor: Visitor
    redis_url: str
    events: list[str] = field(default_factory=list)

    def say(self, text: str, **more: Any) -> dict[str, Any]:
        """The decision on a message of the sentinel's author."""
        row = self.engine.decide(self.account, text, **{"author_id": AUTHOR, "conversation_id": PLACE} | more)
        self.events.append(row["event_id"])
        return row


@pytest.fixture(scope="module")
def shop(stack: Stack, database_url: str, sandbox_process: SandboxHandle) -> Iterator[Shop]:
    """One for all tests of this module."""
    with Redis.from_url(stack.redis_url) as redis:
        redis.flushall()
    moderation = {"OPENAI_API_KEY": "sandbox", "OPENAI_BASE_URL": sandbox_process.base_url}
    sandbox_process.reset()
    with (
        running(database_url, stack.redis_url, sandbox_process, HUSHGATE_WEBHOOK_LOOPBACK="true") as engine,
        site(database_url, **moderation) as visitor,
    ):
        person = visitor()
        person.sign_in(add_person(database_url, *Role))
        account = engine.account(
            documents=HOURS,
            flagged_keywords=["forbidden"],
            assessment_policy={"name": "calibrated", "low_action": "escalate"},
        )
        asyncio.run(add_endpoint(database_url, account))
        yield Shop(engine=engine, account=account, visitor=person, redis_url=stack.redis_url)


async def add_endpoint(url: str, account: str) -> None:
    """An endpoint for every type, on a port where nothing listens."""
    new = NewEndpoint(
        user_id=account, url="http://127.0.0.1:9/", description="", types=list(WebhookType), created_by="kim"
    )
    async with create_pool(url, size=1, application="test", role="hushgate_reviewer") as people:
        await endpoints.add_endpoint(people, new, b"k" * 32, datetime.now(UTC), logged=LOGGED)


def fields_of(page: str) -> dict[str, str]:
    """The hidden fields of the answer's form."""
    found = {name: pattern.search(page) for name, pattern in FORM.items()}
    return {name: match[1] for name, match in found.items() if match}


def plant(shop: Shop) -> None:
    """Send the sentinel through every path."""
    engine, visitor, sandbox = shop.engine, shop.visitor, shop.engine.sandbox
    replied = shop.say(QUESTION)
    shop.say(f"forbidden {WORD}")
    shop.say(f"And on Sunday? {WORD}", scope="comment", conversation_id="thread-shared")
    sandbox.add_rule("chat", "ungrounded")
    escalated = shop.say(f"Are you open on weekdays, please? {WORD}")
    sandbox.reset()
    page = visitor.get(f"/decisions/{escalated['id']}").text
    sent = visitor.post(
        f"/decisions/{escalated['id']}/answer", **fields_of(page), action="edit", text=f"Yes, {WORD}."
    )
    assert sent.status_code in {200, 303}, sent.text
    engine.publish(
        shop.account, f"I took over, {WORD}", type="agent_message", author_id="agent-7", conversation_id=PLACE
    )
    append(engine.redis, [orjson.dumps({"user_id": shop.account, "author_id": AUTHOR, "text": WORD})])
    eventually(lambda: engine.row("SELECT 1 FROM dead_letters"), "the dead letter")
    review(shop, replied)
    visitor.get(f"/decisions?since=all&author={AUTHOR}")
    visitor.get(f"/decisions?since=all&text={WORD}")
    person = add_person(engine.url, *Role)
    finished_export(engine.url, person, Form.NDJSON, author=AUTHOR)
    with psycopg.connect(engine.url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO saved_views (id, person_id, name, query) VALUES (%s, %s, 'mine', %s)",
            (uuid7(), person.person_id, f"author={AUTHOR}"),
        )
        owner.execute(
            "INSERT INTO legal_holds (id, user_id, kind, subject, reason, placed_by, released_at, released_by)"
            " VALUES (%s, %s, 'author', %s, 'a case', 'kim', now(), 'kim')",
            (uuid7(), shop.account, AUTHOR),
        )
    eventually(lambda: engine.row("SELECT 1 FROM outbox WHERE origin = 'person' AND delivered_at IS NOT NULL"),
               "the answer on the stream")  # fmt: skip
    eventually(
        lambda: engine.row("SELECT 1 FROM webhook_deliveries WHERE attempts > 0"), "a webhook's attempt"
    )


def review(shop: Shop, decision: dict[str, Any]) -> None:
    """A review whose note quotes the message."""
    values = {"id": uuid7(), "decision": decision["id"], "at": decision["created_at"], "user": shop.account}
    with psycopg.connect(shop.engine.url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person, ruling, note, source)"
            " VALUES (%(id)s, %(decision)s, %(at)s, %(user)s, 'kim', 'agree', %(note)s, 'page')",
            values | {"note": f"they asked {WORD}"},
        )
        owner.execute(
            "INSERT INTO review_states (decision_id, decision_at, user_id, state, reviews, last_review)"
            " VALUES (%(decision)s, %(at)s, %(user)s, 'agree', 1, %(id)s)",
            values,
        )


def balance_of(shop: Shop) -> conservation.Balance:
    """The conservation law over stream and database."""
    info: Any = shop.engine.redis.xinfo_stream("hushgate:events")

    async def load() -> conservation.Balance:
        async with read_connection(shop.engine.url) as connection:
            return await conservation.load_balance(
                connection, accepted=info["entries-added"], unfinished=info["length"]
            )

    return asyncio.run(load())


def counted(shop: Shop) -> list[dict[str, Any]]:
    """What figures are made from: decisions by reason, with their tokens, attempts and reviews."""
    return shop.engine.rows(
        "SELECT d.reason_code, d.decision, count(*), sum((d.snapshot_json #>> '{tokens,prompt}')::int) AS tokens,"
        " sum(jsonb_array_length(d.snapshot_json -> 'attempts')) AS attempts, count(r.id) AS reviews,"
        " sum(jsonb_array_length(d.snapshot_json -> 'stages')) AS stages, sum(d.confidence) AS confidence"
        " FROM ai_decisions d LEFT JOIN decision_reviews r ON r.decision_id = d.id AND r.ruling = 'agree'"
        " GROUP BY 1, 2 ORDER BY 1, 2"
    )


def test_a_planted_sentinel_is_found_nowhere_after_its_author_is_erased(shop: Shop) -> None:
    """In no table and no key of Redis; what others wrote stays, and so do figures and idempotency."""
    engine, words = shop.engine, (WORD, AUTHOR, PLACE)
    plant(shop)
    kept = engine.decide(shop.account, "When are you open?", author_id="other", conversation_id="other-place")
    shared = engine.decide(
        shop.account, "When?", author_id="other", conversation_id="thread-shared", scope="comment"
    )
    append(
        engine.redis, [orjson.dumps({"user_id": shop.account, "author_id": "other", "text": "kept letter"})]
    )
    eventually(lambda: len(engine.rows("SELECT 1 FROM dead_letters")) == 2, "the other dead letter")
    before, figures = erasing.places(engine.url, engine.redis, *words), counted(shop)
    found = asyncio.run(erasing.erase(engine.url, shop.redis_url, shop.account, ErasureKind.AUTHOR, AUTHOR))
    after = erasing.places(engine.url, engine.redis, *words)
    again = engine.redis.xlen("hushgate:events")
    engine.publish(shop.account, QUESTION, author_id="ghost", event_id=shop.events[0], conversation_id="new")
    eventually(lambda: engine.row("SELECT 1 FROM duplicates"), "the event that comes again")
    gone = shop.visitor.get(f"/decisions/{decision_of(shop, shop.events[0])}")

    assert {line.partition(":")[0].removeprefix("public.").rstrip("0123456789_") for line in before} >= {
        "ai_decisions", "messages", "quarantine", "held_drafts", "outbox", "answers", "escalations",
        "outgoing_events", "webhook_deliveries", "decision_reviews", "dead_letters", "access_log", "jobs",
        "saved_views", "legal_holds", "b'hushgate",
    }  # fmt: skip
    assert after == []
    assert engine.row("SELECT 1 FROM job_parts") is None  # packed: the word is not seen in it
    assert found.phase == "finished"
    assert counted(shop) == figures
    assert again == 0
    assert gone.status_code == 410
    assert "was erased" in gone.text
    assert engine.decided(shop.account, kept["event_id"])["message_text"] == "When are you open?"
    assert engine.row("SELECT 1 FROM messages WHERE decision_id = %s", shared["id"])
    assert engine.row("SELECT 1 FROM dead_letters WHERE position('kept letter'::bytea in raw) > 0")
    assert balance_of(shop).holds


def decision_of(shop: Shop, event_id: str) -> Any:
    """The id of an event's decision."""
    row = shop.engine.row("SELECT decision_id FROM event_keys WHERE event_id = %s", event_id)
    assert row is not None
    return row["decision_id"]
