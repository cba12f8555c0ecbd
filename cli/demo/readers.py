"""Two invented colleagues who have read some decisions of the demo, so that there is something to see."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from db import audit, claims, filling, people, queues, reviewing, reviews
from db.people import Grant, Role
from db.queues import Kind, Opening, Sample
from db.review_store import Store
from db.reviewing import Submission
from db.reviews import Cause, Reviewer, Ruling
from worker.policy import Reason

PERSON: Final = "demo"
"""Whom the demo's sign-in link signs in; has every role on every account."""
COLLEAGUES: Final = ("kim", "robin")
DRAWN: Final = "Silent ignores, one in three"
"""A queue of the demo's own: the standing one draws one in twenty, too few of three hundred."""
FIRST_READ: Final = 18
SECOND_READ: Final = 12
NOTE: Final = "An example: nobody has read this decision."
CAUSES: Final = {
    Reason.FLAGGED_RULE: Cause.RULE_TOO_BROAD,
    Reason.MODERATION_FLAGGED: Cause.MODERATION_TOO_STRICT,
    Reason.NO_EVIDENCE: Cause.MISSING_KNOWLEDGE,
    Reason.REPLIED: Cause.WRONG_FACTS,
}


async def admit(store: Store) -> None:
    """Add the person who is to look around, once."""
    async with store.writing() as connection:
        await _add(connection, PERSON, "You (demo)", tuple(Role))


async def read_some(store: Store) -> None:
    """Add two colleagues, a queue for them, and what they said; once."""
    now = datetime.now(UTC)
    async with store.writing() as connection:
        first, second = [await _colleague(connection, login) for login in COLLEAGUES]
        if DRAWN in {queue.name for queue in await queues.all_open(connection)}:
            return
        drawn = Opening(name=DRAWN, kind=Kind.SAMPLE, sample=Sample(share=1 / 3), second_share=0.8)
        await queues.create(connection, drawn, created_by=PERSON, now=now)
    for queue in await _filled(store):
        if queue.name == DRAWN:
            await _read(store, queue, first, FIRST_READ)
    for queue in await _filled(store):
        if queue.kind is Kind.SECOND:
            await _read(store, queue, second, SECOND_READ)


async def _colleague(connection: AsyncConnection, login: str) -> Reviewer:
    name = f"{login.title()} (invented)"
    return Reviewer(person_id=await _add(connection, login, name, (Role.REVIEWER,)), login=login)


async def _add(connection: AsyncConnection, login: str, name: str, roles: tuple[Role, ...]) -> UUID:
    await people.add(
        connection,
        uuid7(),
        login=login,
        name=name,
        password_hash=None,
        must_change_password=False,
        created_by=PERSON,
    )
    found = await people.by_login(connection, login)
    assert found is not None  # noqa: S101  # just added, or there before
    for role in roles:
        await people.grant(
            connection,
            found.person.person_id,
            Grant(user_id=people.EVERY_ACCOUNT, role=role),
            granted_by=PERSON,
        )
    return found.person.person_id


async def _filled(store: Store) -> tuple[queues.Queue, ...]:
    async with store.writing() as connection:
        opened = await queues.all_open(connection)
        for queue in opened:
            await filling.fill(connection, queue, datetime.now(UTC))
    return opened


async def _read(store: Store, queue: queues.Queue, reader: Reviewer, most: int) -> None:
    """Answer items of a queue as their reader would: claimed, then reviewed, each in a transaction."""
    for _ in range(most):
        async with store.writing() as connection:
            now = datetime.now(UTC)
            claimed = await claims.claim(connection, queue, reader, accounts=None, draw=1.0, now=now)
            if claimed is None:
                return
            row = await audit.one(connection, claimed.decision_id)
            assert row is not None  # noqa: S101  # an item whose decision is gone is not dealt
            seen = await reviews.last_seen(connection, claimed.decision_id)
            given = _review(claimed.decision_id, Reason(row["reason_code"]), reader, seen)
            await reviewing.submit(connection, given, now)


def _review(decision_id: UUID, reason: Reason, reader: Reviewer, seen: UUID | None) -> Submission:
    """What a colleague says: mostly yes, and mostly the same as the other; the same for the same decision."""
    draw = Random(decision_id.int).random()  # noqa: S311  # an example, no secret
    if reader.login != COLLEAGUES[0] and Random(f"{reader.login} {decision_id}").random() < 0.2:  # noqa: S311
        draw = 1 - draw / 2
    cause = CAUSES.get(reason)
    ruling = (
        Ruling.AGREE if draw < 0.75 else Ruling.UNSURE if draw < 0.8 or cause is None else Ruling.OVERTURN
    )
    return Submission(
        decision_id=decision_id,
        reviewer=reader,
        ruling=ruling,
        cause=cause if ruling is Ruling.OVERTURN else None,
        note=NOTE,
        seen=seen,
    )
