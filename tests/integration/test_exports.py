"""Exports as jobs: whole after a crash, none of what came later, memory that does not grow."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import psycopg
import pytest

from db import jobs
from db.connection import Connection
from db.identifiers import uuid_at
from db.jobs import (
    Job,
    JobKind,
    JobState,
    JobStep,
)
from db.people.records import Person, Role
from db.review_store import Store
from db.reviews import submission
from db.reviews.rulings import (
    Reviewer,
    Ruling,
    RulingReason,
    last_seen_review,
)
from db.reviews.submission import Submission
from review.access import Right
from review.http.templating import Templates
from review.http.visit import Site
from review.job_runner import KINDS, JobRunnerKind, run_waiting
from review.lists import exports
from review.lists.export_layout import Form, Layout
from tests.integration.test_cli import MANY
from tests.support.audited import ignored, record, replied, rows
from tests.support.auditing import ago, decided, store
from tests.support.queues import hand_queue
from tests.support.reviewing import add_person, settings_at
from worker.errors import StorageUnavailable
from worker.model import Decision, DecisionKind


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[Site]:
    """What handlers and jobs share, without a server."""
    async with Store(database_url) as opened:
        yield Site(settings=settings_at(database_url), store=opened, templates=Templates())


async def ordered(site: Site, person: Person, form: Form, **filters: str) -> UUID:
    """An export that waits."""
    job_id = uuid_at(site.now())
    params = exports.job_params(urlencode({"since": "all"} | filters), Layout(form=form), None)
    async with site.store.writing() as connection:
        await jobs.add_job(connection, job_id, person_id=person.person_id, kind=JobKind.EXPORT, params=params)
    return job_id


async def written(site: Site, job_id: UUID) -> tuple[Job, str]:
    """The job and its file."""
    async with site.store.reading() as connection:
        job = await jobs.get_job(connection, job_id)
    assert job is not None
    pieces = [piece async for piece in exports.read_pieces(site.store, job, packed=False)]
    return job, b"".join(pieces).decode()


async def test_an_export_is_whole_after_a_crash(
    site: Site, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One head, every row once, none of those that came after it was asked for."""
    monkeypatch.setattr(exports, "ROWS", 3)
    made = [decided(at=ago(minutes=number), author_id="crash") for number in range(10)]
    await asyncio.to_thread(store, database_url, made)
    person = await asyncio.to_thread(add_person, database_url, Role.LEAD)
    job_id = await ordered(site, person, Form.CSV, author="crash")

    async def dying(site: Site, connection: Connection, job: Job, person: Person) -> JobStep:
        step = await exports.write_step(site, connection, job, person)
        if job.done == 6:
            raise StorageUnavailable("gone", kind="Test")
        return step

    with pytest.raises(StorageUnavailable):
        await run_waiting(site, (JobRunnerKind(kind=JobKind.EXPORT, right=Right.EXPORT, step=dying),))
    await asyncio.to_thread(store, database_url, [decided(author_id="crash")])
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE jobs SET alive_at = now() - interval '5 min' WHERE id = %s", (job_id,))
    assert await run_waiting(site, KINDS)

    job, text = await written(site, job_id)
    lines = text.splitlines()
    assert (job.state, job.done, len(lines)) == (JobState.DONE, 10, 11)
    assert [each.event.event_id in line for each, line in zip(made, lines[1:], strict=True)] == [True] * 10


async def test_an_export_tells_the_reply_and_where_reviews_stand(site: Site, database_url: str) -> None:
    """With the reason of the newest review that stands; what the asker holds in a queue reads as open."""
    person = await asyncio.to_thread(add_person, database_url, Role.LEAD)
    reviewed, held, sent = (make(author_id="told", user_id="told") for make in (ignored, ignored, replied))
    await asyncio.to_thread(record, database_url, reviewed, held, sent)
    reviewer = Reviewer(person_id=None, login="somebody")
    async with site.store.writing() as connection:
        for decision, reason in (
            (reviewed, RulingReason.RULE_MISSED),
            (reviewed, RulingReason.OTHER),
            (held, RulingReason.OTHER),
        ):
            given = Submission(
                decision_id=decision.decision_id,
                reviewer=reviewer,
                ruling=Ruling.OVERTURN,
                reason=reason,
                corrected=DecisionKind.ESCALATE,
            )
            seen = await last_seen_review(connection, decision.decision_id)
            await submission.submit_review(connection, replace(given, seen=seen), site.now())
    picked = {held.decision_id: held.decided_at}
    queue_id = await asyncio.to_thread(hand_queue, database_url, "held for an export", picked)
    claim = (
        "UPDATE queue_items SET claimed_by = %s, claimed_until = now() + interval '5 min' WHERE queue_id = %s"
    )
    await asyncio.to_thread(rows, database_url, f"{claim} RETURNING id", person.person_id, queue_id)
    job_id = await ordered(site, person, Form.NDJSON, author="told")
    assert await run_waiting(site, KINDS)

    _, text = await written(site, job_id)
    exported = {row["id"]: row for row in map(json.loads, text.splitlines())}
    shown = [
        (row["review"], row["review_reason"], row["reply_text"])
        for row in (exported[str(each.decision_id)] for each in (reviewed, held, sent))
    ]
    assert shown == [("overturn", "OTHER", None), ("open", "", None), ("open", "", sent.reply)]


async def test_the_memory_of_an_export_does_not_grow_with_it(site: Site, database_url: str) -> None:
    """Neither while it is written nor while it is fetched."""
    person = await asyncio.to_thread(add_person, database_url, Role.LEAD)
    peaks, sizes = [], []
    for first, last in ((0, 2000), (2000, 16_000)):
        with psycopg.connect(database_url) as connection:
            connection.execute(MANY, {"first": first, "last": last})
        job_id = await ordered(site, person, Form.NDJSON, account="many")
        tracemalloc.start()
        assert await run_waiting(site, KINDS)
        async with site.store.reading() as connection_:
            job = await jobs.get_job(connection_, job_id)
        assert job is not None
        sizes.append(sum([len(piece) async for piece in exports.read_pieces(site.store, job, packed=False)]))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert sizes[1] > 7 * sizes[0]
    assert peaks[1] < 2 * peaks[0]


def erase(url: str, gone: Decision) -> None:
    """Erase a decision on request, as the runbook says."""
    with psycopg.connect(url) as connection:
        erasing(connection, gone)


def erasing(connection: psycopg.Connection[Any], gone: Decision) -> None:
    """The same, not committed yet."""
    connection.execute("SET LOCAL hushgate.erasing = on")
    connection.execute("DELETE FROM ai_decisions WHERE id = %s", (gone.decision_id,))


async def some_decisions(url: str, author: str) -> list[Decision]:
    """Nine decisions about an author, newest first: three parts of an export."""
    made = [decided(at=ago(minutes=number), author_id=author) for number in range(9)]
    await asyncio.to_thread(store, url, made)
    return made


@pytest.mark.parametrize("written_before", [0, 1, 2])
@pytest.mark.parametrize("moment", ["before", "within"])
async def test_a_decision_that_is_erased_leaves_an_export_under_way(
    site: Site, database_url: str, monkeypatch: pytest.MonkeyPatch, written_before: int, moment: str
) -> None:
    """Before a part, or while it is written: the export ends, says why, and keeps nothing."""
    monkeypatch.setattr(exports, "ROWS", 3)
    author = f"{moment}-{written_before}"
    made = await some_decisions(database_url, author)
    person = await asyncio.to_thread(add_person, database_url, Role.LEAD)
    job_id = await ordered(site, person, Form.NDJSON, author=author)

    async def disturbed(site: Site, connection: Connection, job: Job, person: Person) -> JobStep:
        due = job.done == 3 * written_before
        if due and moment == "before":
            await asyncio.to_thread(erase, database_url, made[1])
        step = await exports.write_step(site, connection, job, person)
        if due and moment == "within":
            await asyncio.to_thread(erase, database_url, made[1])
        return step

    await run_waiting(site, (JobRunnerKind(kind=JobKind.EXPORT, right=Right.EXPORT, step=disturbed),))
    async with site.store.reading() as connection:
        job = await jobs.get_job(connection, job_id)
        size = await jobs.stored_size(connection, job_id)

    assert job is not None
    assert (job.state, size) == (JobState.FAILED, 0)
    assert "was erased" in (job.error or "")


async def test_an_export_that_begins_while_a_decision_is_erased_does_not_hold_it(
    site: Site, database_url: str
) -> None:
    """It waits for the erasing to be committed."""
    made = await some_decisions(database_url, "begun")
    person = await asyncio.to_thread(add_person, database_url, Role.LEAD)
    with psycopg.connect(database_url) as owner, psycopg.connect(database_url, autocommit=True) as watch:
        await asyncio.to_thread(erasing, owner, made[1])
        asked = asyncio.create_task(ordered(site, person, Form.NDJSON, author="begun"))
        query = "SELECT 1 FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
        while (await asyncio.to_thread(watch.execute, query, (owner.info.backend_pid,))).fetchone() is None:
            pass
        owner.commit()
    job_id = await asked
    assert await run_waiting(site, KINDS)
    job, text = await written(site, job_id)

    assert (job.state, job.done) == (JobState.DONE, 8)
    assert made[0].event.event_id in text
    assert made[1].event.event_id not in text


async def test_a_decision_that_is_erased_leaves_the_files_that_may_hold_it(
    site: Site, database_url: str
) -> None:
    """A running download breaks off, so that half a file is not taken for all of it; older files stay."""
    person = await asyncio.to_thread(add_person, database_url, Role.LEAD)
    older = await ordered(site, person, Form.NDJSON, author="kept")
    assert await run_waiting(site, KINDS)
    made = decided(author_id="kept")
    await asyncio.to_thread(store, database_url, [made])
    newer = await ordered(site, person, Form.NDJSON, author="kept")
    assert await run_waiting(site, KINDS)
    job, text = await written(site, newer)
    assert made.event.event_id in text

    await asyncio.to_thread(erase, database_url, made)

    with pytest.raises(exports.ExportGone):
        assert [piece async for piece in exports.read_pieces(site.store, job, packed=False)]
    assert (await written(site, older))[0].state is JobState.DONE
    async with site.store.reading() as connection:
        found = await jobs.get_job(connection, newer)
    assert found is not None
    assert found.state is JobState.FAILED
