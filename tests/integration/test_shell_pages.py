"""Theme and sidebar, the command palette by rights, and the page of the design system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest
from selectolax.lexbor import LexborHTMLParser

from db.people.records import Role
from tests.support.audited import record, replied
from tests.support.reviewing import Visitor, add_person, site
from worker.model import Decision

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def visitors(database_url: str) -> Iterator[Any]:
    """The application; call it for one more visitor."""
    with site(database_url) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def made(database_url: str) -> Decision:
    """A decision of the account of ``replied``."""
    decision = replied()
    record(database_url, decision)
    return decision


@pytest.fixture(scope="module")
def boss(database_url: str, visitors: Any) -> Visitor:
    """A person with every role on every account."""
    return _signed_in(visitors(), add_person(database_url, *Role, login="palette-boss"))


def _signed_in(visitor: Visitor, person: Any) -> Visitor:
    visitor.sign_in(person)
    return visitor


def _found(visitor: Visitor, query: str, **headers: str) -> dict[str, str]:
    """Address -> shown text of the palette's results."""
    page = visitor.get("/go", params={"q": query}, headers={"HX-Request": "true"} | headers)
    options = LexborHTMLParser(page.text).css("[role=option]")
    return {each.attributes["href"] or "": each.text(strip=True) for each in options}


def test_a_theme_is_kept_and_the_server_applies_it(boss: Visitor) -> None:
    """The page comes with its colours: no script changes them later."""
    answer = boss.post("/appearance", theme="dark", back="/queues?x=1")
    root = LexborHTMLParser(boss.get("/queues").text).css_first("html")
    signed_out = LexborHTMLParser(boss.get("/no-such-page").text).css_first("html")
    boss.post("/appearance", theme="system")
    undone = LexborHTMLParser(boss.get("/queues").text).css_first("html")

    assert (answer.status_code, answer.headers["location"]) == (303, "/queues?x=1")
    assert root is not None
    assert root.attributes["data-theme"] == "dark"
    assert signed_out is not None
    assert signed_out.attributes["data-theme"] == "dark"
    assert undone is not None
    assert "data-theme" not in undone.attributes


def test_a_narrow_sidebar_is_kept_beside_the_theme(boss: Visitor) -> None:
    """Each form changes its own cookie only."""
    boss.post("/appearance", theme="light")
    boss.post("/appearance", sidebar="narrow")
    root = LexborHTMLParser(boss.get("/").text).css_first("html")
    boss.post("/appearance", sidebar="wide", theme="system")

    assert root is not None
    assert (root.attributes["data-theme"], root.attributes["data-sidebar"]) == ("light", "narrow")


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example/x", "/\\evil.example", ""])
def test_the_way_back_stays_on_this_site(boss: Visitor, back: str) -> None:
    """Whatever the field says."""
    assert boss.post("/appearance", theme="system", back=back).headers["location"] == "/"


def test_an_unknown_theme_is_refused(boss: Visitor) -> None:
    """With the values that are known; none is kept."""
    answer = boss.post("/appearance", theme=HOSTILE)

    assert answer.status_code == 400
    assert "system, light, dark" in answer.text
    assert "set-cookie" not in answer.headers


def test_a_decision_is_found_by_its_id_and_the_look_up_is_logged(
    boss: Visitor, made: Decision, database_url: str
) -> None:
    """In any case, and inside a pasted address."""
    found = _found(boss, f"https://hushgate.example/decisions/{str(made.decision_id).upper()}")
    with psycopg.connect(database_url) as connection:
        logged = connection.execute(
            "SELECT action, user_id FROM access_log WHERE decision_id = %s", (made.decision_id,)
        ).fetchall()

    assert f"/decisions/{made.decision_id}" in found
    assert logged == [("search", made.event.user_id)]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.ACCOUNT_ADMIN])
def test_nothing_of_other_accounts_is_found(
    visitors: Any, made: Decision, database_url: str, role: Role
) -> None:
    """Neither account nor decision nor people of another account; an id that is none looks the same."""
    stranger = _signed_in(visitors(), add_person(database_url, role, account="elsewhere"))
    here = add_person(database_url, Role.VIEWER, account=made.event.user_id, login=f"kim-{role.value}")
    found = [
        {address for address in _found(stranger, query) if "since=all" not in address}
        for query in (str(made.decision_id), str(UUID(int=7)), made.event.user_id, here.login)
    ]

    assert found == [set(), set(), set(), set()]


def test_accounts_and_people_are_found_by_part_of_their_name(boss: Visitor, made: Decision) -> None:
    """With the pages that are about them."""
    account = made.event.user_id
    found = _found(boss, account[1:].upper())
    people = _found(boss, "ALETTE-BOS")

    places = [address for address in found if account in address]
    assert places == [
        f"/accounts/{account}/home",
        f"/decisions?account={account}",
        f"/accounts/{account}/rules",
    ]
    assert any(address.startswith("/people/") for address in people)


def test_authors_are_found_by_the_beginning_of_their_id(
    boss: Visitor, visitors: Any, made: Decision, database_url: str
) -> None:
    """By who may see the account; a fragment would need an index that every message pays for."""
    author, account = "walker-7", made.event.user_id
    record(database_url, replied(event=replace(made.event, event_id="walked", author_id=author)))
    page = f"/accounts/{account}/authors/"
    stranger = _signed_in(visitors(), add_person(database_url, Role.VIEWER, account="elsewhere"))
    found = [
        [address for address in _found(visitor, typed) if address.startswith(page)]
        for visitor, typed in ((boss, author[:3]), (boss, author), (boss, author[1:]), (stranger, author))
    ]
    with psycopg.connect(database_url) as connection:
        logged = connection.execute(
            "SELECT count(*) FROM access_log WHERE user_id = %s AND detail ->> 'author' = %s",
            (account, author[:3]),
        ).fetchone()

    assert [len(each) for each in found] == [1, 1, 0, 0]
    assert found[0] == found[1]
    assert logged == (1,)


def test_wildcards_of_the_database_are_letters(boss: Visitor) -> None:
    """A percent sign finds no one."""
    assert not [address for address in _found(boss, "%%") if address.startswith(("/people/", "/accounts/"))]


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_what_a_person_types_is_shown_as_text(boss: Visitor, headers: dict[str, str]) -> None:
    """On the page and in the palette."""
    page = boss.get("/go", params={"q": HOSTILE}, headers=headers)
    parsed = LexborHTMLParser(page.text)

    assert page.status_code == 200
    assert HOSTILE in parsed.text()
    assert [each for each in parsed.css("script") if "src" not in each.attributes] == []


def test_the_palette_works_as_a_page(boss: Visitor) -> None:
    """Without scripts the same results are links under headings."""
    parsed = LexborHTMLParser(boss.get("/go", params={"q": "dash"}).text)
    links = [each.attributes["href"] for each in parsed.css("main a")]

    assert links[0] == "/dashboard"


def test_a_person_without_a_role_has_a_palette_too(visitors: Any, database_url: str) -> None:
    """With their own pages; nothing is asked of the database."""
    found = _found(_signed_in(visitors(), add_person(database_url)), "profile")

    assert set(found) == {"/profile"}


def test_the_design_page_shows_every_pair_with_its_contrast(boss: Visitor) -> None:
    """As the test of contrasts computes it."""
    parsed = LexborHTMLParser(boss.get("/design").text)
    rows = [[cell.text(strip=True) for cell in row.css("th, td")] for row in parsed.css("tbody tr")]

    assert ["--text", "--panel", "", "16.3", "13.7", "4.5"] in rows
