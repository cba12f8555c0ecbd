"""The dashboard for leads: what changed, goals, reviews, escalations, notes and files, on a real site."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from xml.etree import ElementTree as ET

import psycopg
import pytest

from db.figures.hourly import fill_next
from db.people.records import Role
from tests.support.review_rows import decided, store
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in, site, stored

NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)
RULE = "flagged_keyword:casino"
TRIED = {"models": {"completion": "openai/gpt-4.1"}, "language": "DE"}
LINK = re.compile(r'<td class="number"><a href="(/decisions[^"]+)">([\d\s]+)</a></td>')


@pytest.fixture(scope="module")
def url(database_url: str) -> str:
    """Three blocks today and one yesterday, replies of a model, a review, and escalations, one answered."""
    blocked = {"reason_code": "FLAGGED_RULE", "matched_rule": RULE}
    replied = {"decision": "respond", "reason_code": "REPLIED", "kept": TRIED}
    escalated = {"decision": "escalate", "reason_code": "MODEL_ESCALATED", "user_id": "other"}
    rows = [
        *(decided(NOW - hours * HOUR, **blocked) for hours in (2, 3, 3, 26)),
        *(decided(NOW - hours * HOUR, **replied) for hours in (4, 5, 28)),
        *(decided(NOW - hours * HOUR, **escalated) for hours in (6, 7, 8)),
    ]
    store(database_url, rows)
    with psycopg.connect(database_url, autocommit=True) as connection:
        for row, state in ((rows[0], "overturn"), (rows[1], "agree"), (rows[2], "agree")):
            connection.execute(
                "INSERT INTO review_states (decision_id, decision_at, user_id, state, reviews, last_review)"
                " VALUES (%s, %s, %s, %s, 1, gen_random_uuid())",
                (row["id"], row["created_at"], row["user_id"], state),
            )
        causes = ("released", "reviewed", "answered", "answered", None)
        for row, minutes, cause in zip(rows[5:], (10, 10, 30, 90, None), causes, strict=True):
            opened = row["created_at"]
            closed = None if minutes is None else opened + timedelta(minutes=minutes)
            end = (None, None, None) if closed is None else (closed, "kim", cause)
            connection.execute(
                "INSERT INTO escalations (decision_id, user_id, event_id, conversation_id, message_id,"
                " author_id, scope, reason_code, queue, opened_at, closed_at, closed_by, cause)"
                " VALUES (%s, 'other', 'e', %s, 'm', 'a', 'chat', 'MODEL_ESCALATED', '', %s, %s, %s, %s)",
                (row["id"], row["conversation_id"], opened, *end),
            )
        connection.execute(
            "INSERT INTO answers (id, user_id, conversation_id, message_id, decision_id, decision_at, scope,"
            " outcome, text, person, released, rules_version, created_at)"
            " VALUES (gen_random_uuid(), 'other', %s, 'm', %s, %s, 'chat', 'written', 'Nine.', 'kim', false,"
            " 1, %s)",
            (rows[7]["conversation_id"], rows[7]["id"], rows[7]["created_at"], NOW),
        )
    while stored(database_url, lambda connection: fill_next(connection, now=datetime.now(UTC))) is not None:
        pass
    return database_url


@pytest.fixture(scope="module")
def visitor(url: str) -> Iterator[Visitors]:
    """Visitors of one running site."""
    with site(url) as running:
        yield running


@pytest.fixture(scope="module")
def lead(url: str, visitor: Visitors) -> Visitor:
    """The session of a lead of every account."""
    return signed_in(visitor, add_person(url, Role.LEAD))


def changes(page: str) -> str:
    """The part of the page on what changed."""
    return page.split('id="changes"')[1].split("</section>", maxsplit=1)[0]


def table_of(visitor: Visitor, path: str) -> list[list[str]]:
    """The rows of a CSV file, heads first."""
    response = visitor.get(path)
    assert response.status_code == 200, response.text
    return list(csv.reader(io.StringIO(response.text.removeprefix("\ufeff"))))


def test_the_parts_of_a_change_hold_what_a_person_answered(lead: Visitor) -> None:
    """They are counted by what the AI decided, so that no part is left over."""
    escalated = table_of(lead, "/dashboard/figures/change.csv?measure=escalated")[1:]

    assert [row[1:] for row in escalated] == [
        ["account", "other", "3", "0", "3"],
        ["reason", "MODEL_ESCALATED", "3", "0", "3"],
    ]


def test_a_change_is_divided_by_rule_account_model_and_language(lead: Visitor) -> None:
    """Blocks rose by two, all of one rule; the replies of one model by one, all in German."""
    blocked = table_of(lead, "/dashboard/figures/change.csv?measure=blocked")[1:]
    replied = table_of(lead, "/dashboard/figures/change.csv?measure=replies&account=acme")[1:]

    assert [row[1:] for row in blocked] == [
        ["account", "acme", "3", "1", "2"],
        ["rule", RULE, "3", "1", "2"],
        ["reason", "FLAGGED_RULE", "3", "1", "2"],
    ]
    assert [row[1:] for row in replied] == [
        ["reason", "REPLIED", "2", "1", "1"],
        ["model", "openai/gpt-4.1", "2", "1", "1"],
        ["language", "de", "2", "1", "1"],
    ]


@pytest.mark.parametrize("query", ["?measure=blocked", "?measure=replies&scope=chat", "?measure=escalated"])
def test_every_part_leads_to_as_many_decisions_as_it_counts(lead: Visitor, query: str) -> None:
    """Now and before."""
    found = LINK.findall(changes(lead.get(f"/dashboard{query}").text))

    assert len(found) >= 2
    for href, number in found:
        listed = len(re.findall("<tr data-row", lead.get(unescape(href)).text))
        assert (href, listed) == (href, int(number))


def test_days_have_the_parts_of_their_hours(url: str, lead: Visitor) -> None:
    """A day's sums are those of its hours, and whoever sees one account gets its parts only."""
    with psycopg.connect(url) as connection:
        days = connection.execute(
            "SELECT start, user_id, sum(events) FROM figure_parts"
            " WHERE grain = 'day' GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()
        hours = connection.execute(
            "SELECT date_trunc('day', start, 'UTC'), user_id, sum(events) FROM figure_parts"
            " WHERE grain = 'hour' AND date_trunc('day', start, 'UTC') IN"
            " (SELECT start FROM figure_spans WHERE grain = 'day') GROUP BY 1, 2 ORDER BY 1, 2"
        ).fetchall()

    assert days == hours
    assert table_of(lead, "/dashboard/figures/change.csv?measure=blocked&account=other")[1:] == []


def test_reviews_and_escalations_are_shares(lead: Visitor) -> None:
    """One of three reviewed is overturned. Of the escalations that needed an answer one has it in time.

    One was answered too late, one was given back to the AI without an answer, and one waits; the one that a
    person dismissed needed no answer.
    """
    page = lead.get("/dashboard").text

    assert "1 of 3 reviewed decisions" in page
    assert "1 of 4 escalations" in page
    assert "1 escalation is open; it has waited for 8 h" in page
    assert "0 of 0 escalations" in lead.get("/dashboard?account=acme").text


def test_a_goal_is_drawn_and_said(lead: Visitor) -> None:
    """Its own account, then all accounts; saved empty it is gone."""
    lead.get("/dashboard")
    saved = lead.post(
        "/dashboard/goals", account="acme", measure="blocked", share="5", query="range=7d&next=//x"
    )
    page = lead.get("/dashboard?account=acme").text
    others = lead.get("/dashboard?account=other").text
    lead.post("/dashboard/goals", account="acme", measure="blocked", share="")

    assert (saved.status_code, saved.headers["location"]) == (303, "/dashboard?range=7d")
    assert "Above the goal of 5.0 % in 2 of 4 periods." in page
    assert "Block rate: 60 %, above the goal of 5.0 %." in page
    assert ">goal 5.0 %</text>" in page
    assert "goal of 5.0 %" not in others
    assert "goal of 5.0 %" not in lead.get("/dashboard?account=acme").text


def test_the_time_of_a_goal_decides_what_is_late(lead: Visitor) -> None:
    """Within two hours, both answers were in time."""
    lead.get("/dashboard")
    lead.post("/dashboard/goals", measure="answered_in_time", share="90", within_min="120")
    page = lead.get("/dashboard").text
    lead.post("/dashboard/goals", measure="answered_in_time", share="")

    assert "2 of 4 escalations" in page
    assert "Escalations answered in time: 50 %, below the goal of 90 %." in page


@pytest.mark.parametrize(
    "fields",
    [
        {"measure": "luck", "share": "5"},
        {"measure": "blocked", "share": "101"},
        {"measure": "blocked", "share": "nan"},
        {"measure": "blocked", "share": "many"},
        {"measure": "answered_in_time", "share": "90", "within_min": "0"},
    ],
)
def test_an_impossible_goal_is_refused(lead: Visitor, fields: dict[str, str]) -> None:
    """Nothing is stored."""
    lead.get("/dashboard")

    assert lead.post("/dashboard/goals", **fields).status_code == 422


def test_a_note_is_drawn_at_its_time_and_removed(lead: Visitor) -> None:
    """A later time and an empty text are refused."""
    lead.get("/dashboard")
    later = f"{NOW + timedelta(days=2):%Y-%m-%dT%H:%M}"
    refused = [
        lead.post("/dashboard/notes", text="", at="").status_code,
        lead.post("/dashboard/notes", text="x", at=later).status_code,
    ]
    lead.get("/dashboard")
    lead.post("/dashboard/notes", text="Provider outage", at=f"{NOW - 3 * HOUR:%Y-%m-%dT%H:%M}")
    page = lead.get("/dashboard").text
    (note,) = re.findall(r'action="(/dashboard/notes/\d+/remove)"', page)
    removed = lead.post(note)

    assert refused == [422, 422]
    assert "<title>1: Provider outage</title>" in page
    assert removed.status_code == 303
    assert "Provider outage" not in lead.get("/dashboard").text


def test_a_lead_of_one_account_sets_nothing_for_all(url: str, visitor: Visitors) -> None:
    """The forms appear with the account; a note of another account is not found."""
    session = signed_in(visitor, add_person(url, Role.LEAD, account="acme"))
    everywhere, own = session.get("/dashboard").text, session.get("/dashboard?account=acme").text

    assert ("Mark an incident" in everywhere, "Mark an incident" in own) == (False, True)
    assert session.post("/dashboard/goals", measure="blocked", share="5").status_code == 422
    assert session.post("/dashboard/notes", account="other", text="x").status_code == 404
    assert session.post("/dashboard/notes/999999/remove").status_code == 404


def test_every_figure_is_a_file(lead: Visitor) -> None:
    """CSV has as many lines as the table on the page; SVG is well-formed and needs no style sheet."""
    page = lead.get("/dashboard").text
    links = sorted({unescape(each) for each in re.findall(r'href="(/dashboard/figures/[^"]+)"', page)})

    assert len(links) > 12
    for href in links:
        response = lead.get(href)
        assert response.headers["content-disposition"].startswith("attachment")
        if ".svg" in href:
            assert "class" not in {
                name for each in ET.fromstring(response.text).iter() for name in each.attrib
            }
        else:
            assert len({len(row) for row in table_of(lead, href)}) == 1
    decisions = table_of(lead, "/dashboard/figures/decisions.csv")
    assert (len(decisions), sum(int(row[1]) for row in decisions[1:])) == (25, 2)
    assert lead.get("/dashboard/figures/none.csv").status_code == 404
    assert lead.get("/dashboard/figures/change.svg").status_code == 404
    assert lead.get("/dashboard/figures/decisions.csv?range=never").status_code == 400
