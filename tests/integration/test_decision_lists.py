"""The list of decisions as people use it: filters in the URL, bad input, views, exports, what is logged."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from html import escape, unescape
from typing import Any

import psycopg
import pytest
from httpx2 import Response
from psycopg.rows import dict_row

from db.people.records import (
    Role,
    RoleGrant,
    grant_role,
)
from tests.support.auditing import ago, decided, store
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in, site, stored
from worker.reasons import Reason

HOSTILE = "<script>alert(1)</script>\" onclick='x' {{7*7}} \u202e"
ROWS = 5


@pytest.fixture(scope="module")
def visitor(database_url: str) -> Iterator[Visitors]:
    """Visitors of one running site over an audit of two accounts."""
    made = [decided(at=ago(minutes=number), user_id="acme", author_id="a") for number in range(ROWS)]
    made += [
        decided(user_id="other", text="secret of the other account", author_id=HOSTILE),
        decided(user_id="other", text=HOSTILE, reason_code=Reason.FLAGGED_RULE, matched_rule=HOSTILE),
        decided(at=ago(days=3), user_id="acme", text="old"),
    ]
    store(database_url, made)
    with site(database_url) as running:
        yield running


@pytest.fixture
def lead(database_url: str, visitor: Visitors) -> Visitor:
    """A lead of every account, signed in."""
    return signed_in(visitor, add_person(database_url, Role.LEAD))


def rows_of(response: Response) -> int:
    """Rows of the list on a page."""
    return len(re.findall("<tr data-row", response.text))


def logged(url: str, action: str) -> list[dict[str, Any]]:
    """Lines of the access log with this action, oldest first."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        query = "SELECT * FROM access_log WHERE action = %s ORDER BY id"
        return connection.execute(query, (action,)).fetchall()


def test_the_list_shows_the_last_day(lead: Visitor) -> None:
    """A link leads to older decisions."""
    day = lead.get("/decisions")

    assert rows_of(day) == ROWS + 2
    assert f"{ROWS + 2} decisions" in day.text
    assert "From: 24h ago" in day.text
    assert rows_of(lead.get("/decisions?since=all")) == ROWS + 3


def test_each_filter_of_the_url_has_a_chip_that_removes_it(lead: Visitor) -> None:
    """The chip links to the list without its filter."""
    shown = lead.get("/decisions?account=acme&since=7d&decision=ignore")
    without = [unescape(link) for link in re.findall(r'href="([^"]+)" aria-label="Remove', shown.text)]

    assert rows_of(shown) == ROWS + 1
    assert without == [
        "/decisions?account=acme&decision=ignore",
        "/decisions?since=7d&decision=ignore",
        "/decisions?since=7d&account=acme",
    ]
    assert rows_of(lead.get("/decisions?" + without[1].partition("?")[2])) == ROWS + 3


@pytest.mark.parametrize(
    "query",
    [
        "reason=AI_DISABLED,FLAGGED_RULE",
        "reason=AI_DISABLED&reason=FLAGGED_RULE",
        "reason=ai_disabled%2C+flagged_rule",
        "reason=blocked&reason=AI_DISABLED&reason=",
        "reason=blocked,AI_DISABLED,FLAGGED_RULE",
    ],
)
def test_several_reasons_match_any_of_them(lead: Visitor, query: str) -> None:
    """On the page, in the JSON API, in an export and in a saved view."""
    one, both = lead.get("/decisions?reason=FLAGGED_RULE"), lead.get(f"/decisions?{query}")
    json_face = lead.get(f"/api/v1/decisions?{query}").json()["decisions"]
    lead.post("/views", name=query, query=query)
    kept = re.search(
        r'href="(/decisions\?reason=[^"]+)"><bdi>' + re.escape(escape(query)), lead.get("/views").text
    )
    file = lead.get(f"{exported(lead, query, format='ndjson')}/file")

    assert (rows_of(one), rows_of(both), len(json_face)) == (1, ROWS + 2, ROWS + 2)
    assert kept is not None
    assert rows_of(lead.get(unescape(kept[1]))) == len(file.text.splitlines()) == ROWS + 2
    assert rows_of(lead.get("/decisions?reason=failed")) == 0


BAD = (
    ("since=yesterday", "From", "a time such as 2026-11-21T10:00, or an age such as 24h or 7d", "yesterday"),
    ("since=99999999d", "From", "a time such as", "99999999d"),
    ("until=1900-01-01", "Until", "a time such as", "1900-01-01"),
    ("since=1h&until=2h", "Until", "a time after", "2h"),
    ("decision=maybe", "Decision", "one of ignore, respond, escalate", "maybe"),
    ("reason=WHY", "Reason", "a reason code such as SHED", "WHY"),
    ("reason=REPLIED,NOPE", "Reason", "a reason code such as NO_ANSWER", "NOPE"),
    ("reason=,", "Reason", "a reason code such as failed", ","),
    ("ran=away", "Run", "one of retried, rechecked, improved", "away"),
    ("version=3", "Version", "the filter account as well", "3"),
    ("account=a&version=-1", "Version", "a whole number", "-1"),
    ("confidence_from=2", "Confidence from", "a number from 0 to 1", "2"),
    ("confidence_from=nan", "Confidence from", "a number from 0 to 1", "nan"),
    ("confidence_from=0.5&confidence_to=0.1", "Confidence to", "at least 0.5", "0.1"),
    ("stage=moderation", "Stage outcome", "a stage (scope, rules,", "moderation"),
    ("stage=scope:burnt", "Stage outcome", "a stage (scope, rules,", "scope:burnt"),
    ("degraded=perhaps", "Degraded", "one of yes, no", "perhaps"),
    ("review=nice", "Review", "one of open, reviewed,", "nice"),
    ("text=" + "x" * 10_000, "Text", "at most 500 characters", "x" * 60 + "… (10,000 characters)"),
    ("colour=red", "Unknown filter", "one of since, until, account,", "colour"),
    ("scope=chat&scope=comment", "Scope", "one value", "chat, comment"),
)


@pytest.mark.parametrize(("query", "title", "expected", "got"), BAD, ids=[query[:30] for query, *_ in BAD])
def test_an_invalid_filter_is_reported_and_the_others_stay(
    lead: Visitor, query: str, title: str, expected: str, got: str
) -> None:
    """The message has the expectation and the value."""
    refused = lead.get(f"/decisions?{query}&author=somebody")
    text = unescape(re.sub(r"<[^>]+>", "", refused.text))

    assert refused.status_code == 400
    assert f"{title}: expected {expected}" in text
    assert f"got {got}" in text
    assert 'name="author" value="somebody"' in refused.text
    assert len(refused.text) < 60_000


def test_a_person_of_one_account_sees_only_that_account(database_url: str, visitor: Visitors) -> None:
    """With any filters in the URL, on the pages and in the JSON API."""
    person = add_person(database_url, Role.VIEWER, account="acme")
    session = signed_in(visitor, person)

    for query in ("", "?account=other", "?text=secret", "?account=other&cursor="):
        for path in ("/decisions", "/api/v1/decisions"):
            assert "secret of the other account" not in session.get(path + query).text
    assert rows_of(session.get("/decisions")) == ROWS
    assert session.post("/exports", query="", format="csv").status_code == 403


def test_lists_and_searches_are_logged_and_a_followed_list_once_a_minute(
    database_url: str, lead: Visitor
) -> None:
    """With the filters, and whether text was searched."""
    before = len(logged(database_url, "list"))
    lead.get("/decisions?account=acme")
    lead.get("/decisions?text=secret")
    for _ in range(3):
        lead.get("/decisions?live=1&author=followed")

    lists = [line["detail"]["query"] for line in logged(database_url, "list")][before:]
    assert lists == ["account=acme", "author=followed"]
    assert logged(database_url, "search")[-1]["detail"]["query"] == "text=secret"


def test_a_followed_list_shows_decisions_that_were_committed_late(database_url: str, lead: Visitor) -> None:
    """Each refresh renders the whole list."""
    newest = decided(author_id="live", user_id="live")
    store(database_url, [newest])
    assert rows_of(lead.get("/decisions?live=1&author=live")) == 1

    store(
        database_url, [decided(at=newest.decided_at.replace(microsecond=0), author_id="live", user_id="live")]
    )
    shown = lead.get("/decisions?live=1&author=live")
    assert rows_of(shown) == 2
    assert 'hx-trigger="every 2s"' in shown.text
    assert ">Pause</a>" in shown.text


def test_views_are_saved_shared_renamed_and_deleted(
    database_url: str, lead: Visitor, visitor: Visitors
) -> None:
    """By their owner; others use what is shared and cannot change it."""
    lead.get("/decisions")
    assert lead.post("/views", name=" Blocked  today ", query="reason=FLAGGED_RULE").status_code == 303
    view_id = re.search(r'action="/views/([0-9a-f-]{36})"', lead.get("/views").text)
    assert view_id is not None
    other = signed_in(visitor, add_person(database_url, Role.VIEWER))

    assert "Blocked today" not in other.get("/decisions").text
    assert lead.post(f"/views/{view_id[1]}", name="Shared one", shared="1").status_code == 303

    shown = other.get("/decisions")
    assert "Shared one" in shown.text
    assert 'href="/decisions?reason=FLAGGED_RULE"' in shown.text
    assert other.post(f"/views/{view_id[1]}", name="Mine").status_code == 404
    assert other.post(f"/views/{view_id[1]}/delete").status_code == 404
    assert re.search(r"From: 24h ago;\s+Reason: <span title=\"FLAGGED_RULE\">", lead.get("/views").text)
    assert "also for the people it is shared with" in lead.get("/views").text
    deleted = lead.post(f"/views/{view_id[1]}/delete")
    assert "The view is deleted." in lead.get(deleted.headers["location"]).text
    assert "Shared one" not in other.get("/decisions").text


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "\u202e"])
def test_a_view_needs_a_name(lead: Visitor, name: str) -> None:
    """An empty or unprintable name is refused."""
    lead.get("/decisions")
    refused = lead.post("/views", name=name, query="")

    assert (refused.status_code, "expected 1 to 80 characters" in refused.text) == (400, True)


def test_a_name_is_used_once(lead: Visitor) -> None:
    """A person cannot use the same name for two views."""
    lead.get("/decisions")
    assert lead.post("/views", name="Twice", query="").status_code == 303
    assert lead.post("/views", name="Twice", query="").status_code == 400


def exported(visitor: Visitor, query: str, **form: str) -> str:
    """Request an export and wait for its end; the job's address."""
    visitor.get("/decisions")
    started = visitor.post("/exports", query=query, **form)
    assert started.status_code == 303, started.text
    address = str(started.headers["location"])
    for _ in range(400):
        if ">done<" in (page := visitor.get(address)).text:
            return address
        assert ">failed<" not in page.text
    pytest.fail("the export did not end")


def test_an_export_is_written_in_the_background_and_fetched(database_url: str, lead: Visitor) -> None:
    """CSV with permalinks, whole, as the list shows it; asking and fetching are logged."""
    address = exported(lead, "account=acme&since=7d", format="csv", bom="1")
    got = lead.get(f"{address}/file")
    rows = list(csv.DictReader(io.StringIO(got.content.decode("utf-8-sig"), newline="")))

    assert got.content.startswith(b"\xef\xbb\xbf")
    assert 'attachment; filename="decisions-' in got.headers["content-disposition"]
    assert len(rows) == ROWS + 1
    assert rows[0]["permalink"] == f"https://127.0.0.1/decisions/{rows[0]['id']}"
    assert [logged(database_url, each)[-1]["detail"]["job"] for each in ("export", "download")] == [
        address.rsplit("/", 1)[1]
    ] * 2


def test_an_export_belongs_to_its_requester_with_the_right(
    database_url: str, lead: Visitor, visitor: Visitors
) -> None:
    """Another lead cannot download it, nor its requester after losing the right to an account."""
    person = add_person(database_url, Role.LEAD, account="acme")

    async def more(connection: Any) -> None:
        wanted = RoleGrant(user_id="other", role=Role.LEAD)
        await grant_role(connection, person.person_id, wanted, granted_by="test")

    stored(database_url, more)
    theirs = signed_in(visitor, person)
    address = exported(theirs, "", format="csv")

    assert lead.get(f"{address}/file").status_code == lead.get(address).status_code == 404
    assert lead.post(f"{address}/cancel").status_code == 404
    assert theirs.get(f"{address}/file").status_code == 200

    with psycopg.connect(database_url) as connection:
        connection.execute(
            "DELETE FROM person_roles WHERE person_id = %s AND user_id = 'other'", (person.person_id,)
        )
    assert theirs.get(f"{address}/file").status_code == 403


def test_the_json_api_has_the_same_lists(lead: Visitor) -> None:
    """Page by page, and one decision whole."""
    first = lead.get("/api/v1/decisions?account=acme&since=7d&limit=4").json()
    second = lead.get(f"/api/v1/decisions?account=acme&since=7d&limit=4&cursor={first['older']}").json()
    one = lead.get(f"/api/v1/decisions/{first['decisions'][0]['id']}").json()

    assert [len(each["decisions"]) for each in (first, second)] == [4, 2]
    assert (first["newer"], second["older"]) == (None, None)
    assert one["snapshot_json"]["rules_version"] == 1
    assert one["review"] == "open"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/decisions?limit=501", 400),
        ("/api/v1/decisions?cursor=x", 400),
        ("/api/v1/decisions?decision=x", 400),
        ("/api/v1/decisions/x", 404),
        ("/api/v1/decisions/018f0000-0000-7000-8000-000000000000", 404),
    ],
)
def test_the_json_api_refuses_with_problem_details(lead: Visitor, path: str, status: int) -> None:
    """The body is a problem document with the status."""
    refused = lead.get(path)

    assert (refused.status_code, refused.json()["status"]) == (status, status)
