"""Commits of several events in one statement: outcomes and rows are those of commits one by one."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from db import dead_letters
from db.commits.commit_sql import KEY, KEY_OF_CHECK, commit_statement
from db.commits.record import record_decision
from db.commits.rows import PARAMETER, TYPES
from db.commits.stored_event import Recorded
from db.costs.ledger import STORE_LEDGER
from db.dead_letters import DeadLetter
from db.history.conversation_owners import Takeover, take_conversation
from db.history.conversations import PostgresConversations
from db.pool import Pool, create_pool
from tests.support.decided import new_event, reply_to, takeover
from worker.adapters.system_clock import SystemClock
from worker.errors import PayloadFault, PayloadRejected
from worker.model import Decision, DecisionKind, Event, Message, MessageRole, Source

CLOCK = SystemClock()
START = datetime(2026, 11, 22, 12, tzinfo=UTC)
CASES = 40
BLOCKED = {"reply": None, "quarantine": True, "rejected_draft": "no", "remember": False}
Outcome = Recorded | type[Exception]
Record = Callable[[Pool, Sequence[Decision]], Awaitable[list[Outcome]]]


@pytest.fixture
async def source(database_url: str) -> AsyncIterator[Pool]:
    """The hot path's connections, in the worker's role."""
    async with create_pool(database_url, size=4, application="test") as opened:
        yield opened


def decision(account: str, number: int, *, event: str = "", **changes: Any) -> Decision:
    """A decision; entry, message and conversation are those of its number."""
    at = START + timedelta(seconds=number)
    text = changes.pop("text", f"message {number}")
    made = new_event(
        at=at,
        event_id=event or f"e{number}",
        entry_id=f"{account}-{number}",
        user_id=account,
        conversation_id=f"c{number}",
        message_id=f"m{number}",
        text=text,
    )
    given: dict[str, Any] = {"reply": f"reply {number}", "remember": True} | changes
    return reply_to(
        made,
        at,
        kind=DecisionKind.RESPOND if given["reply"] else DecisionKind.IGNORE,
        reason_code="REPLIED" if given["reply"] else "LLM_ERROR",
        reason="a \N{SNOWMAN} \\ \" ' %(reply)s",
        confidence=1 / (number + 3),
        sources=(Source(number=1, passage_id="7#1", title="Hours"),),
        **given,
    )


def drawn(account: str, rng: random.Random) -> list[Decision]:
    """Decisions as a busy worker makes them: blocked messages, and repetitions or rows that cannot be stored.

    Not both: the rows of a group that failed are stored at once, so the first entry may lose to a repetition.
    """
    made, repeats = [], rng.random() < 0.5
    for number in range(rng.randint(2, 12)):
        kind = rng.random()
        event = f"e{rng.randrange(number)}" if number and repeats and kind < 0.2 else ""
        if kind > 0.8:
            changes: dict[str, Any] = {
                "reply": None,
                "quarantine": True,
                "rejected_draft": "no",
                "remember": False,
            }
        elif kind > 0.7:
            changes = {"reply": None, "remember": rng.random() < 0.5, "matched_rule": "flagged_keyword:x"}
        else:
            changes = {"text": "\x00"} if kind > 0.6 and not repeats else {}
        made.append(decision(account, number, event=event, **changes))
    return made


async def prepared(source: Pool, made: Sequence[Decision], rng: random.Random) -> None:
    """Some conversations have people in them, some entries are dead letters, some were decided before.

    Where an event that was repeated is taken over or buried, the outcome depends on which entry comes first.
    """
    repeated = Counter(each.event.event_id for each in made)
    for each in made:
        event = each.event
        state = rng.uniform(0.25 if repeated[event.event_id] > 1 else 0, 1)
        if state < 0.1:
            await take_conversation(source, taken(event), each.decided_at)
        elif state < 0.2:
            await dead_letters.bury(source, replace(letter(event), event=event))
        elif state < 0.25:
            another = replace(event, entry_id=f"{event.entry_id}x")
            await dead_letters.bury(source, replace(letter(event), event=another))
        elif state < 0.35 and "\x00" not in event.text:
            before = replace(event, entry_id=f"{event.entry_id}{rng.choice(('', 'y'))}")
            new_id = CLOCK.new_id(each.decided_at)
            await record_decision(source, replace(each, event=before, decision_id=new_id))


def taken(event: Event) -> Takeover:
    """People take the conversation of an event."""
    return takeover(event, people_until=START + timedelta(days=1))


def letter(event: Event) -> DeadLetter:
    """An event's entry as a dead letter."""
    why = PayloadRejected(code=PayloadFault.POISON, field="data", expected="an outcome", got="none")
    return DeadLetter(entry_id=event.entry_id, payload=b"x", size_bytes=1, why=why, at=START)


async def outcome(source: Pool, each: Decision) -> Outcome:
    """How a commit ended."""
    try:
        return await record_decision(source, each)
    except (psycopg.Error, ValueError) as error:
        return type(error)


async def one_by_one(source: Pool, made: Sequence[Decision]) -> list[Outcome]:
    """Each commit after the one before."""
    return [await outcome(source, each) for each in made]


async def together(source: Pool, made: Sequence[Decision]) -> list[Outcome]:
    """All commits at once."""
    return list(await asyncio.gather(*(outcome(source, each) for each in made)))


QUERIES = (
    "SELECT event_id, replace(entry_id, user_id, ''), created_at, decision_id IS NULL FROM event_keys",
    "SELECT created_at, event_id, message_id, conversation_id, author_id, scope, decision, confidence,"
    " reason_code, reason, matched_rule, message_text, snapshot_json - 'entry_id', degraded,"
    " rejection_reason FROM ai_decisions",
    "SELECT conversation_id, message_id, role, text, created_at FROM messages",
    "SELECT conversation_id, message_id, role, text, created_at, expires_at FROM quarantine",
    "SELECT event_id, conversation_id, message_id, scope, text, created_at, draft, sources, send_before,"
    " changes, metadata - 'user_id', disclosure FROM outbox",
    "SELECT event_id, replace(entry_id, user_id, '') FROM duplicates",
)


def stored(url: str, account: str) -> list[Counter[str]]:
    """Every row of an account that a commit writes, without generated ids."""
    with psycopg.connect(url) as connection:
        return [
            Counter(repr(row) for row in connection.execute(f"{query} WHERE user_id = %s", (account,)))
            for query in QUERIES
        ]


@pytest.mark.parametrize("half", [0, 1])
async def test_grouped_commits_end_as_single_commits(source: Pool, database_url: str, half: int) -> None:
    """Repetitions, takeovers, burials, blocked messages and a row that fails, in any mixture."""
    differences, seen = [], Counter[Outcome]()
    for case in range(half * CASES // 2, (half + 1) * CASES // 2):
        found = []
        for name, record in (("single", one_by_one), ("grouped", together)):
            rng, account = random.Random(case), f"{name}-{case}"
            made = drawn(account, rng)
            await prepared(source, made, rng)
            found.append((await record(source, made), stored(database_url, account)))
        seen.update(found[1][0])
        if found[0] != found[1]:
            differences.append((case, *(each[0] for each in found)))

    assert differences == []
    assert set(seen) > set(Recorded)
    assert any(isinstance(each, type) for each in seen)


async def test_commits_at_once_share_a_transaction(source: Pool, database_url: str) -> None:
    """A row that Postgres refuses has none, and the others are stored."""
    made = [decision("shared", number) for number in range(20)]
    made[7] = decision("shared", 7, text="\x00")
    found = await together(source, made)
    with psycopg.connect(database_url) as connection:
        query = "SELECT count(*) FROM event_keys WHERE user_id = 'shared' GROUP BY xmin::text"
        failed = connection.execute(query).fetchall()
    later = await together(source, [decision("later", number) for number in range(20)])
    with psycopg.connect(database_url) as connection:
        groups = connection.execute(query.replace("shared", "later")).fetchall()

    assert [place for place, each in enumerate(found) if each is not Recorded.NEW] == [7]
    assert failed == [(1,)] * 19
    assert later == [Recorded.NEW] * 20
    assert groups == [(20,)]


async def test_two_workers_with_the_same_events_do_not_wait_for_each_other(
    source: Pool, database_url: str
) -> None:
    """Groups in opposite orders: one of the two wins each event."""
    async with create_pool(database_url, size=4, application="rival") as rival:
        for case in range(10):
            made = [decision(f"race-{case}", number) for number in range(30)]
            again = [replace(each, decision_id=CLOCK.new_id(each.decided_at)) for each in reversed(made)]
            first, second = await asyncio.gather(together(source, made), together(rival, again))
            pairs = {frozenset(pair) for pair in zip(first, reversed(second), strict=True)}

            assert pairs == {frozenset((Recorded.NEW, Recorded.ALREADY))}


async def test_histories_asked_for_at_once_are_those_of_their_conversations(source: Pool) -> None:
    """Each has its own lines, the newest, oldest first."""
    await together(source, [decision("told", number) for number in range(5)])
    history = PostgresConversations(source).history
    asked = [("told", "c3", 20), ("told", "c1", 1), ("told", "unknown", 20), ("other", "c1", 20)]
    found = await asyncio.gather(*(history(*each) for each in asked))

    user, assistant = MessageRole.USER, MessageRole.ASSISTANT
    assert found == [
        (Message(role=user, text="message 3"), Message(role=assistant, text="reply 3")),
        (Message(role=assistant, text="reply 1"),),
        (),
        (),
    ]


def test_each_parameter_of_the_commit_is_a_column() -> None:
    """A parameter without a type would not reach the rows."""
    statement = commit_statement(decision("typed", 0), KEY) + KEY_OF_CHECK + STORE_LEDGER
    parameters = set(PARAMETER.findall(statement))

    assert parameters == set(TYPES)
