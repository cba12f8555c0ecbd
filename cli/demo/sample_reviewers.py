"""Two invented reviewers with reviews of the demo's decisions, so that the pages have something to show."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from random import Random
from typing import Final
from uuid import UUID

from uuid_utils.compat import uuid7

from db.audit import decision_list
from db.connection import Connection
from db.people import records
from db.people.records import Role, RoleGrant
from db.review_store import Store
from db.reviews import claims, queue_filling, queues, rulings, submission
from db.reviews.queues import NewQueue, QueueKind, Sample
from db.reviews.rulings import Reviewer, Ruling, RulingReason
from db.reviews.submission import Submission
from worker.model import DecisionKind
from worker.reasons import Reason

PERSON: Final = "demo"
"""The person whom the demo's sign-in link signs in; has every role on every account."""
COLLEAGUES: Final = ("kim", "robin")
DRAWN: Final = "Silent ignores, one in three"
"""A queue of the demo: the standing queue samples one in twenty, too few of three hundred."""
FIRST_READ: Final = 18
SECOND_READ: Final = 12
NOTE: Final = "An example: no person has read this decision."
REASONS: Final = {
    Reason.FLAGGED_RULE: RulingReason.RULE_TOO_BROAD,
    Reason.MODERATION_FLAGGED: RulingReason.MODERATION_TOO_STRICT,
    Reason.NO_EVIDENCE: RulingReason.MISSING_KNOWLEDGE,
    Reason.REPLIED: RulingReason.WRONG_FACTS,
}
CORRECTIONS: Final = dict.fromkeys((Reason.NO_EVIDENCE, Reason.REPLIED), DecisionKind.ESCALATE)
"""What an overturn names as right where its reason does not imply it."""


async def add_demo_person(connection: Connection) -> UUID:
    """Add the person for the sign-in link, once; their id."""
    return await add_person(connection, PERSON, "Administrator", tuple(Role))


async def add_reviews(store: Store) -> None:
    """Add two reviewers, a queue for them and their reviews; once."""
    now = datetime.now(UTC)
    async with store.writing() as connection:
        first, second = [await _colleague(connection, login) for login in COLLEAGUES]
        if DRAWN in {queue.name for queue in await queues.list_open_queues(connection)}:
            return
        drawn = NewQueue(name=DRAWN, kind=QueueKind.SAMPLE, sample=Sample(share=1 / 3), second_share=0.8)
        await queues.create_queue(connection, drawn, created_by=PERSON, now=now)
    for queue in await _filled(store):
        if queue.name == DRAWN:
            await _read(store, queue, first, FIRST_READ)
    for queue in await _filled(store):
        if queue.kind is QueueKind.SECOND:
            await _read(store, queue, second, SECOND_READ)


async def _colleague(connection: Connection, login: str) -> Reviewer:
    name = f"{login.title()} (invented)"
    return Reviewer(person_id=await add_person(connection, login, name, (Role.REVIEWER,)), login=login)


async def add_person(
    connection: Connection,
    login: str,
    name: str,
    roles: Collection[Role],
    accounts: Collection[str] = (records.EVERY_ACCOUNT,),
) -> UUID:
    """Add a person without a password, once; their id."""
    await records.add_person(
        connection,
        uuid7(),
        login=login,
        name=name,
        password_hash=None,
        must_change_password=False,
        created_by=PERSON,
    )
    found = await records.get_credentials(connection, login)
    assert found is not None  # just added, or there before
    person_id = found.person.person_id
    for grant in (RoleGrant(user_id=account, role=role) for account in accounts for role in roles):
        await records.grant_role(connection, person_id, grant, granted_by=PERSON)
    return person_id


async def _filled(store: Store) -> tuple[queues.Queue, ...]:
    async with store.writing() as connection:
        opened = await queues.list_open_queues(connection)
        for queue in opened:
            await queue_filling.fill_queue(connection, queue, datetime.now(UTC))
    return opened


async def _read(store: Store, queue: queues.Queue, reader: Reviewer, most: int) -> None:
    """Claim and review items of a queue, each in a transaction."""
    for _ in range(most):
        async with store.writing() as connection:
            now = datetime.now(UTC)
            claimed = await claims.claim_next(connection, queue, reader, accounts=None, draw=1.0, now=now)
            if claimed is None:
                return
            row = await decision_list.get_decision(connection, claimed.decision_id)
            assert row is not None  # an item whose decision is erased is not given out
            seen = await rulings.last_seen_review(connection, claimed.decision_id)
            given = _review(claimed.decision_id, Reason(row["reason_code"]), reader, seen)
            await submission.submit_review(connection, given, now)


def _review(decision_id: UUID, reason: Reason, reader: Reviewer, seen: UUID | None) -> Submission:
    """A reviewer's ruling: mostly agree, mostly as the other reviewer; always the same for a decision."""
    draw = Random(decision_id.int).random()  # noqa: S311  # an example, no secret
    if reader.login != COLLEAGUES[0] and Random(f"{reader.login} {decision_id}").random() < 0.2:  # noqa: S311
        draw = 1 - draw / 2
    ruling_reason = REASONS.get(reason)
    ruling = (
        Ruling.AGREE
        if draw < 0.75
        else Ruling.UNSURE
        if draw < 0.8 or ruling_reason is None
        else Ruling.OVERTURN
    )
    return Submission(
        decision_id=decision_id,
        reviewer=reader,
        ruling=ruling,
        reason=ruling_reason if ruling is Ruling.OVERTURN else None,
        corrected=CORRECTIONS.get(reason) if ruling is Ruling.OVERTURN else None,
        note=NOTE,
        seen=seen,
    )
