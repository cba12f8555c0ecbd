"""Reads tables and streams as they are, for the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Protocol, cast

import orjson
from redis import Redis

from chaos.fleet.check_client import CheckClient
from chaos.fleet.review_client import ReviewClient
from chaos.fleet.world import ESCALATIONS, REPLIES, World
from chaos.laws.observations import (
    DecisionRow,
    HistoryRow,
    KeyRow,
    Observations,
    OutboxRow,
    SeenEscalation,
    SeenReply,
    SeenVerdict,
)
from chaos.ledger import Ledger
from chaos.observing import leaks
from chaos.observing.prompt_watch import PromptWatch

PAGE: Final = 5_000
UNFINISHED: Final = {
    "replies that wait": "SELECT count(*) FROM outbox WHERE delivered_at IS NULL AND NOT cancel_settled",
    "outgoing events that wait": "SELECT count(*) FROM outgoing_events WHERE streamed_at IS NULL",
    "outgoing events without webhooks": "SELECT count(*) FROM outgoing_events WHERE fanned_out_at IS NULL",
    "webhooks that are due": "SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting'"
    " AND next_attempt_at < now() - interval '10 seconds' AND (lease_until IS NULL OR lease_until < now())",
    "review jobs that do not end": "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')",
}
SWEPT_S: Final = 20.0
"""A row that a sweep added is sent within this time, also on a busy machine."""
LATER_WEBHOOKS: Final = """
    SELECT e.body->>'event_id' FROM outgoing_events e JOIN webhook_deliveries d ON d.event_row = e.id
    WHERE e.type = 'reply.created' AND d.state = 'waiting' AND EXISTS (
        SELECT FROM webhook_deliveries first
        WHERE first.endpoint_id = d.endpoint_id AND first.user_id = d.user_id
            AND first.conversation_id = d.conversation_id AND first.state = 'waiting'
            AND first.event_row <= d.event_row
            AND first.next_attempt_at BETWEEN now() AND now() + interval '6 minutes')
"""
"""Webhooks of a conversation are sent one after the other: all wait for the attempt of the first one. After a
second lost answer the next attempt follows in 5 minutes and at most a tenth."""
CANCELLED_WEBHOOKS: Final = """
    SELECT e.body->>'event_id', d.cancel_reason
    FROM outgoing_events e JOIN webhook_deliveries d ON d.event_row = e.id
    WHERE e.type = 'reply.created' AND d.state = 'cancelled'
"""
CANCELLED_REPLY: Final = "CASE WHEN cancelled_at IS NULL THEN '' ELSE coalesce(cancel_reason, 'asked') END"
CLOSED: Final = "SELECT decision_id FROM escalations WHERE closed_at IS NOT NULL"
KEYS: Final = """
    SELECT event_id, entry_id, decision_id, xmin::text::bigint,
        coalesce(floor(extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000), 0)::bigint
    FROM event_keys
"""
"""With the number of the transaction that wrote each: the order in which they began to write."""
OF_CHECK: Final = "coalesce(snapshot_json ->> 'type', '') = 'check'"
STORED_VERDICTS: Final = "SELECT event_id, decision_id::text, verdict ->> 'verdict' FROM checks"
DUE_WEBHOOKS: Final = (
    "SELECT (SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting'"
    " AND (next_attempt_at IS NULL OR next_attempt_at < now() + interval '40 seconds'))"
    " + (SELECT count(*) FROM outgoing_events WHERE fanned_out_at IS NULL)"
)
"""Those whose next attempt is not minutes away."""


class Servers(Protocol):
    """Postgres and Redis of a fleet."""

    @property
    def redis(self) -> Redis:
        """A client of its own."""

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of a query."""


def unfinished(world: World) -> dict[str, int]:
    """What is not finished now: entries on the stream, and rows that wait to be sent."""
    left = {"entries on the stream": unfinished_entries(world)}
    return left | {what: int(world.rows(query)[0][0]) for what, query in UNFINISHED.items()}


def unfinished_entries(world: World) -> int:
    """How many entries the streams of events have."""
    with world.redis as redis:
        return sum(cast("int", redis.xlen(each.name)) for each in world.layout.current())


def stuck(world: World, patience_s: float = SWEPT_S) -> dict[str, int]:
    """What stays unfinished; sweeps add rows at any time, which are sent a moment later."""

    def none_left() -> dict[str, int] | None:
        left = unfinished(world)
        return None if any(left.values()) else left

    return world.until(none_left, patience_s) or unfinished(world)


def observe(
    world: World,
    ledger: Ledger,
    prompts: PromptWatch,
    review_client: ReviewClient,
    check_client: CheckClient,
    growth: leaks.Growth,
) -> Observations:
    """Everything that the oracle judges.

    What was closed before everything was sent must be on the streams that are read after that.
    """
    closed = frozenset(str(row[0]) for row in world.rows(CLOSED))
    left = stuck(world)
    return replace(
        stored(world, ledger),
        closed_before=closed,
        webhooks=tuple(world.receiver.taken.values()),
        webhooks_later=frozenset(row[0] for row in world.rows(LATER_WEBHOOKS)),
        webhooks_cancelled=dict(world.rows(CANCELLED_WEBHOOKS)),
        residue=tuple(prompts.residue),
        prompts_missed=prompts.missed,
        jobs=review_client.seen(),
        checks=check_client.asked,
        verdicts=tuple(check_client.verdicts),
        stored_verdicts=tuple(
            SeenVerdict(name=name, decision_id=key, verdict=verdict)
            for name, key, verdict in world.rows(STORED_VERDICTS)
        ),
        check_decisions=tuple(world.rows(f"SELECT event_id, id::text FROM ai_decisions WHERE {OF_CHECK}")),
        left=left,
        leaks=growth.breaches(world),
    )


def stored(fleet: Servers, ledger: Ledger) -> Observations:
    """What streams and tables hold of the events and their replies."""
    closed = frozenset(str(row[0]) for row in fleet.rows(CLOSED))
    with fleet.redis as redis:
        replies, escalations = tuple(_replies(redis)), tuple(_escalations(redis))
    return Observations(
        published=ledger.published,
        entries=ledger.entries,
        unacknowledged=ledger.unacknowledged,
        taken=ledger.taken,
        keys=_keys(fleet),
        decisions=tuple(
            DecisionRow(decision_id=str(key), name=name, decision=decision, reason=reason)
            for key, name, decision, reason in fleet.rows(
                f"SELECT id, event_id, decision, reason_code FROM ai_decisions WHERE NOT {OF_CHECK}"
            )
        ),
        duplicates=tuple(fleet.rows("SELECT entry_id, event_id FROM duplicates")),
        dead=tuple(
            (entry, _name_in(bytes(raw), ledger))
            for entry, raw in fleet.rows("SELECT entry_id, raw FROM dead_letters")
        ),
        history=_history(fleet),
        outbox=_outbox(fleet),
        replies=replies,
        escalations=escalations,
        closed_before=closed,
    )


def _keys(fleet: Servers) -> tuple[KeyRow, ...]:
    return tuple(
        KeyRow(
            name=name, entry_id=entry, decision_id=key and str(key), commit=commit, committed_ms=committed_ms
        )
        for name, entry, key, commit, committed_ms in fleet.rows(KEYS)
    )


def _outbox(fleet: Servers) -> tuple[OutboxRow, ...]:
    found = fleet.rows(
        f"SELECT event_id, origin = 'handoff', decision_id, text, {CANCELLED_REPLY} FROM outbox"
    )
    return tuple(
        OutboxRow(name=name, handoff=handoff, decision_id=str(key), text=text, cancelled=cancelled)
        for name, handoff, key, text, cancelled in found
    )


def _history(fleet: Servers) -> tuple[HistoryRow, ...]:
    found = fleet.rows(
        "SELECT conversation_id, message_id, role <> 'assistant', text FROM messages ORDER BY id"
    )
    return tuple(
        HistoryRow(conversation=conversation, name=name, by_author=by_author, text=text)
        for conversation, name, by_author, text in found
    )


def _replies(redis: Redis) -> Iterator[SeenReply]:
    for stream_id, body in _entries(redis, REPLIES):
        yield SeenReply(
            stream_id=stream_id,
            name=body["event_id"],
            conversation=body["conversation_id"],
            handoff=bool(body["handoff"]),
            decision_id=body["decision_id"],
            text=body["text"],
        )


def _escalations(redis: Redis) -> Iterator[SeenEscalation]:
    for _, body in _entries(redis, ESCALATIONS):
        yield SeenEscalation(decision_id=body["decision_id"], closed="cause" in body)


def _entries(redis: Redis, stream: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """All entries of a stream, in order."""
    start = "-"
    while found := cast("list[tuple[bytes, dict[bytes, bytes]]]", redis.xrange(stream, start, count=PAGE)):
        for entry_id, fields in found:
            yield entry_id.decode(), orjson.loads(fields[b"data"])
        start = f"({found[-1][0].decode()}"


def _name_in(raw: bytes, ledger: Ledger) -> str:
    """The name of a payload: the word in it that we published, or the event id."""
    text = raw.decode(errors="replace")
    words = text.replace('"', " ").replace(",", " ").split()
    return next((word for word in words if word in ledger.published), text[:60])
