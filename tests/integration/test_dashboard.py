"""Dashboard and agreement as people see them, on a real site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape

import psycopg
import pytest
from httpx2 import Response

from db.figures.hourly import fill_next
from db.people.records import Role
from tests.support.review_rows import decided, store
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in, site, stored

HOSTILE = "<script>alert(1)</script>"
RULE = 'flagged_keyword:"><img src=x onerror=alert(1)>'
NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def url(database_url: str) -> str:
    """A database with three accounts, one with a hostile name, and a review of each kind."""
    rows = [
        decided(
            NOW - 2 * HOUR,
            user_id="acme",
            decision="respond",
            reason_code="REPLIED",
            confidence=0.8,
            kept={
                "received_at": (NOW - 2 * HOUR - timedelta(seconds=10)).isoformat(),
                "attempts": [{"outcome": "timeout"}, {"outcome": "completed"}],
                "rechecked": [0.4, 0.8],
                "assessment": {"policy": "calibrated@1"},
            },
        ),
        decided(NOW - 2 * HOUR, user_id="acme", reason_code="FLAGGED_RULE", matched_rule=RULE),
        decided(
            NOW - 3 * HOUR,
            user_id="other",
            decision="escalate",
            reason_code="MODEL_ESCALATED",
            rejection_reason="off_topic",
        ),
        decided(NOW - 3 * HOUR, user_id="other", reason_code="LLM_ERROR", confidence=0.0),
        decided(NOW - 4 * HOUR, user_id=HOSTILE, rejection_reason="low_grounding"),
        decided(
            NOW - 27 * HOUR,
            user_id="acme",
            decision="respond",
            reason_code="REPLIED",
            confidence=0.7,
            kept={"assessment": {"policy": "calibrated@1"}},
        ),
    ]
    store(database_url, rows)
    with psycopg.connect(database_url, autocommit=True) as connection:
        for number, (row, ruling) in enumerate(zip(rows[:3], ("agree", "overturn", "unsure"), strict=True)):
            connection.execute(
                "INSERT INTO decision_reviews"
                " (id, decision_id, decision_at, user_id, person, ruling, source)"
                " VALUES (gen_random_uuid(), %s, %s, %s, %s, %s, 'page')",
                (row["id"], row["created_at"], row["user_id"], f"<i>reader {number}</i>", ruling),
            )
    while stored(database_url, lambda connection: fill_next(connection, now=datetime.now(UTC))) is not None:
        pass
    return database_url


@pytest.fixture(scope="module")
def visitor(url: str) -> Iterator[Visitors]:
    """Visitors of one running site."""
    with site(url) as running:
        yield running


@pytest.fixture
def lead(url: str, visitor: Visitors) -> Visitor:
    """The session of a lead of every account."""
    return signed_in(visitor, add_person(url, Role.LEAD))


def rows_of(response: Response) -> int:
    """Decisions on a page of the list."""
    return len(re.findall("<tr data-row", response.text))


def figure(response: Response, title: str) -> str:
    """The value of a tile."""
    found = re.search(rf"<dt>{title}</dt>\s*<dd class=\"value\">(?:<a [^>]*>)?([^<]*)", response.text)
    assert found is not None, title
    return unescape(found[1])


def test_the_page_shows_what_was_decided(lead: Visitor) -> None:
    """Counts, shares, and the change against the day before."""
    page = lead.get("/dashboard")

    assert page.status_code == 200
    assert [figure(page, each) for each in ("Decisions", "Replied", "Blocked", "Silent failures")] == [
        "5",
        "1",
        "1",
        "1",
    ]
    assert figure(page, "Mean confidence") == "0.80"
    assert "Mean confidence per hour" in page.text
    assert '<th scope="col" class="number">calibrated</th>' in page.text
    assert "up 400 %" in page.text
    assert "still being counted" not in page.text


REJECTION = re.compile(
    r'<tr>\s*<th scope="row"><code>(\w+)</code></th>\s*<td class="number"><a href="([^"]+)">(\d+)</a></td>'
    r'\s*<td class="number">([^<]+)</td>'
)


def test_rejected_drafts_are_counted_by_reason(lead: Visitor) -> None:
    """Count, share of the rejections, and a link to as many decisions (Safety Mechanism's analysis)."""
    found = REJECTION.findall(lead.get("/dashboard").text)
    linked = [rows_of(lead.get(unescape(href))) for _, href, _, _ in found]
    other = REJECTION.findall(lead.get("/dashboard?account=other&scope=chat").text)

    assert [(reason, count, share) for reason, _, count, share in found] == [
        ("low_grounding", "1", "50 %"),
        ("off_topic", "1", "50 %"),
    ]
    assert linked == [1, 1]
    assert [reason for reason, *_ in other] == ["off_topic"]
    assert "Rejected drafts" not in lead.get("/dashboard?account=acme").text
    assert "Rejected drafts" not in lead.get("/dashboard?scope=comment").text


TILE = re.compile(
    r'<dt>(?P<title>[^<]+)</dt>\s*<dd class="value"><a href="(?P<href>[^"]+)">(?P<value>[^<]+)</a></dd>'
    r'\s*<dd class="note">(?P<note>[^<]*)</dd>'
)
CELL = re.compile(r'<td class="number"><a href="(/decisions[^"]+)">(\d+)</a></td>')
UNCOUNTED = {"Mean confidence", "Calls", "Tokens"} | {
    f"{each}, p95" for each in ("Time to a decision", "Time to a reply", "Waiting before it")
}
"""Tiles that count no decisions."""
OF_PEOPLE = {"Overturn rate", "Escalations answered in time"}
"""Tiles without a link where people did nothing."""


@pytest.mark.parametrize("query", ["", "?account=acme", "?range=7d&scope=chat"])
def test_every_tile_leads_to_as_many_decisions_as_it_counts(lead: Visitor, query: str) -> None:
    """A share says in its note of how many."""
    page = lead.get(f"/dashboard{query}")
    tiles = {found["title"]: found for found in TILE.finditer(page.text)}
    titles = set(re.findall("<dt>([^<]+)</dt>\\s*<dd class=.value.", page.text))

    assert titles - set(tiles) - OF_PEOPLE == UNCOUNTED
    for title, found in tiles.items():
        counted = (
            found["note"] if "%" in found["value"] or "\N{EN DASH}" in found["value"] else found["value"]
        )
        listed = lead.get(unescape(found["href"]))
        assert (title, rows_of(listed)) == (title, int(counted.split()[0]))


def test_the_time_to_a_reply_is_not_hidden_by_quick_decisions(lead: Visitor) -> None:
    """Four messages were decided in half a second, the one with a reply in ten seconds."""
    page = lead.get("/dashboard").text
    found = {
        title: re.findall(rf"<dt>{title}, p95</dt>.*?>(p50 [^ ]+ \w+)", page, re.DOTALL)
        for title in ("Time to a decision", "Time to a reply")
    }

    assert found == {"Time to a decision": ["p50 490 ms"], "Time to a reply": ["p50 10 s"]}


def test_every_cell_leads_to_as_many_decisions_as_it_counts(lead: Visitor) -> None:
    """In the tables beside the plots, of the reasons and of the accounts."""
    cells = CELL.findall(lead.get("/dashboard").text)

    assert len(cells) > 10
    for href, number in cells:
        assert (href, rows_of(lead.get(unescape(href)))) == (href, int(number))


def test_a_viewer_of_one_account_sees_its_figures_only(url: str, visitor: Visitors) -> None:
    """Another account does not exist for them, and agreement is not theirs to see."""
    session = signed_in(visitor, add_person(url, Role.VIEWER, account="acme"))
    page = session.get("/dashboard")

    assert figure(page, "Decisions") == "2"
    assert "other" not in re.findall(r'<option value="([^"]*)"></option>', page.text)
    assert "MODEL_" not in page.text
    assert session.get("/dashboard?account=other").status_code == 404
    assert session.get("/api/v1/figures?account=other").status_code == 404
    assert session.get("/agreement").status_code == 403
    assert session.get("/api/v1/agreement").status_code == 403


def test_a_lead_of_one_account_sees_its_reviews_only(url: str, visitor: Visitors) -> None:
    """Also through the JSON API, and although they may look at another account."""
    session = signed_in(visitor, add_person(url, Role.LEAD, account="acme"))
    found = session.get("/api/v1/agreement").json()

    assert {each["key"] for each in found["reasons"]} == {"REPLIED", "FLAGGED_RULE"}
    assert session.get("/agreement?account=other").status_code == 404


def test_the_json_face_gives_the_same_numbers(lead: Visitor) -> None:
    """Totals, times, steps and the range before."""
    found = lead.get("/api/v1/figures").json()

    assert (found["totals"]["decisions"], found["totals"]["by_reason"]["REPLIED"]) == (5, 1)
    assert sum(each["decisions"] for each in found["steps"]) == 5
    assert found["times_ms"]["total_ms"]["p50"] == pytest.approx(500, rel=0.045)
    assert found["before"]["totals"]["decisions"] == 1
    assert {each["policy"] for each in found["mean_confidence"]} == {"calibrated"}
    assert all(0 <= each["mean"] <= 1 for each in found["mean_confidence"])
    assert found["uncounted_hours"] == 0


def test_agreement_says_what_it_counts(lead: Visitor) -> None:
    """The first basis that has reviews, its name, and the others as links."""
    page = lead.get("/agreement")
    found = lead.get("/api/v1/agreement?basis=chosen&sort=precision").json()
    by_reason = {each["key"]: each for each in found["reasons"]}

    assert "Chosen: 3 reviews" in page.text
    assert re.search(r'reason=REPLIED[^>]*>Reply sent</a> <code class="muted">REPLIED</code>', page.text)
    assert "No reviews of this kind yet" in lead.get("/agreement?basis=sampled").text
    assert by_reason["REPLIED"]["precision"]["share"] == 1
    assert by_reason["FLAGGED_RULE"]["overturned"] == 1
    assert by_reason["MODEL_ESCALATED"]["precision"] is None
    assert found["reasons"][0]["key"] == "FLAGGED_RULE"


@pytest.mark.parametrize("path", ["/dashboard", "/agreement"])
@pytest.mark.parametrize("query", ["range=never", "since=x", "scope=mail&basis=best", "since=2027-01-01"])
def test_what_cannot_be_used_is_said_on_the_page(lead: Visitor, path: str, query: str) -> None:
    """And figures are shown all the same; the JSON API refuses."""
    page = lead.get(f"{path}?{query}")
    api = lead.get(f"/api/v1/{'figures' if path == '/dashboard' else 'agreement'}?{query}")

    assert (page.status_code, api.status_code) == (400, 422 if query.startswith("since=2") else 400)
    assert "expected" in page.text
    assert "expected" in api.json()["detail"]
    assert "<h2" in page.text


def test_looking_at_figures_is_on_record(url: str, lead: Visitor) -> None:
    """Who looked, at which account."""
    lead.get("/dashboard?account=acme")
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT action, user_id FROM access_log WHERE action = 'figures' ORDER BY id DESC LIMIT 1"
        ).fetchone()

    assert row == ("figures", "acme")
