"""Pages of golden sets: a lead creates one, adds and removes items; no other role sees the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from uuid_utils.compat import uuid7

from db.people.records import Role
from tests.support.review_world import World, golden_set
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in
from tests.support.running import Running
from trials.pure.evaluation.items import GoldenContent, content_json

NUMBERS = count(1)
HOURS = {"Opening hours": ["We are open from nine to six on weekdays."]}
QUESTION = "When are you open on weekdays?"
Rows = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def rows(database_url: str) -> Iterator[Rows]:
    """Rows of the database."""
    with psycopg.connect(database_url, row_factory=dict_row, autocommit=True) as database:
        yield lambda query, *values: database.execute(query, values).fetchall()


def seated(visitors: Visitors, url: str, role: Role, account: str) -> Visitor:
    """A person with a role on the account."""
    return signed_in(visitors, add_person(url, role, account=account))


def test_a_lead_makes_a_set_of_agreed_and_single_decisions(
    engine: Running, visitors: Visitors, rows: Rows
) -> None:
    """From the page Learn to the items; what cannot be added says why; each step is in the access log."""
    shop = engine.account(documents=HOURS)
    agreed, single = (engine.decide(shop, f"{QUESTION} {each}")["id"] for each in ("Please.", "Thanks."))
    for person in ("kim", "lee"):
        engine.database.execute(
            "INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person, ruling, source)"
            " SELECT gen_random_uuid(), id, created_at, user_id, %s, 'agree', 'page' FROM ai_decisions"
            " WHERE id = %s",
            (person, agreed),
        )
    lead = seated(visitors, engine.url, Role.LEAD, shop)
    made = lead.post(f"/accounts/{shop}/learn/golden", name="Opening <b>hours</b>", purpose="a test")
    (golden,) = rows("SELECT id FROM golden_sets WHERE user_id = %s", shop)
    page = f"/accounts/{shop}/learn/golden/{golden['id']}"
    added = lead.post(f"{page}/add", **{"from": "agreed"})
    form = lead.get(f"/decisions/{single}").text
    alone = lead.post(f"/decisions/{single}/golden", set=str(golden["id"]), expected="")
    named = lead.post(f"/decisions/{single}/golden", set=str(golden["id"]), expected="silent")
    shown = lead.get(page).text
    gone = lead.post(f"{page}/remove", row=str(agreed))
    again = lead.post(f"{page}/remove", row=str(agreed))
    items = rows("SELECT row_id, expected, labelled_by FROM golden_set_items WHERE set_id = %s", golden["id"])
    logged = rows(
        "SELECT action, detail FROM access_log WHERE user_id = %s AND detail ? 'golden_set' ORDER BY id", shop
    )

    assert (made.status_code, added.status_code, named.status_code, gone.status_code) == (303, 303, 303, 303)
    assert (alone.status_code, again.status_code) == (409, 409)
    assert "reviews do not agree yet" in alone.text
    assert "Add to golden set" in form
    assert f"{QUESTION} Please." in shown
    assert "labelled by <bdi>kim, lee</bdi>" in shown
    assert "Opening &lt;b&gt;hours&lt;/b&gt;" in shown
    assert [row["row_id"] for row in items] == [str(single)]
    assert items[0]["expected"] == "silent"
    assert [(row["action"], row["detail"].get("step")) for row in logged] == [
        ("settings", "created"),
        ("reveal", None),
        ("settings", "added"),
        ("reveal", None),
        ("settings", "added"),
        ("reveal", None),
        ("settings", "removed"),
    ]


def test_a_set_is_shown_in_pages_with_results(database_url: str, visitors: Visitors) -> None:
    """Fifty items a page, each once; a wrong name and a second set of a name are refused.

    A reviewer sees that there is a set, without its items and without forms.
    """
    with World(database_url, f"golden-shop-{next(NUMBERS)}") as world:
        world.add("ai_rules", user_id=world.account, version=1)
        set_id = golden_set(world, uuid7())
        content = Jsonb(content_json(GoldenContent(event=world.decision.event)))
        for number in range(60):
            world.of_account(
                "golden_set_items",
                set_id=set_id,
                row_id=f"row-{number}-end",
                source="import",
                conversation_id="c",
                author_id="a",
                expected="answer",
                labelled_by="kim",
                content=content,
                recorded_at=world.decision.decided_at,
            )
        lead = seated(visitors, database_url, Role.LEAD, world.account)
        learn, page = f"/accounts/{world.account}/learn", f"/accounts/{world.account}/learn/golden/{set_id}"
        reviewer = seated(visitors, database_url, Role.REVIEWER, world.account)
        listed, opened = reviewer.get(learn).text, reviewer.get(page).status_code
        first = lead.get(page).text
        after = first.split("?after=")[1].split('"')[0]
        second = lead.get(f"{page}?after={after}").text
        twice = [lead.post(f"{learn}/golden", name=name).status_code for name in ("x", "x", "", "a\x00b")]

    assert [f"row-{number}-end" in first for number in (0, 47, 48)] == [True, True, False]
    assert [f"row-{number}-end" in second for number in (47, 48, 59)] == [False, True, True]
    assert "(60 % to 98 %)" in first
    assert "812 ms" in first
    assert "Next items" in first
    assert "Next items" not in second
    assert ("Golden sets" in listed, "/learn/golden" in listed, opened) == (True, False, 403)
    assert twice == [303, 422, 422, 400]
    assert lead.get(page.replace(world.account, "another")).status_code == 404
