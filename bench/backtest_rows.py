"""A log of decisions with recordings for ``bench.backtest``: some are decided, the others are copies."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from db import decisions
from db.pool import Pool
from trials.pure.replay.deciding import compiled_version
from worker.adapters.system_clock import SystemClock
from worker.model import (
    Account,
    Completion,
    Decision,
    Event,
    Message,
    MessageRole,
    ModerationScores,
    Passage,
    Prompt,
    Retrieved,
    Scope,
    Tokens,
)
from worker.pipeline import decide
from worker.ports import Ports
from worker.recordings.recorder import Recorder
from worker.recordings.stored import encoded
from worker.steps.run import EventCase

CLOCK: Final = SystemClock()
DECIDED: Final = 1_000
"""Events that are decided and committed; the other rows are copies of theirs."""
OTHER_COLUMNS: Final = """
    SELECT column_name FROM information_schema.columns
    WHERE table_name = %s AND column_name <> ALL(%s) AND is_generated = 'NEVER' AND is_identity = 'NO'
"""
COPIED: Final = {"ai_decisions": "id", "recordings": "decision_id", "outbox": "decision_id"}
"""Table -> its key."""
OWN: Final = {"event_id": "'copy-' || new"}
"""Column -> what a copy has there."""
COPY: Final = """
    INSERT INTO {table} ({columns})
    SELECT {values}
    FROM unnest(%(old)s::uuid[], %(new)s::uuid[], %(at)s::timestamptz[], %(place)s::int[])
        AS pair (old, new, at, place)
    JOIN {table} ON {key} = old
"""


class Answers:
    """Ports that answer at once: what a decision costs without the models' time."""

    async def moderate(self, text: str, image_urls: object) -> ModerationScores:  # noqa: ARG002
        """Scores that depend on the text."""
        score = (len(text) * 7919 % 1000) / 50_000
        return ModerationScores(scores={"violence": score, "hate": 0.001}, flagged=frozenset(), model="m")

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:  # noqa: ARG002
        """A grounded draft."""
        text = "A purchase may be returned within thirty days with its receipt [1]."
        return Completion(text=text, model="m", tokens=Tokens(prompt=900, completion=30))

    async def search(self, *given: Any, **named: Any) -> Retrieved:  # noqa: ARG002
        """Three passages of 600 characters."""
        words = "A purchase may be returned within thirty days with its receipt. " * 9
        found = (
            Passage(passage_id=f"1#{number}", title="Returns", text=f"{number} {words}", similarity=0.8)
            for number in range(3)
        )
        return Retrieved(passages=tuple(found))

    async def history(self, *given: Any) -> tuple[Message, ...]:  # noqa: ARG002
        """Four lines."""
        line = Message(role=MessageRole.USER, text="Hello, I bought a lamp with you last week.")
        return (line,) * 4


def ports() -> Ports:
    """The ports of the benchmark."""
    answers = Answers()
    return Ports(clock=CLOCK, moderator=answers, model=answers, retriever=answers, conversations=answers)


def case(account: Account, number: int) -> EventCase:
    """One of many messages."""
    version, now = compiled_version(account, {}), CLOCK.now()
    event = Event(
        event_id=f"e{number}", entry_id=f"{number}-0", user_id=account.user_id, scope=Scope.CHAT,
        conversation_id=f"c{number}", message_id=f"m{number}", author_id="a",
        text=f"Within how many days may parcel {number % 1000} be returned, please{'!' * (number % 40)}",
        created_at=now, received_at=now,
    )  # fmt: skip
    return EventCase(
        event=event, account=account, rules=version.rules, policy=version.policy, delivery=version.delivery
    )


async def decided(
    account: Account, numbers: Iterable[int], answers: Callable[[], Ports] = ports
) -> list[Decision]:
    """These messages, decided, with their recordings."""
    made = []
    for each in numbers:
        one = case(account, each)
        recorder = Recorder(case=one, behind=answers())
        made.append(replace(await decide(one, recorder.ports), recording=encoded(recorder.recording())))
    return made


async def fill(
    source: Pool,
    made: Sequence[Decision],
    number: int,
    *,
    pick: Callable[[int], int] | None = None,
    own: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Commit decisions with their recordings, and copy their rows until there are enough.

    ``pick``: place of a copy -> which decision it is of; one after the other unless given. ``own``: column ->
    an SQL expression that copies have there, of ``place``, ``new`` and ``at``.
    """
    for start in range(0, len(made), 200):
        group = made[start : start + 200]
        await asyncio.gather(*(decisions.record_decision(source, each) for each in group))
    ids = [each.decision_id for each in made]
    await _copy(source, ids, number, pick or (lambda place: place % len(ids)), OWN | dict(own))


async def _copy(
    source: Pool,
    originals: Sequence[UUID],
    number: int,
    pick: Callable[[int], int],
    own: Mapping[str, str],
) -> None:
    """Copy rows of decisions and recordings under new ids, a millisecond apart, ten thousand at once."""
    last = CLOCK.now()
    for start in range(len(originals), number, 10_000):
        places = range(start, min(start + 10_000, number))
        times = [last - timedelta(milliseconds=number - place) for place in places]
        values = {
            "old": [originals[pick(place)] for place in places],
            "new": [CLOCK.new_id(at) for at in times],
            "at": times,
            "place": list(places),
        }
        async with source.connection() as connection:
            for table, key in COPIED.items():
                found = await connection.execute(OTHER_COLUMNS, (table, [key, "created_at"]))
                names = [row[0] for row in await found.fetchall()]
                rest = {name: own.get(name, name) for name in names}
                statement = COPY.format(
                    table=table,
                    key=key,
                    columns=", ".join((key, "created_at", *rest)),
                    values=", ".join(("new", "at", *rest.values())),
                )
                await connection.execute(statement.encode(), values)
        say(f"filled {places[-1] + 1:,} of {number:,}")


def say(what: str) -> None:
    """Print progress."""
    print(what, file=sys.stderr, flush=True)
