"""The commit of a decision, its history and its outbox row: once per event, in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import orjson
import psycopg

from db.commits.commit_sql import (
    COMMIT_CHECKS,
    COMMIT_SEVERAL,
    KEY,
    KEY_OF_BURIED,
    KEY_OF_CHECK,
    change_of,
    commit_statement,
    is_flagged_edit,
)
from db.commits.rows import CommitRow, commit_row, rows_json
from db.commits.stored_event import Recorded, StoredEvent, look_up_event
from db.commits.values import commit_values
from db.connection import Connection
from db.escalations.closing import EXPIRE_HELD, Closing, ClosingCause, close_escalation
from db.outbox import CANCEL_OF_CONVERSATION, LOCK_CONVERSATION
from db.pool import Pool, checkout
from db.rows import first_value
from db.schema.partitions import ENSURE_PARTITIONS
from worker.batched_calls import BatchedCall, call_batched
from worker.model import CheckVerdict, Decision, EventType, Owner
from worker.reasons import Reason
from worker.stored_json import object_writer

LOCK_READ_TABLES: Final = """
    LOCK TABLE ai_rules, messages, documents, chunks, embedders, chunk_embeddings, compiled_rules
    IN ACCESS SHARE MODE
"""
"""For the rehearsal: a conflicting lock on a table that the pipeline reads stops every event."""


async def record_decision(source: Pool, decision: Decision) -> Recorded:
    """Commit decision, history, owner and outbox row in one transaction, once per event.

    Returns:
        ``NEW`` when it was stored; the outcome that was stored before; ``OVERTAKEN`` when nothing was stored,
        because the conversation's owner changed and the decision has a reply.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
        RuntimeError: nothing was stored and no reason is stored either.
    """
    values = commit_values(decision)
    if await _commit(source, decision, values):
        return Recorded.NEW
    found = await look_up_event(source, decision.event, decision.decided_at)
    if found.outcome is not None:
        return found.outcome
    if await _commit_alone(source, decision, KEY_OF_BURIED, values):
        return Recorded.NEW
    found = await look_up_event(source, decision.event, decision.decided_at)
    if found.outcome is not None:
        return found.outcome
    moved = found.conversation.owner is Owner.PEOPLE or found.conversation.changes != decision.changes
    if decision.reply is not None and moved:
        return Recorded.OVERTAKEN
    raise RuntimeError(_unexplained(decision, found))


def _unexplained(decision: Decision, found: StoredEvent) -> str:
    """The state in which a commit stored nothing, without an outcome or a change of owner."""
    state, reply = found.conversation, "a reply" if decision.reply is not None else "no reply"
    return (
        f"entry {decision.event.entry_id}: the commit stored nothing and the event has no outcome;"
        f" the decision has {reply} and rests on change {decision.changes},"
        f" stored: {state.changes}, owner {state.owner}"
    )


async def _commit(source: Pool, decision: Decision, values: dict[str, Any]) -> bool:
    """Commit, together with other events where the commit changes neither history nor owner."""
    if change_of(decision):
        return await _commit_alone(source, decision, KEY, values)
    return await call_batched(source, COMMITS, commit_row(values))


async def _commit_together(
    source: Pool, rows: Sequence[CommitRow], *, statement: str = COMMIT_SEVERAL
) -> tuple[bool, ...]:
    """Commit several events or checks in one transaction; which of them were new."""
    values = {"rows": rows_json(rows)}
    async with checkout(source) as connection:
        try:
            found = await first_value(connection, statement, values)
        except psycopg.errors.CheckViolation:  # no partition for this month yet
            await connection.execute(ENSURE_PARTITIONS, (rows[0].at.date(),))
            found = await first_value(connection, statement, values)
    return tuple(row.decision_id in (found or ()) for row in rows)


COMMITS: Final = BatchedCall(together=_commit_together)
CHECK_COMMITS: Final = BatchedCall(together=partial(_commit_together, statement=COMMIT_CHECKS))


async def record_check(source: Pool, decision: Decision, request_hash: str) -> bool:
    """Commit the decision of a check with its verdict; False when one with its id was stored before.

    Raises:
        StorageUnavailable: the outcome is unknown; safe to repeat.
    """
    assert decision.check is not None  # the decision of a check
    verdict = orjson.dumps(object_writer(CheckVerdict)(decision.check)).decode()
    values = commit_values(decision) | {"request_hash": request_hash, "verdict": verdict}
    if change_of(decision):
        return await _commit_alone(source, decision, KEY_OF_CHECK, values)
    return await call_batched(source, CHECK_COMMITS, commit_row(values))


async def rehearse(connection: Connection, decision: Decision) -> None:
    """Execute the commit of a decision and roll it back.

    The outer transaction commits, so the write-ahead log must reach the disk as well.
    """
    values = commit_values(decision)
    await connection.execute(ENSURE_PARTITIONS, (decision.decided_at.date(),))
    async with connection.transaction():
        await connection.execute(LOCK_READ_TABLES)
        async with connection.transaction() as commit:
            await connection.execute(COMMIT_SEVERAL, {"rows": rows_json([commit_row(values)])})
            raise psycopg.Rollback(commit)


async def _commit_alone(source: Pool, decision: Decision, key: str, values: dict[str, Any]) -> bool:
    statement = commit_statement(decision, key)
    async with checkout(source) as connection:
        try:
            return await _execute_commit(connection, decision, statement, values)
        except psycopg.errors.CheckViolation:  # no partition for this month yet
            await connection.execute(ENSURE_PARTITIONS, (values["created_at"].date(),))
            return await _execute_commit(connection, decision, statement, values)


async def _execute_commit(
    connection: Connection, decision: Decision, statement: str, values: dict[str, Any]
) -> bool:
    """Commit, and say whether the event is new; a change of what a relay may send locks the conversation."""
    withdraws = decision.reason_code == Reason.MESSAGE_DELETED or is_flagged_edit(decision)
    if decision.people_until is None and decision.escalation is None and not withdraws:
        return bool(await first_value(connection, statement, values))
    async with connection.transaction():
        await connection.execute(LOCK_CONVERSATION, values)
        is_new = bool(await first_value(connection, statement, values))
        if is_new and decision.reason_code == Reason.MESSAGE_DELETED:
            await connection.execute(EXPIRE_HELD, values)
        if is_new and decision.people_until is not None:
            await connection.execute(CANCEL_OF_CONVERSATION, values)
            await close_escalation(connection, _closing(decision))
    return is_new


def _closing(decision: Decision) -> Closing:
    """What a handoff closes: a person's message answers, a new escalation replaces the one before."""
    event, by_person = decision.event, decision.event.type is EventType.AGENT_MESSAGE
    return Closing(
        user_id=event.user_id,
        conversation_id=event.conversation_id,
        cause=ClosingCause.ANSWERED if by_person else ClosingCause.REPLACED,
        closed_by=event.author_id if by_person else "",
        now=decision.decided_at,
        keep=decision.decision_id,
    )
