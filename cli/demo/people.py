"""People around the system: escalations reach a receiver, a person takes over, a held draft is approved."""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast
from urllib.parse import quote
from uuid import uuid4

import orjson
from redis import Redis

from cli.demo import events, sample_reviewers
from cli.demo.receiver import Receiver
from cli.deployment import loopback
from cli.stack.fleet import Fleet
from db.access_log import LogEntry, LoggedAction
from db.people.api_tokens import TokenScope
from db.review_store import Store
from db.webhooks import deliveries, endpoints
from db.webhooks.endpoints import NewEndpoint
from review.auth.api_tokens import store_new_token
from tasks.publishing.publish import append
from worker.reasons import Reason
from worker.webhooks.signing import decode_secret
from worker.webhooks.types import WebhookType

LOOPBACK: Final = "HUSHGATE_WEBHOOK_LOOPBACK"
ACCOUNT: Final = "corner-shop"
SUBSCRIBED: Final = (
    WebhookType.ESCALATION_OPENED,
    WebhookType.REPLY_CREATED,
    WebhookType.CONVERSATION_TAKEN,
)
MADE_BY: Final = "hushgate demo"
QUESTION: Final = "What are your opening hours?"
PATIENCE_S: Final = 60.0
LOOK_S: Final = 0.2
TOKEN_LIFE: Final = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of what people do in the demo.

    Attributes:
        ok: whether what must happen happened.
        figures: what happened, as a sentence.
    """

    step: str
    ok: bool
    figures: str


async def subscribe(running: Fleet, receiver: Receiver) -> None:
    """Send the events of every account to the receiver."""
    now = datetime.now(UTC)
    new = NewEndpoint(
        user_id="*", url=receiver.url, description=MADE_BY, types=SUBSCRIBED, created_by=MADE_BY
    )
    logged = LogEntry(person=MADE_BY, action=LoggedAction.WEBHOOK, detail={"changed": "added"})
    async with Store(running.stack.database_url, size=1) as store:
        await endpoints.add_endpoint(store.pool, new, decode_secret(receiver.secret), now, logged=logged)


def story(
    running: Fleet, receiver: Receiver, *, run: str, stream: str, escalated: int, replies: int
) -> tuple[Step, ...]:
    """What people see and do after the events of a run; the review pages must answer."""
    pages = _Pages(running.review_url, asyncio.run(_token(running)))
    return (
        _received(running, receiver, escalated, replies),
        _taken_over(running, pages, receiver, run, stream),
        _approved(pages, receiver, run),
    )


def _received(running: Fleet, receiver: Receiver, escalated: int, replies: int) -> Step:
    """Every escalation and every reply arrived, but for replies to conversations that people took first."""

    def counts() -> tuple[int, int, int]:
        forestalled = asyncio.run(_forestalled(running))
        return len(receiver.of_type("escalation.opened")), len(receiver.of_type("reply.created")), forestalled

    def all_ended() -> bool:
        opened, sent, forestalled = counts()
        return (opened, sent + forestalled) == (escalated, replies)

    ok = _until(all_ended) and receiver.refused == 0
    opened, sent, forestalled = counts()
    figures = (
        f"{opened} of {escalated} escalations and {sent} of {replies} replies reached a webhook receiver,"
        f" {forestalled} not sent because people took over before,"
        f" {receiver.refused} requests with a wrong signature"
    )
    return Step(step="webhooks", ok=ok, figures=figures)


async def _forestalled(running: Fleet) -> int:
    """Replies that were not sent to the receiver, because people took their conversation."""
    async with Store(running.stack.database_url, size=1) as store:
        (endpoint,) = await endpoints.list_endpoints(store.pool, ("*",))
        found = await deliveries.list_deliveries(store.pool, endpoint.id, limit=1000, state="cancelled")
    return sum((each.type, each.cancel_reason) == ("reply.created", "taken_over") for each in found)


def _taken_over(running: Fleet, pages: _Pages, receiver: Receiver, run: str, stream: str) -> Step:
    """A person takes a conversation; the AI is silent about a question that it could answer."""
    conversation = f"{run}-taken"
    before, after = (
        events.chat(run, name, conversation, QUESTION) for name in ("before-takeover", "after-takeover")
    )
    _publish(running, stream, before)
    _until(lambda: pages.reason(before["event_id"]) is not None)
    pages.post(f"/api/v1/accounts/{ACCOUNT}/conversations/{quote(conversation)}/take", {})
    _publish(running, stream, after)
    _until(lambda: pages.reason(after["event_id"]) is not None)
    reasons = pages.reason(before["event_id"]), pages.reason(after["event_id"])
    ok = reasons[1] == Reason.OWNED_BY_PEOPLE and _until(
        lambda: any(
            each["conversation_id"] == conversation for each in receiver.of_type("conversation.taken")
        )
    )
    figures = f"one question before a person took the conversation: {reasons[0]}, after it: {reasons[1]}"
    return Step(step="takeover", ok=ok, figures=figures)


def _approved(pages: _Pages, receiver: Receiver, run: str) -> Step:
    """A person approves a right draft that no judge could read; it leaves like any reply."""
    unjudged = events.unjudged_conversations(run)
    for item in pages.get(f"/api/v1/waiting?account={ACCOUNT}")["waiting"]:
        if item["conversation_id"] not in unjudged:
            continue
        path = f"/api/v1/decisions/{item['decision_id']}"
        if not (drafts := pages.get(f"{path}/drafts")["drafts"]):
            continue
        answer_id = str(uuid4())
        pages.post(f"{path}/answers", {"action": "approve", "draft": drafts[0]["id"], "answer_id": answer_id})
        ok = _until(
            lambda: any(each["event_id"].endswith(answer_id) for each in receiver.of_type("reply.created"))  # noqa: B023
        )
        state = "reached the receiver" if ok else "did not arrive"
        figures = f"a person approved a held draft, it {state}: {drafts[0]['text']}"
        return Step(step="approval", ok=ok, figures=figures)
    return Step(step="approval", ok=False, figures="no draft of this run waits for a person")


class _Pages:
    """The JSON API of the review pages, as a program of the demo's person uses it."""

    def __init__(self, address: str, token: str) -> None:
        self._address, self._token = address, token

    def get(self, path: str) -> dict[str, Any]:
        """The body of an answer."""
        return self._call(path, None)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The body of the answer to a change."""
        return self._call(path, orjson.dumps(body))

    def reason(self, event_id: str) -> str | None:
        """The reason code of the decision on an event; None before it."""
        found = self.get(f"/api/v1/decisions?event={quote(event_id)}")["decisions"]
        return cast("str", found[0]["reason_code"]) if found else None

    def _call(self, path: str, body: bytes | None) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        request = urllib.request.Request(self._address + path, data=body, headers=headers)  # noqa: S310  # our own server
        with loopback.DIRECT.open(request, timeout=PATIENCE_S) as answer:
            return cast("dict[str, Any]", orjson.loads(answer.read()))


async def _token(running: Fleet) -> str:
    """An API token of the demo's person."""
    async with Store(running.stack.database_url, size=1) as store, store.writing() as connection:
        token, _ = await store_new_token(
            connection,
            await sample_reviewers.add_demo_person(connection),
            name=MADE_BY,
            lasts=TOKEN_LIFE,
            scopes=(TokenScope.READ, TokenScope.REVIEW, TokenScope.ANSWER),
            now=datetime.now(UTC),
        )
    return token


def _publish(running: Fleet, stream: str, event: dict[str, Any]) -> None:
    with Redis.from_url(running.stack.redis_url) as client:
        append(client, [orjson.dumps(event)], stream=stream)


def _until(condition: Callable[[], bool]) -> bool:
    """Whether a condition came true within ``PATIENCE_S``."""
    deadline = time.monotonic() + PATIENCE_S
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    return met
