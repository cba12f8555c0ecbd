"""The list of decisions as a person arranges it: columns, order, suggestions, the next after a review."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import quote

import pytest

from db.people.records import Person, Role, RoleGrant, grant_role
from tests.support.auditing import ago, decided, store
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in, site, stored
from worker.reasons import Reason

ROWS = 60
"""More than a page."""
HOSTILE = "<script>alert(1)</script>\" onclick='x' {{7*7}} \u202e"
OPENED = re.compile(r'data-open id="o([0-9a-f-]{36})"')
SUGGESTED = re.compile(
    r'<li><a href="/decisions\?([^"]*)"[^>]*><span class="muted">(\w+)</span> <bdi>(.*?)</bdi>'
)


@pytest.fixture(scope="module")
def audit(database_url: str) -> list[str]:
    """Ids of decisions of one account, the newest first, beside those of another account."""
    mine = [decided(at=ago(minutes=number), user_id="arranged", author_id="Anna") for number in range(ROWS)]
    other = decided(user_id="elsewhere", author_id="annabel", matched_rule="anna-rule", text="of the other")
    hostile = decided(
        user_id="hostile", author_id=HOSTILE, reason_code=Reason.FLAGGED_RULE, matched_rule=HOSTILE
    )
    store(database_url, [*mine, other, hostile])
    return [str(each.decision_id) for each in mine]


@pytest.fixture(scope="module")
def visitor(database_url: str, audit: list[str]) -> Iterator[Visitors]:
    """Visitors of one running site."""
    with site(database_url) as running:
        yield running


def limited(database_url: str, account: str) -> Person:
    """A reviewer of one account."""
    person = add_person(database_url)
    grant = RoleGrant(user_id=account, role=Role.REVIEWER)
    stored(database_url, lambda connection: grant_role(connection, person.person_id, grant, granted_by="x"))
    return person


def shown(session: Visitor, path: str) -> list[str]:
    """The decisions of a page of the list, in its order."""
    return OPENED.findall(session.get(path).text)


def link(session: Visitor, path: str, kind: str) -> str:
    """The address of the page after or before a page of the list."""
    found = re.search(rf'href="([^"]*)" rel="\w+" data-{kind}>', session.get(path).text)
    assert found is not None
    return unescape(found[1])


def suggested(session: Visitor, text: str, query: str = "") -> list[tuple[str, str, str]]:
    """Query, kind and text of each suggestion."""
    page = session.client.get(f"/decisions/search?text={quote(text)}{query}", headers={"HX-Request": "true"})
    shown = re.sub(r'<bdi class="invisible"[^>]*>(.)</bdi>', r"\1", page.text)  # codes of direction controls
    return [(unescape(query), kind, unescape(value)) for query, kind, value in SUGGESTED.findall(shown)]


def test_the_oldest_come_first_for_who_chose_that(
    database_url: str, visitor: Visitors, audit: list[str]
) -> None:
    """Every decision once, forwards and back; the choice stays with the person."""
    person = add_person(database_url, Role.LEAD)
    session, here = signed_in(visitor, person), "/decisions?account=arranged"
    before = shown(session, here)
    saved = session.post("/decisions/layout", order="oldest", query="account=arranged")
    first = shown(session, here)
    second = shown(session, link(session, here, "next"))
    back = shown(session, link(session, link(session, here, "next"), "prev"))
    live = shown(session, f"{here}&live=1")

    assert saved.headers["location"] == here
    assert before == live == audit[:50]
    assert first + second == audit[::-1]
    assert back == first
    assert shown(signed_in(visitor, person), here) == first


def test_columns_are_kept_and_nothing_else_is_taken(database_url: str, visitor: Visitors) -> None:
    """The order stays when columns are saved; unknown names are refused."""
    session = signed_in(visitor, add_person(database_url, Role.LEAD))
    usual = session.get("/decisions?account=arranged").text
    session.post("/decisions/layout", order="oldest")
    session.post("/decisions/layout", columns="1", column=["author", "review"])
    chosen = session.get("/decisions?account=arranged").text
    heads = re.findall(r'<th scope="col" class="([\w ]+)"', chosen)
    wrong: tuple[dict[str, str], ...] = ({"order": "account"}, {"columns": "1", "column": "x"})
    refused = [session.post("/decisions/layout", **each).status_code for each in wrong]

    assert "Anna" not in usual
    assert heads == ["tick", "time", "ending", "account", "message", "review"]
    assert 'aria-sort="ascending"' in chosen
    assert refused == [400, 400]


def test_the_search_suggests_only_what_the_person_may_see(database_url: str, visitor: Visitors) -> None:
    """Accounts, authors, rules and reasons with the text, added to the filters of the list."""
    everyone = signed_in(visitor, add_person(database_url, Role.LEAD))
    here = signed_in(visitor, limited(database_url, "arranged"))
    found = suggested(everyone, "anna", "&decision=ignore")

    assert [each[1:] for each in found] == [("Author", "annabel"), ("Author", "Anna"), ("Rule", "anna-rule")]
    assert found[0][0] == "decision=ignore&author=annabel"
    assert [(kind, text) for _, kind, text in suggested(here, "anna")] == [("Author", "Anna")]
    assert suggested(here, "elsewhere") == []
    assert [kind for _, kind, _ in suggested(here, "arran")] == ["Account"]
    assert ("reason=FLAGGED_RULE", "Reason") in [each[:2] for each in suggested(here, "flagged_rule")]
    assert suggested(everyone, "a") == []


def test_suggestions_show_hostile_names_as_text(database_url: str, visitor: Visitors) -> None:
    """Authors choose their names; a link with one leads to exactly this author's decisions."""
    session = signed_in(visitor, add_person(database_url, Role.LEAD))
    page = session.client.get("/decisions/search?text=alert(1)", headers={"HX-Request": "true"}).text
    found = suggested(session, "alert(1)")

    assert "<script" not in page
    assert {(kind, text) for _, kind, text in found} == {("Author", HOSTILE), ("Rule", HOSTILE)}
    assert len(shown(session, f"/decisions?{found[0][0]}")) == 1
    assert session.get("/decisions/search?text=x").headers["location"] == "/decisions?text=x"


@pytest.mark.parametrize(
    "position", [("newest", 3, 4), ("oldest", 3, 2), ("newest", ROWS - 1, ROWS - 1)], ids=str
)
def test_a_review_from_a_list_leads_to_the_next_of_that_list(
    database_url: str, visitor: Visitors, audit: list[str], position: tuple[str, int, int]
) -> None:
    """In the person's order, although the reviewed one leaves the list; after the last one it stays."""
    order, at, following = position
    session = signed_in(visitor, limited(database_url, "arranged"))
    session.post("/decisions/layout", order=order)
    came_from = "account=arranged&review=open"
    path = f"/decisions/{audit[at]}?from={quote(came_from)}"
    seen = re.search(r'name="seen" value="([^"]*)"', session.get(path).text)
    fields = {"ruling": "unsure", "seen": seen[1] if seen else "", "from": came_from}
    answer = session.post(f"/decisions/{audit[at]}/review", **fields)
    wanted = f"/decisions/{audit[following]}?from={quote(came_from, safe='')}#"

    assert answer.status_code == 303, answer.text
    assert answer.headers["location"].startswith(wanted)
