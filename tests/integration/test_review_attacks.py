"""Attacks on the review pages, and attempts to see the known answer of a test item."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa
from uuid_utils.compat import uuid7

from db import jobs
from db.audit import decision_list
from db.connection import Connection
from db.jobs import (
    JobKind,
    JobLost,
    JobState,
    JobStep,
)
from db.people.records import Role
from db.reviews import (
    claims,
    queues,
    submission,
    withdrawal,
)
from db.reviews.queues import QueueKind
from db.reviews.rulings import Reviewer, Ruling, RulingReason
from db.reviews.submission import Submission
from tests.integration.test_reviews import NOW
from tests.support.audited import blocked, record, replied
from tests.support.queues import as_reviewer, hand_queue, mark_known, new_reviewer, open_queue
from tests.support.reviewing import PASSWORD, Visitor, add_person, person_at, site, stored


@pytest.fixture(scope="module")
def everything(database_url: str) -> Iterator[Visitor]:
    """A person with every role on every account."""
    with site(database_url) as visitor:
        person = add_person(database_url, *Role)
        found: Visitor = visitor()
        found.sign_in(person)
        yield found


def test_a_golden_item_is_told_apart_by_nothing(visitors: Any, database_url: str) -> None:
    """Not by what its page says, its address, who holds its queue, or the states it is listed under."""
    lead = add_person(database_url, Role.LEAD)
    asked, ordinary, third = replied(), replied(), replied()
    for each in (asked, ordinary, third):
        record(database_url, each)
    mark = as_reviewer(lead)
    mark_known(database_url, asked.decision_id, mark)
    picked = {each.decision_id: each.decided_at for each in (ordinary, third)}
    golden_queue = hand_queue(database_url, "with golden", picked, golden_share=1.0)
    plain_queue = hand_queue(database_url, "without golden", picked)
    seen = {}
    for of, name in ((golden_queue, "golden"), (plain_queue, "plain")):
        visitor, person = person_at(visitors, database_url, Role.REVIEWER)
        visitor.get("/queues")
        dealt = visitor.post(f"/queues/{of}/next").headers["location"]
        decision = dealt.partition("/decisions/")[2].partition("?")[0]
        page = visitor.get(dealt)
        index = visitor.get("/queues").text
        listed = {
            state: decision in visitor.get(f"/decisions?since=all&review={state}").text
            for state in ("open", "reviewed", "agree")
        }
        seen[name] = (
            "Reviews of others are shown after" in page.text,
            "Stored reviews" in page.text,
            dealt == f"/decisions/{decision}?item={decision}",
            person.name in index,
            listed,
        )
        if name == "golden":
            assert decision == str(asked.decision_id)

    assert seen["golden"] == seen["plain"]
    assert seen["golden"][-1] == {"open": True, "reviewed": False, "agree": False}


def test_a_golden_item_fits_the_queue_it_is_dealt_in(visitors: Any, database_url: str) -> None:
    """An answered message among escalations would be known for what it is."""
    lead = add_person(database_url, Role.LEAD)
    asked = replied()
    record(database_url, asked)
    by = as_reviewer(lead)
    mark_known(database_url, asked.decision_id, by)
    escalations = open_queue(database_url, QueueKind.ESCALATIONS)
    reader = new_reviewer(database_url)
    dealt = stored(
        database_url,
        lambda connection: claims.claim_next(
            connection, escalations, reader, accounts=None, draw=0.0, now=NOW
        ),
    )

    assert dealt is None or dealt.decision_id != asked.decision_id


def test_a_filter_does_not_tell_a_blind_reader_the_first_ruling(visitors: Any, database_url: str) -> None:
    """Neither the list, nor the JSON API, nor the count before a bulk review or an export."""
    decided = blocked()
    record(database_url, decided)
    of = hand_queue(
        database_url, "to be read twice", {decided.decision_id: decided.decided_at}, second_share=1.0
    )
    first, _ = person_at(visitors, database_url, Role.REVIEWER)
    first.get("/queues")
    page = first.get(first.post(f"/queues/{of}/next").headers["location"])
    assert page.status_code == 200
    first.post(
        f"/decisions/{decided.decision_id}/review",
        ruling="overturn",
        reason="OTHER",
        corrected="escalate",
        seen="",
        note="No.",
    )
    second, _ = person_at(visitors, database_url, Role.LEAD)
    second.get("/queues")
    again = open_queue(database_url, QueueKind.SECOND)
    dealt = second.post(f"/queues/{again.id}/next").headers["location"]
    only = f"since=all&event={decided.event.event_id}"
    counts = {
        state: (
            str(decided.decision_id) in second.get(f"/decisions?{only}&review={state}").text,
            len(second.get(f"/api/v1/decisions?{only}&review={state}").json()["decisions"]),
            '<strong id="count">1<' in second.get(f"/bulk?{only}&review={state}").text,
        )
        for state in ("open", "overturn", "reviewed")
    }

    assert dealt.startswith(f"/decisions/{decided.decision_id}")
    assert counts["open"] == (True, 1, True)
    assert counts["overturn"] == counts["reviewed"] == (False, 0, False)


def test_an_undone_blind_reading_goes_to_somebody_else(visitors: Any, database_url: str) -> None:
    """Between answer and undo the first reading is shown."""
    decided = blocked()
    record(database_url, decided)
    of = hand_queue(database_url, "undone blind", {decided.decision_id: decided.decided_at}, second_share=1.0)
    one, two = (new_reviewer(database_url) for _ in range(2))

    def dealt(queue_id: UUID, reader: Reviewer) -> Any:
        queue = next(each for each in stored(database_url, queues.list_open_queues) if each.id == queue_id)
        return stored(
            database_url,
            lambda connection: claims.claim_next(connection, queue, reader, accounts=None, draw=1.0, now=NOW),
        )

    def says(reader: Reviewer, ruling: Ruling) -> Any:
        given = Submission(
            decision_id=decided.decision_id,
            reviewer=reader,
            ruling=ruling,
            reason=RulingReason.SHOULD_ESCALATE if ruling is Ruling.OVERTURN else None,
        )
        return stored(database_url, lambda connection: submission.submit_review(connection, given, NOW))

    def offered(reader: Reviewer) -> bool:
        """Whether the queue of second readings deals it; what other tests left there is skipped."""
        assert reader.person_id is not None
        mine = reader.person_id
        while (got := dealt(second, reader)) is not None and got.decision_id != decided.decision_id:
            stored(database_url, partial(claims.skip_item, item_id=got.item_id, person_id=mine))
        return got is not None

    dealt(of, one)
    says(one, Ruling.OVERTURN)
    second = open_queue(database_url, QueueKind.SECOND).id
    first_offer = offered(two)
    blind = says(two, Ruling.AGREE)
    stored(database_url, lambda connection: withdrawal.withdraw_review(connection, blind.review.id, two, NOW))

    assert first_offer
    assert not offered(two)
    assert offered(new_reviewer(database_url))


def test_a_shared_view_stays_among_people_who_share_an_account(visitors: Any, database_url: str) -> None:
    """Its name and its filters come from what its owner reads; so does the name of an account in them."""
    owner, _ = person_at(visitors, database_url, Role.VIEWER, account="north")
    colleague, _ = person_at(visitors, database_url, Role.VIEWER, account="north")
    stranger, _ = person_at(visitors, database_url, Role.VIEWER, account="south")
    chief, _ = person_at(visitors, database_url, Role.VIEWER)
    for visitor, name, query in (
        (owner, "Northern secret", "text=northern"),
        (chief, "About north only", "account=north"),
        (chief, "For everybody", "decision=escalate"),
    ):
        visitor.get("/views")
        visitor.post("/views", name=name, query=query)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE saved_views SET shared = true")
    seen = {
        each: [
            name in (one.get("/views").text, one.get("/decisions").text)[page]
            for page in (0, 1)
            for name in ("Northern secret", "About north only", "For everybody")
        ]
        for each, one in (("colleague", colleague), ("stranger", stranger))
    }

    assert seen == {"colleague": [True] * 6, "stranger": [False, False, True] * 2}


def test_a_server_that_was_away_does_not_end_a_job_that_another_goes_on_with(database_url: str) -> None:
    """It wakes up, fails at the step that the other has stored, and leaves the job alone."""
    person = add_person(database_url, Role.LEAD)
    job_id = uuid7()

    async def twice(connection: Connection) -> JobState | None:
        await jobs.add_job(connection, job_id, person_id=person.person_id, kind=JobKind.EXPORT, params={})
        await connection.execute(sa.text("UPDATE jobs SET state = 'running' WHERE id = :id"), {"id": job_id})
        asleep = await jobs.get_job(connection, job_id)
        assert asleep is not None
        await jobs.store_step(connection, asleep, JobStep(done=1, position="1:"))
        with pytest.raises(JobLost):
            await jobs.end_job(connection, asleep, JobState.FAILED, error="it broke")
        found = await jobs.get_job(connection, job_id)
        await connection.execute(
            sa.text("UPDATE jobs SET state = 'cancelled' WHERE id = :id"), {"id": job_id}
        )
        return found.state if found else None

    assert stored(database_url, twice) is JobState.RUNNING


def test_an_error_of_the_database_does_not_repeat_what_people_wrote(database_url: str) -> None:
    """Its text goes to the log whole."""

    async def fail(connection: Connection) -> None:
        values = {"note": "my secret note"}
        await connection.execute(sa.text("SELECT 1 / 0 WHERE :note <> ''"), values)

    with pytest.raises(psycopg.Error) as raised:
        stored(database_url, fail)

    assert "my secret note" not in str(raised.value)


def test_an_error_at_the_command_line_does_not_repeat_what_somebody_searched_for(database_url: str) -> None:
    """It lands in terminals' logs and in reports."""

    async def fail() -> None:
        async with decision_list.read_connection(database_url) as connection:
            await connection.execute(sa.text("SELECT 1 / 0 WHERE :text <> ''"), {"text": "my secret search"})

    with pytest.raises(psycopg.Error) as raised:
        asyncio.run(fail())

    assert "my secret search" not in str(raised.value)


def test_a_password_in_the_wrong_field_is_not_kept(visitors: Any, database_url: str) -> None:
    """The access log names logins that exist, and no others."""
    visitor = visitors()
    visitor.get("/sign-in")
    visitor.post("/sign-in", login="correct-horse-battery", password="x", next="/")
    with psycopg.connect(database_url) as connection:
        found = connection.execute(
            "SELECT count(*) FROM access_log WHERE detail::text LIKE '%correct-horse%'"
        )

        assert found.fetchone() == (0,)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE decision_reviews SET note = ''",
        "DELETE FROM decision_reviews",
        "TRUNCATE decision_reviews",
        "UPDATE access_log SET person = ''",
        "DELETE FROM access_log",
        "TRUNCATE access_log",
        "UPDATE ai_decisions SET reason = ''",
        "DELETE FROM ai_decisions",
        "INSERT INTO outbox (user_id) VALUES ('x')",
        "UPDATE outbox SET text = ''",
        "UPDATE messages SET text = ''",
        "UPDATE quarantine SET text = ''",
        "DELETE FROM people",
        "ALTER TABLE access_log ADD COLUMN x int",
        "SET ROLE hushgate_worker",
        "SET session_replication_role = replica",
    ],
)
def test_the_role_of_the_pages_changes_nothing_that_is_kept(database_url: str, statement: str) -> None:
    """Postgres itself refuses, whatever the program does."""
    with psycopg.connect(database_url) as connection:
        connection.execute("SET SESSION AUTHORIZATION hushgate_reviewer")
        with pytest.raises(psycopg.Error):
            connection.execute(statement)


def test_an_account_s_auditor_reads_of_lists_that_name_no_account(visitors: Any, database_url: str) -> None:
    """A person of one account reads that one only, and writes no line into another account's log."""
    reader, _ = person_at(visitors, database_url, Role.VIEWER, account="watched")
    stranger, _ = person_at(visitors, database_url, Role.VIEWER, account="elsewhere")
    reader.get("/decisions?text=plain-search")
    stranger.get("/decisions?account=watched&text=forged-line")
    auditor, _ = person_at(visitors, database_url, Role.AUDITOR, account="watched")
    log = auditor.get("/access-log").text

    assert "plain-search" in log
    assert "forged-line" not in log


@pytest.mark.parametrize(
    "path",
    [
        "/access-log?until=0001-01-01",
        "/access-log?since=0001-01-01T00:00%2B14:00",
        "/access-log?until=9999-12-31T23:59-14:00",
        "/api/v1/access-log?until=0001-01-01",
        "/access-log?cursor=0001-01-01T00:00:00%2B14:00~1",
        "/access-log?person=%ED%A0%80",
        "/decisions?since=99999999999999d",
        "/decisions?since=0001-01-01T00:00%2B14:00",
        "/decisions?until=9999-12-31T23:59-14:00",
        "/decisions?since=all&rule=%25%5C_*",
        "/decisions?since=all&text=%25%5C_",
        "/decisions?text=" + "x" * 10_000,
        "/decisions?confidence_from=nan",
        "/decisions?confidence_from=1e-400",
        "/decisions?version=999999999&account=a",
        "/dashboard?since=0001-01-01&until=0001-01-02",
        "/dashboard?since=9999-12-30&until=9999-12-31",
        "/dashboard?since=0001-01-01T00:00%2B14:00",
        "/dashboard?range=99999999999d",
        "/agreement?since=0001-01-01&until=0001-01-02",
        "/agreement?until=9999-12-31T23:59-14:00",
        "/accounts?after=%ED%A0%80",
        "/accounts/a/rules?version=99999999999",
        "/accounts/a/rules?version=%C2%B2",
        "/accounts/a/rules/diff?from=999999999&to=-1",
        "/accounts/a/rules/history?before=0",
        "/accounts/a/documents?page=%C2%B2",
        "/accounts/a/documents/99999999999999999999999/remove",
        "/accounts/a/rules/restore/99999999999999999999",
        "/accounts/" + "x" * 300 + "/rules",
        "/bulk?review=agree&review=open",
        "/bulk?since=all&text=" + "x" * 10_000,
        "/decisions/ffffffff-ffff-7fff-bfff-ffffffffffff",
        "/decisions/00000000-0000-7000-8000-000000000000",
        "/decisions/ffffffff-ffff-7fff-bfff-ffffffffffff/similar",
        "/decisions/ffffffff-ffff-7fff-bfff-ffffffffffff/review",
        "/api/v1/decisions/ffffffff-ffff-7fff-bfff-ffffffffffff",
        "/api/v1/decisions?limit=%C2%B2",
        "/jobs/00000000-0000-0000-0000-000000000000",
        "/people/00000000-0000-0000-0000-000000000000",
    ],
)
def test_no_address_breaks_a_page(everything: Visitor, path: str) -> None:
    """The edges of time, of numbers and of text end in an answer, never in an error of ours."""
    assert everything.get(path).status_code < 500


@pytest.mark.parametrize("text", ["\\ud800", "\\u0000"])
def test_a_carried_form_that_no_page_can_hold_is_dropped(visitors: Any, database_url: str, text: str) -> None:
    """Half a character cannot be sent, NUL cannot be stored."""
    person, visitor = add_person(database_url, Role.VIEWER), visitors()
    visitor.get("/sign-in")
    carried = '{"path": "/views", "fields": [["name", "' + text + '"]]}'
    answer = visitor.post("/sign-in", login=person.login, password=PASSWORD, next="/", carried=carried)

    assert answer.status_code == 303
