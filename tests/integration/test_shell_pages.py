"""Theme and sidebar."""

from __future__ import annotations

from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from db.people.records import Role
from tests.support.reviewing import Visitor, add_person

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def boss(database_url: str, visitors: Any) -> Visitor:
    """A person with every role on every account."""
    return _signed_in(visitors(), add_person(database_url, *Role, login="shell-boss"))


def _signed_in(visitor: Visitor, person: Any) -> Visitor:
    visitor.sign_in(person)
    return visitor


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
