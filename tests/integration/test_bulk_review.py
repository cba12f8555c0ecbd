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
from review.queues import bulk_jobs, bulk_pages
from tests.support.audited import blocked, history, ignored, record, replied, rows
from tests.support.reviewing import Visitor, add_person, person_at, settings_at, signed_in, site, stored
from worker.model import Decision

HIDDEN = re.compile(r'name="(query|count|asked_at)" value="([^"]*)"')
LAST = "SELECT last_review FROM review_states WHERE decision_id = %s"
EFFECT = re.compile(r'<span class="badge[ a-z]*">(reviewed|skipped)</span>')


@pytest.fixture(scope="module")
def visitors(database_url: str) -> Iterator[Any]:
    """The running pages; their own runner of jobs rests, so that tests run them step by step."""
    with patch("review.background.jobs_of", return_value=()), site(database_url) as visitor:
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
    return person_at(visitors, url, Role.LEAD, account=account)


def ask(visitor: Visitor, page: Response, **fields: Any) -> Response:
    """Let the effect be shown, then send the form of that page with the count it shows."""
    values = {"ruling": "agree", "reason": "OTHER", "note": "looked at twenty"}
    chosen = {"query": hidden(page)["query"], "id": fields.get("id", [])}
    effect = visitor.post("/bulk/preview", **values | chosen)
    assert effect.status_code == 200, effect.text
    return visitor.post("/bulk", **values | hidden(effect) | fields)


def hidden(page: Response) -> dict[str, str]:
    """The hidden fields of a page that say what was counted, and when."""
    return {name: value.replace("&amp;", "&") for name, value in HIDDEN.findall(page.text)}


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
        ({"reason": ""}, 400, "Choose a reason: a bulk review needs one."),
        ({"ruling": "overturn", "reason": "CORRECT"}, 400, "Choose the reason that says what was wrong"),
        ({"remedy": "restore"}, 400, "only when you overturn"),
        ({"ruling": "overturn", "remedy": "remove"}, 400, "replies are removed one by one"),
        ({"count": "99"}, 409, "The count has changed"),
        ({"asked_at": "2026-01-01T00:00:00+00:00"}, 409, "older than an hour"),
        ({"asked_at": "soon"}, 409, "older than an hour"),
        ({"query": "ruling=x"}, 400, "Write one of since"),
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
    reviewer = signed_in(visitors, add_person(database_url, Role.REVIEWER))
    page = visitor.get("/bulk?author=both&since=7d")

    assert '<strong id="count">1</strong>' in page.text
    assert reviewer.get("/bulk").status_code == 403


def test_the_effect_is_shown_before_anything_is_stored(visitors: Any, database_url: str) -> None:
    """Twenty decisions with what the ruling would do to each; the same happens afterwards."""
    sealed = blocked(author_id="tried", conversation_id="tried-sealed")
    other = ignored(author_id="tried", conversation_id="tried-plain")
    answered = replied(author_id="tried", conversation_id="tried-sent")
    record(database_url, sealed, other, answered)
    visitor, _ = lead(visitors, database_url)
    page = visitor.get("/bulk?author=tried&since=7d")
    chosen = {"ruling": "overturn", "reason": "OTHER", "corrected": "respond", "remedy": "restore"}
    effect = visitor.post("/bulk/preview", **chosen, query=hidden(page)["query"])
    stored_by_preview = rows(
        database_url, "SELECT 1 FROM decision_reviews WHERE decision_id = %s", sealed.decision_id
    )
    job_id = started(visitor, "tried", **chosen)
    worked(database_url)
    after = bulk_jobs.progress_of(job(database_url, job_id).position)

    assert stored_by_preview == []
    assert history(database_url, "tried-sealed") == [("user", "is this spam?")]
    assert EFFECT.findall(effect.text).count("reviewed") == after.reviewed == 2
    assert EFFECT.findall(effect.text).count("skipped") == after.skipped == 1  # it was answered already
    assert effect.text.count("the sealed exchange is restored") == 1
    assert effect.text.count("nothing to restore") == after.unrestored == 1


def test_the_reason_of_a_ruling_is_shown_in_words(visitors: Any, database_url: str) -> None:
    """In the form, the preview, the job and the list of reviews, as in the form of one decision."""
    (made,) = some(database_url, "worded", 1)
    visitor, _ = lead(visitors, database_url)
    page = visitor.get("/bulk?author=worded&since=7d")
    chosen = {"ruling": "overturn", "reason": "RULE_TOO_BROAD", "corrected": "respond"}
    effect = visitor.post("/bulk/preview", **chosen, query=hidden(page)["query"])
    job_id = started(visitor, "worded", **chosen)
    worked(database_url)
    addresses = (f"/jobs/{job_id}", f"/decisions/{made.decision_id}")
    texts = [re.sub("<[^>]*>", "", each.text) for each in (page, effect, *map(visitor.get, addresses))]

    assert ["a rule matched a harmless text" in text for text in texts] == [True] * 4
    assert ["RULE_TOO_BROAD" in text or "CORRECT" in text for text in texts] == [False] * 4


def test_a_restore_in_bulk_takes_no_reply_back(visitors: Any, database_url: str) -> None:
    """Replies that were sent stay, whatever a single review of them would propose."""
    record(database_url, replied(author_id="stays", conversation_id="stays"))
    visitor, _ = lead(visitors, database_url)
    before = history(database_url, "stays")
    started(visitor, "stays", ruling="overturn", reason="BAD_TONE", corrected="escalate", remedy="restore")
    worked(database_url)
    effects = rows(
        database_url,
        "SELECT effect FROM decision_reviews r JOIN ai_decisions d ON d.id = r.decision_id"
        " WHERE d.author_id = 'stays'",
    )

    assert effects == [{"effect": "none"}]
    assert history(database_url, "stays") == before


def test_ticked_decisions_are_reviewed_alone(visitors: Any, database_url: str) -> None:
    """Of any age, and only in accounts that the person leads."""
    first, _left, last = some(database_url, "ticked", 3)
    foreign = ignored(author_id="ticked", user_id="umbrella")
    record(database_url, foreign)
    visitor, _ = lead(visitors, database_url, account="acme")
    ids = [str(each.decision_id) for each in (first, last, foreign)]
    page = visitor.get("/bulk?" + urlencode([("id", each) for each in ids]))
    answer = ask(visitor, page, id=ids)
    worked(database_url)
    reviewed = rows(
        database_url,
        "SELECT decision_id FROM decision_reviews WHERE job_id = %s",
        answer.headers["location"].rsplit("/", 1)[1],
    )

    assert '<strong id="count">2</strong>' in page.text
    assert {row["decision_id"] for row in reviewed} == {first.decision_id, last.decision_id}
    assert "2 ticked decisions" not in visitor.get(answer.headers["location"]).text
    assert visitor.get("/bulk?id=no-id").status_code == 400


def test_many_decisions_need_their_number_typed(
    visitors: Any, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number as shown, with or without separators."""
    monkeypatch.setattr(bulk_pages, "TYPED_FROM", 3)
    some(database_url, "typed", 3)
    visitor, _ = lead(visitors, database_url)
    page = visitor.get("/bulk?author=typed&since=7d")
    refused = ask(visitor, page, typed="4")

    answer = ask(visitor, page, typed="3")
    worked(database_url)

    assert (refused.status_code, "Type the number of decisions, 3," in refused.text) == (400, True)
    assert answer.status_code == 303


def test_an_undone_bulk_review_leaves_what_people_changed_since(visitors: Any, database_url: str) -> None:
    """Reviews and restored exchanges go back, except where another person reviewed meanwhile."""
    sealed = blocked(author_id="undone", conversation_id="undone-sealed")
    changed = blocked(author_id="undone", conversation_id="undone-changed")
    record(database_url, sealed, changed)
    visitor, _ = lead(visitors, database_url)
    job_id = started(visitor, "undone", ruling="overturn", corrected="respond", remedy="restore")
    early = visitor.post(f"/jobs/{job_id}/undo")
    worked(database_url)
    colleague = Submission(
        decision_id=changed.decision_id,
        reviewer=Reviewer(person_id=None, login="somebody"),
        ruling=Ruling.AGREE,
        seen=rows(database_url, LAST, changed.decision_id)[0]["last_review"],
    )
    at = datetime.now(UTC)
    stored(database_url, lambda connection: submission.submit_review(connection, colleague, at))
    offered = visitor.get(f"/jobs/{job_id}").text
    undo = visitor.post(f"/jobs/{job_id}/undo")
    worked(database_url)
    shown = visitor.get(undo.headers["location"]).text
    states = rows(
        database_url,
        "SELECT d.conversation_id, s.state FROM review_states s JOIN ai_decisions d ON d.id = s.decision_id"
        " WHERE d.author_id = 'undone' ORDER BY 1",
    )

    assert early.status_code == 409
    assert "Undo 2 reviews" in offered
    assert undo.status_code == 303
    assert "<dt>Reviews withdrawn</dt><dd>1</dd>" in shown
    assert "<dt>Left as they are</dt><dd>1 " in shown
    assert [(row["conversation_id"], row["state"]) for row in states] == [
        ("undone-changed", "disputed"),
        ("undone-sealed", "open"),
    ]
    assert history(database_url, "undone-sealed") == []
    assert history(database_url, "undone-changed") == [("user", "is this spam?")]
    assert visitor.post(f"/jobs/{job_id}/undo").status_code == 409


def test_an_undo_is_continued_after_a_crash_and_repeats_nothing(
    visitors: Any, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches; each review is withdrawn once."""
    monkeypatch.setattr(bulk_jobs, "UNDO_BATCH", 2)
    some(database_url, "undone twice", 5)
    visitor, _ = lead(visitors, database_url)
    job_id = started(visitor, "undone twice")
    worked(database_url)
    undo_id = UUID(visitor.post(f"/jobs/{job_id}/undo").headers["location"].rsplit("/", 1)[1])
    calls = 0

    async def dies(*given: Any) -> JobStep:
        nonlocal calls
        calls += 1
        done = await bulk_jobs.undo_step(*given)
        if calls == 2:
            raise asyncio.CancelledError
        return done

    with pytest.raises(asyncio.CancelledError):
        worked(database_url, (JobRunnerKind(kind=JobKind.BULK_UNDO, right=Right.LEAD, step=dies),))
    before = len(rulings(database_url, undo_id))
    worked(database_url)

    assert before == 2
    assert (job(database_url, undo_id).state, rulings(database_url, undo_id)) == (
        JobState.DONE,
        ["withdrawn"] * 5,
    )
