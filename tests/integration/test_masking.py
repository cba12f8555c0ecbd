"""What vendors receive of an account that masks personal data, on real servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from db.documents.ingest import DocumentFile, DocumentOptions, Ingest
from db.pool import create_pool
from sandbox.server import SandboxHandle
from tests.support.library import embedding
from tests.support.running import Running, running
from worker.reasons import Reason

PERSONAL = (
    "ann.lee@example.org",
    "orders@shop.example",
    "+49 170 1234567",
    "030 12345678",
    "4111 1111 1111 1111",
    "DE89 3704 0044 0532 0130 00",
)
DOCUMENT = """# Change an order

To change an order, write to orders@shop.example or call 030 12345678.
Refunds go to the account DE89 3704 0044 0532 0130 00.
"""
ABOUT = "I am ann.lee@example.org, +49 170 1234567, card 4111 1111 1111 1111."
ASKED = f"{ABOUT} Where do I write to change my order?"
AGAIN = "Where do I write to change my order again?"
JUDGED = {"name": "guardrail"}


@pytest.fixture
def engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """An engine with embeddings and a judge."""
    environment = {
        "HUSHGATE_EMBEDDINGS": "hash",
        "HUSHGATE_EMBEDDINGS_URL": sandbox.base_url,
    }
    with running(database_url, redis_url, sandbox, **environment) as each:
        yield each


async def _add(url: str, sandbox: SandboxHandle, user_id: str) -> dict[str, Any]:
    async with create_pool(url, size=2, application="test", role=None) as source, embedding(sandbox) as model:
        ingest = Ingest(source, model, DocumentOptions(user_id=user_id))
        row = await ingest.add(DocumentFile(name="orders.md", source="orders.md", data=DOCUMENT.encode()))
        await ingest.finish()
    return row


def leaked(sandbox: SandboxHandle) -> dict[str, list[str]]:
    """The personal data in requests, by route."""
    found: dict[str, list[str]] = {}
    for each in sandbox.requests(last=1000):
        text = orjson.dumps(each).decode()
        found.setdefault(str(each["route"]), []).extend(value for value in PERSONAL if value in text)
    return found


def test_no_request_holds_personal_data_and_the_reply_does(engine: Running) -> None:
    """Documents, message, history, draft, judge and moderation: four routes, and nothing on them."""
    user_id = engine.account(
        mask_personal_data=True,
        phone_countries=["de"],
        assessment_policy=JUDGED,
        prompt=f"Ours: {PERSONAL[1]}",
    )
    asyncio.run(_add(engine.url, engine.sandbox, user_id))
    first = engine.decide(user_id, ASKED, conversation_id="talk")
    second = engine.decide(user_id, AGAIN, conversation_id="talk")
    sent = engine.row("SELECT text FROM outbox WHERE event_id = %s", first["event_id"])

    assert first["reason_code"] == second["reason_code"] == Reason.REPLIED
    assert sent is not None
    assert "orders@shop.example" in sent["text"]
    assert leaked(engine.sandbox) == {"chat": [], "judge": [], "moderations": [], "embeddings": []}
    assert first["message_text"] == ASKED
    assert first["snapshot_json"]["masked"] == {"email": 2, "phone": 2, "card": 1, "iban": 1}
    assert not [value for value in PERSONAL if value in orjson.dumps(first["snapshot_json"]).decode()]


def test_without_masking_the_same_data_is_in_the_requests(engine: Running) -> None:
    """The test above looks where the data would be."""
    user_id = engine.account(assessment_policy=JUDGED)
    asyncio.run(_add(engine.url, engine.sandbox, user_id))
    engine.decide(user_id, ASKED, conversation_id="open")
    engine.decide(user_id, AGAIN, conversation_id="open")

    assert all(leaked(engine.sandbox).values())
    assert set(leaked(engine.sandbox)) >= {"chat", "moderations", "embeddings"}
