"""Runs the runbook's recipe "Erase a decision on request"."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

import psycopg

from db.access_log import LogEntry, LoggedAction
from db.answers.sending import store_answer
from db.commits.record import record_decision
from db.pool import WORKER_ROLE, create_pool
from tests.support.decided import answer_to, new_event, reply_to
from worker.model import Decision, DecisionKind, Escalation, HeldDraft, HeldKind
from worker.reasons import Reason

RUNBOOK: Final = Path(__file__).resolve().parents[2] / "deploy" / "runbook.md"
QUERIES: Final = re.findall(r"^ *```sql\n(.*?)^ *```$", RUNBOOK.read_text(), flags=re.MULTILINE | re.DOTALL)
(RECIPE,) = [each for each in QUERIES if "hushgate.erasing" in each]
TABLES = """
    SELECT c.oid::regclass::text FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
"""
TEXT = "The s3cret of Jo."


def escalated(name: str) -> Decision:
    """A decision that people must answer, with a text wherever one can be."""
    now = datetime.now(UTC)
    return reply_to(
        new_event(name, user_id="erasing", text=TEXT),
        now,
        kind=DecisionKind.ESCALATE,
        reason_code=Reason.MODEL_ESCALATED,
        reply=None,
        people_until=now + timedelta(hours=1),
        escalation=Escalation(handoff_text=TEXT, draft=TEXT),
        held=(HeldDraft(kind=HeldKind.DRAFT, text=TEXT),),
        held_until=now + timedelta(days=1),
    )


def copies(owner: psycopg.Connection[tuple[str]], text: str | UUID) -> dict[str, int]:
    """In how many rows of each table a text is."""
    found = {}
    for (table,) in owner.execute(TABLES).fetchall():
        query = f"SELECT count(*) FROM {table} t WHERE t::text LIKE %s"  # names of the catalogue
        ((rows,),) = owner.execute(query.encode(), (f"%{text}%",)).fetchall()
        found[table] = int(rows)
    return {table: rows for table, rows in found.items() if rows}


async def test_erasing_a_decision_deletes_every_copy_of_its_texts(database_url: str) -> None:
    """Message, draft, text at the handoff and a person's answer; another decision keeps its own."""
    made, other = escalated("7"), escalated("8")
    async with (
        create_pool(database_url, size=1, application="test", role=WORKER_ROLE) as source,
        create_pool(database_url, size=1, application="test", role="hushgate_reviewer") as people,
    ):
        for each in (other, made):
            await record_decision(source, each)
            logged = LogEntry(action=LoggedAction.ANSWER, person="kim")
            await store_answer(people, answer_to(each, TEXT, each.decided_at), each.decided_at, logged=logged)
    with psycopg.connect(database_url, autocommit=True) as owner:
        before = copies(owner, TEXT)
        owner.execute(RECIPE.replace("00000000-0000-7000-8000-000000000000", str(made.decision_id)).encode())
        after = copies(owner, TEXT)
        left = copies(owner, made.decision_id)

    assert before.keys() >= {"answers", "held_drafts", "messages", "outbox", "outgoing_events"}
    assert {table: rows / 2 for table, rows in before.items()} == after
    assert left.keys() <= {"event_keys", "access_log"}
