"""Figures that are counted once: those of counted spans, and those that took long and are shown again."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
import sqlalchemy as sa
from selectolax.lexbor import LexborHTMLParser
from uuid_utils.compat import uuid7

from db.figures import dashboard
from db.figures.figure_sql import COLUMNS, SUMS
from db.figures.hourly import fill_next
from db.figures.parts import CountMeasure, Dimension, PartCount, largest_parts
from db.figures.reach import FigureFilter
from db.people.records import Role
from db.review_store import Store
from review.agreement import page as agreement_page
from review.figures import reused
from tests.support import reviewing
from tests.support.review_rows import decided, store
from tests.support.review_world import World
from tests.support.reviewing import add_person, signed_in, site
from worker.reasons import BLOCKED

DAY = datetime(2026, 11, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOW = DAY + 13 * HOUR + timedelta(minutes=20)


@pytest.fixture
async def opened(url: str) -> AsyncIterator[Store]:
    """The review server's connections."""
    async with Store(url, size=2) as made:
        yield made


def filters(now: datetime, **changes: Any) -> FigureFilter:
    """The last day in hours, and the day before."""
    values: dict[str, Any] = {
        "accounts": None, "account": None, "scope": None, "since": DAY - 10 * HOUR, "until": now,
        "step": HOUR, "back": 24 * HOUR,
    }  # fmt: skip
    return FigureFilter(**values | changes)


def drawn(chance: random.Random, before: datetime, count: int) -> list[dict[str, Any]]:
    """Decisions of the last two days, of any kind that figures tell apart."""
    return [
        decided(
            before - timedelta(minutes=chance.randrange(1, 2600)),
            user_id=f"kept-{chance.randrange(4)}",
            scope=chance.choice(["chat", "comment"]),
            reason_code=(
                reason := chance.choice(["REPLIED", "FLAGGED_RULE", "LLM_ERROR", "MODERATION_FLAGGED"])
            ),
            decision="respond" if reason == "REPLIED" else "ignore",
            matched_rule=chance.choice([None, "flagged_keyword:a", "flagged_keyword:b"]),
            confidence=chance.randrange(1000) / 1000,
            kept={"assessment": {"policy": chance.choice(["safety@1", "validators@2"]), "measured": True}},
        )
        for _ in range(count)
    ]


async def fill(opened: Store, now: datetime) -> None:
    """Count everything that is due."""
    filled: Any = True
    while filled is not None:
        async with opened.writing() as connection:
            filled = await fill_next(connection, now=now)


async def test_sums_do_not_depend_on_the_order_of_rows(opened: Store) -> None:
    """A changed plan of the same statement gives the same last digit."""
    names = COLUMNS.split(", ")[4:]
    values = [f"({', '.join('1' * (len(names) - 1))}, {share}::float8)" for share in (0.1, 0.2, 0.3)]
    statement = "SELECT {} FROM (VALUES {}) AS rows ({})"
    async with opened.reading() as connection:
        sums = {
            (
                await connection.execute(sa.text(statement.format(SUMS, ", ".join(rows), ", ".join(names))))
            ).one()
            for rows in (values, values[::-1], values[1:] + values[:1])
        }

    assert len(sums) == 1


def by_hand(rows: Iterable[dict[str, Any]], now: datetime) -> dict[tuple[str, str], int]:
    """Blocked decisions of the whole hours of a day, less those of the day before, by part."""
    since, end, changes = DAY - 10 * HOUR, now.replace(minute=0), Counter[tuple[str, str]]()
    for row in rows:
        at = row["created_at"]
        if row["reason_code"] in BLOCKED and since - 24 * HOUR <= at < end:
            is_now = (since <= at) - (at < end - 24 * HOUR)
            parts = {"account": row["user_id"], "reason": row["reason_code"], "rule": row["matched_rule"]}
            changes.update({(name, value): is_now for name, value in parts.items() if value})
    return {key: change for key, change in changes.items() if change}


async def test_parts_of_a_change_are_counted_once(url: str, opened: Store) -> None:
    """The changes by account, reason and rule are those of the decisions, counted one by one."""
    rows = drawn(random.Random(17), NOW, 400)
    store(url, rows)
    await fill(opened, NOW)
    async with opened.reading() as connection:
        parts: tuple[PartCount, ...] = await largest_parts(
            connection, filters(NOW), CountMeasure.BLOCKED, now=NOW, most=100
        )
    shown = {(each.dimension.value, each.value): each.change for each in parts}

    assert by_hand(rows, NOW) == {key: value for key, value in shown.items() if key[0] in set(Dimension)}


async def test_the_mean_confidence_of_policies_is_exact_to_a_bin(url: str, opened: Store) -> None:
    """Of each hour and policy, over bins of a thousandth."""
    rows = drawn(random.Random(18), NOW, 300)
    store(url, rows)
    await fill(opened, NOW)
    chosen = filters(NOW, since=DAY - 24 * HOUR, back=48 * HOUR)
    async with opened.reading() as connection:
        found = await dashboard.load_figures(connection, chosen, now=NOW)
    sums: defaultdict[tuple[datetime, str], float] = defaultdict(float)
    for row in rows:
        hour = row["created_at"].replace(minute=0, second=0, microsecond=0)
        policy = row["snapshot_json"].obj["assessment"]["policy"].partition("@")[0]
        if hour >= chosen.since:
            sums[hour, policy] += (int(1000 * row["confidence"]) + 0.5) / 1000

    shown = {(each["step"], each["policy"]): each["confidence_sum"] for each in found.trust}
    assert dict(sums) == pytest.approx(shown, abs=0.002)


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
