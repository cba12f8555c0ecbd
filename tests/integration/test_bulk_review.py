"""Bulk reviews: the count first, then a job that survives crashes and skips reviewed decisions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode
from uuid import UUID

import pytest
from httpx2 import Response

from db import jobs
from db.jobs import (
    Job,
    JobKind,
    JobState,
    JobStep,
)
from db.people.records import Person, Role
from db.review_store import Store
from db.reviews import bulk as bulk_reviews
from db.reviews import submission
from db.reviews.rulings import Reviewer, Ruling
from db.reviews.submission import Submission
from review.access import Right
from review.http.templating import Templates
from review.http.visit import Site
from review.job_runner import (
    KINDS,
    JobRunnerKind,
    Stepper,
    run_waiting,
)
from review.queues import bulk_jobs
from tests.support.audited import blocked, history, ignored, record, rows
from tests.support.reviewing import Visitor, add_person, settings_at, site, stored
from worker.model import Decision

HIDDEN = re.compile(r'name="(query|count|asked_at)" value="([^"]*)"')


@pytest.fixture(scope="module")
def visitors(database_url: str) -> Iterator[Any]:
    """The running pages; their own runner of jobs rests, so that tests run them step by step."""

    async def rest(_: Site) -> None:
        await asyncio.sleep(3600)

    with patch("review.background.TASKS", (rest,)), site(database_url) as visitor:
        yield visitor


def worked(url: str, kinds: tuple[JobRunnerKind, ...] = KINDS) -> None:
    """Run the job that waits, as a server would; one that another has left counts as dead."""
    rows(url, "UPDATE jobs SET alive_at = now() - interval '5 minutes' WHERE state = 'running'")

    async def run() -> None:
        async with Store(url, size=2) as store:
            await run_waiting(Site(settings=settings_at(url), store=store, templates=Templates()), kinds)

    asyncio.run(run())


def bulk_with(step: Stepper) -> tuple[JobRunnerKind, ...]:
    """The kind of job, with another step."""
    return (JobRunnerKind(kind=JobKind.BULK_REVIEW, right=Right.LEAD, step=step),)


def some(url: str, author: str, number: int) -> list[Decision]:
    """Decisions on one author's messages."""
    made = [ignored(author_id=author) for _ in range(number)]
    record(url, *made)
    return made


def lead(visitors: Any, url: str, account: str = "*") -> tuple[Visitor, Person]:
    """A lead at the pages."""
    person = add_person(url, Role.LEAD, account=account)
    visitor: Visitor = visitors()
    visitor.sign_in(person)
    return visitor, person


def ask(visitor: Visitor, page: Response, **fields: str) -> Response:
    """Send the form of a page with the count it shows."""
    shown = {name: value.replace("&amp;", "&") for name, value in HIDDEN.findall(page.text)}
    values = {"ruling": "agree", "reason": "OTHER", "note": "looked at twenty"}
    return visitor.post("/bulk", **values | shown | fields)


def started(visitor: Visitor, author: str, **fields: str) -> UUID:
    """A bulk review of one author's decisions; the job's id."""
    page = visitor.get("/bulk?" + urlencode({"author": author, "since": "7d"}))
    answer = ask(visitor, page, **fields)
    assert answer.status_code == 303, answer.text
    return UUID(answer.headers["location"].rsplit("/", 1)[1])


def job(url: str, job_id: UUID) -> Job:
    """A job as it is now."""
    found = stored(url, lambda connection: jobs.get_job(connection, job_id))
    assert found is not None
    return found


def rulings(url: str, job_id: UUID) -> list[str]:
    """The job's row."""
    return [
        row["ruling"] for row in rows(url, "SELECT ruling FROM decision_reviews WHERE job_id = %s", job_id)
    ]


def test_a_note_is_kept_for_the_filters_it_was_written_for(visitors: Any, database_url: str) -> None:
    """What was typed about one lot of decisions does not stand in the form of another."""
    visitor, _ = lead(visitors, database_url)
    for author in ("noted", "not noted"):
        some(database_url, author, 1)
    keys = [
        re.findall('data-draft="([^"]*)"', visitor.get("/bulk?" + urlencode({"author": author})).text)
        for author in ("noted", "not noted")
    ]

    assert len(keys[0]) == 1
    assert keys[0] != keys[1]


def test_what_is_asked_for_is_counted_and_then_done(
    visitors: Any, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches; the page of the job says how many."""
    monkeypatch.setattr(bulk_reviews, "BATCH", 2)
    made = some(database_url, "counted", 5)
    visitor, person = lead(visitors, database_url)
    page = visitor.get("/bulk?author=counted&since=7d")
    job_id = started(visitor, "counted", ruling="overturn", corrected="respond")
    worked(database_url)
    ended = job(database_url, job_id)
    shown = visitor.get(f"/jobs/{job_id}")
    query = "SELECT person, source, reason_code, note, corrected_decision FROM decision_reviews"
    kept = rows(database_url, f"{query} WHERE job_id = %s", job_id)

    assert '<strong id="count">5</strong>' in page.text
    assert (ended.state, ended.done, ended.total) == (JobState.DONE, 5, 5)
    assert len(kept) == len(made)
    assert kept[0] == {
        "person": person.login,
        "source": "bulk",
        "reason_code": "OTHER",
        "note": "looked at twenty",
        "corrected_decision": "respond",
    }
    assert "<dt>Reviews stored</dt><dd>5</dd>" in shown.text


def test_a_crash_costs_one_batch_and_repeats_nothing(
    visitors: Any, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server goes on where the last batch was stored."""
    monkeypatch.setattr(bulk_reviews, "BATCH", 2)
    some(database_url, "crashed", 5)
    visitor, _ = lead(visitors, database_url)
    job_id = started(visitor, "crashed")
    calls = 0

    async def dies(*given: Any) -> JobStep:
        nonlocal calls
        calls += 1
        done = await bulk_jobs.review_step(*given)
        if calls == 2:
            raise asyncio.CancelledError  # the server is killed before this batch is committed
        return done

    with pytest.raises(asyncio.CancelledError):
        worked(database_url, bulk_with(dies))
    before = job(database_url, job_id)
    so_far = rulings(database_url, job_id)
    worked(database_url)
    after = job(database_url, job_id)

    assert (before.state, before.done, len(so_far)) == (JobState.RUNNING, 2, 2)
    assert (after.state, after.done) == (JobState.DONE, 5)
    assert rulings(database_url, job_id) == ["agree"] * 5


def test_what_is_done_when_a_job_is_ended_stays_done(
    visitors: Any, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no more is done."""
    monkeypatch.setattr(bulk_reviews, "BATCH", 2)
    some(database_url, "ended", 5)
    visitor, _ = lead(visitors, database_url)
    job_id = started(visitor, "ended")

    calls = 0

    async def asked_to_end(*given: Any) -> JobStep:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise asyncio.CancelledError
        return await bulk_jobs.review_step(*given)

    with pytest.raises(asyncio.CancelledError):
        worked(database_url, bulk_with(asked_to_end))
    visitor.get(f"/jobs/{job_id}")
    visitor.post(f"/jobs/{job_id}/cancel")
    worked(database_url)
    after = job(database_url, job_id)

    assert (after.state, len(rulings(database_url, job_id))) == (JobState.CANCELLED, 2)
    assert "<dt>Done</dt><dd>2 of 5</dd>" in visitor.get(f"/jobs/{job_id}").text


def test_what_others_reviewed_meanwhile_is_left_as_they_left_it(visitors: Any, database_url: str) -> None:
    """Reviewed before the count was shown, it is part of what was asked for."""
    early, late, plain = some(database_url, "meanwhile", 3)
    reviewer = Reviewer(person_id=None, login="somebody")
    minutes = timedelta(minutes=1)

    def say(decided: Decision, at: datetime) -> None:
        given = Submission(decision_id=decided.decision_id, reviewer=reviewer, ruling=Ruling.UNSURE)
        stored(database_url, lambda connection: submission.submit_review(connection, given, at))

    say(early, datetime.now(UTC) - minutes)
    visitor, _ = lead(visitors, database_url)
    job_id = started(visitor, "meanwhile")
    say(late, datetime.now(UTC) + minutes)
    worked(database_url)
    after = job(database_url, job_id)
    reviewed = rows(database_url, "SELECT decision_id FROM decision_reviews WHERE job_id = %s", job_id)

    assert (after.done, bulk_jobs.progress_of(after.position).skipped) == (3, 1)
    assert {row["decision_id"] for row in reviewed} == {early.decision_id, plain.decision_id}


def test_sealed_exchanges_are_restored_where_that_was_chosen(visitors: Any, database_url: str) -> None:
    """And only there; what cannot be restored is counted."""
    sealed = [blocked(author_id="sealed", conversation_id=f"bulk-{number}") for number in range(2)]
    record(database_url, *sealed, ignored(author_id="sealed"))
    visitor, _ = lead(visitors, database_url)
    job_id = started(visitor, "sealed", ruling="overturn", remedy="restore")
    worked(database_url)
    after = bulk_jobs.progress_of((job(database_url, job_id)).position)
    back = [history(database_url, f"bulk-{number}") for number in range(2)]

    assert (after.reviewed, after.unrestored) == (3, 1)
    assert back == [[("user", "is this spam?")]] * 2


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"reason": ""}, 400, "reason: expected a reason code"),
        ({"ruling": "overturn", "reason": "CORRECT"}, 400, "reason: expected what was wrong"),
        ({"remedy": "restore"}, 400, "remedy: expected a restore only with overturn"),
        ({"ruling": "overturn", "remedy": "remove"}, 400, "replies are removed one by one"),
        ({"count": "99"}, 409, "The count has changed"),
        ({"asked_at": "2026-01-01T00:00:00+00:00"}, 409, "older than an hour"),
        ({"asked_at": "soon"}, 409, "older than an hour"),
        ({"query": "ruling=x"}, 400, "expected one of since"),
    ],
)
def test_a_bulk_review_that_cannot_start_says_why(
    visitors: Any, database_url: str, fields: dict[str, str], status: int, message: str
) -> None:
    """And asks for nothing."""
    some(database_url, "refused", 1)
    visitor, person = lead(visitors, database_url)
    page = visitor.get("/bulk?author=refused&since=7d")
    answer = ask(visitor, page, **fields)

    assert answer.status_code == status
    assert message in answer.text
    assert rows(database_url, "SELECT 1 FROM jobs WHERE person_id = %s", person.person_id) == []


def test_a_lead_of_one_account_counts_that_one(visitors: Any, database_url: str) -> None:
    """A reviewer gets no bulk at all."""
    record(database_url, ignored(author_id="both"), ignored(author_id="both", user_id="umbrella"))
    visitor, _ = lead(visitors, database_url, account="umbrella")
    reviewer: Visitor = visitors()
    reviewer.sign_in(add_person(database_url, Role.REVIEWER))
    page = visitor.get("/bulk?author=both&since=7d")

    assert '<strong id="count">1</strong>' in page.text
    assert reviewer.get("/bulk").status_code == 403
