"""Pages whose figures took long to count show them again for a while, each reader those of their accounts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import count

import pytest
from selectolax.lexbor import LexborHTMLParser
from uuid_utils.compat import uuid7

from db.people.records import Role
from review.agreement import page as agreement_page
from review.figures import reused
from tests.support import reviewing
from tests.support.review_world import World
from tests.support.reviewing import add_person, signed_in, site

NUMBERS = count(1)


def reviewed(world: World, person: str = "kim") -> None:
    """One more review of the account."""
    world.add(
        "decision_reviews", id=uuid7(), decision_id=uuid7(), decision_at=datetime.now(UTC),
        user_id=world.account, person=person, ruling="agree", source="page",
    )  # fmt: skip


def reviews_on(page: str) -> str:
    """How many reviews were chosen by people, as the page says."""
    text = LexborHTMLParser(page).text(separator=" ")
    found = re.search(r"Chosen:\s+(\d+) review", text)
    return found[1] if found else "none"


def was_kept(page: str) -> bool:
    """Whether the page says when its figures were counted."""
    return LexborHTMLParser(page).css_first("#counted-at") is not None


def test_slow_figures_are_kept_for_one_selection_of_one_right(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other filters and people with other accounts get their own."""
    monkeypatch.setattr(reused, "SLOW_S", 0.0)
    monkeypatch.setattr(reviewing, "FIGURES_REUSE_S", 60.0)
    shops = [f"reused-shop-{next(NUMBERS)}" for _ in range(2)]
    with (
        World(database_url, shops[0]) as first,
        World(database_url, shops[1]) as second,
        site(database_url) as visitors,
    ):
        leads = [visitors(), visitors()]
        for lead, shop in zip(leads, shops, strict=True):
            lead.sign_in(add_person(database_url, Role.LEAD, account=shop))
        for _ in range(2):
            reviewed(first)
        reviewed(second)
        before = [lead.get("/agreement").text for lead in leads]
        reviewed(first)
        after = [lead.get("/agreement").text for lead in leads]
        other = leads[0].get("/agreement?range=7d").text

    assert [reviews_on(page) for page in (*before, *after, other)] == ["2", "1", "2", "1", "3"]
    assert [was_kept(page) for page in (*before, *after, other)] == [False, False, True, True, False]


def test_a_lead_who_writes_a_note_sees_it_on_the_dashboard(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a person changed is counted again at once."""
    monkeypatch.setattr(reused, "SLOW_S", 0.0)
    monkeypatch.setattr(reviewing, "FIGURES_REUSE_S", 60.0)
    shop = f"reused-shop-{next(NUMBERS)}"
    with (
        World(database_url, shop),
        site(database_url) as visitors,
    ):
        lead = signed_in(visitors, add_person(database_url, Role.LEAD, account=shop))
        address = f"/dashboard?account={shop}"
        kept = [was_kept(lead.get(address).text) for _ in range(2)]
        at = f"{datetime.now(UTC):%Y-%m-%dT%H:00}"
        lead.post("/dashboard/notes", account=shop, text="Provider outage", at=at)
        shown = lead.get(address).text

    assert kept == [False, True]
    assert not was_kept(shown)
    assert "Provider outage" in shown


def test_a_long_table_of_agreement_shows_its_first_lines(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are one link away."""
    monkeypatch.setattr(agreement_page, "MOST_LINES", 1)
    shop = f"reused-shop-{next(NUMBERS)}"
    with World(database_url, shop) as world, site(database_url) as visitors:
        lead = signed_in(visitors, add_person(database_url, Role.LEAD, account=shop))
        for person in ("kim", "kim", "lee"):
            reviewed(world, person)
        short, whole = (lead.get(f"/agreement{query}").text for query in ("", "?all=yes"))

    assert [name in short for name in ("<bdi>kim</bdi>", "<bdi>lee</bdi>")] == [True, False]
    assert "Show all 2 lines" in short
    assert "<bdi>lee</bdi>" in whole
    assert "Show all" not in whole
