"""Suggestions on real servers: computed, shown, made candidates and documents; the quality of reviews."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from db.people.records import Role
from db.review_store import Store
from tests.integration.test_agreement import Desk
from tests.support.review_rows import decided, rate, store
from tests.support.reviewing import add_person, signed_in, site
from tests.support.terminal import Shell
from trials.jobs import suggesting
from trials.jobs.suggesting import compute_due, compute_suggestions
from trials.pure.suggestions.model import LearningSuggestion
from trials.store.suggestions import accounts_to_suggest, claim_account
from worker.errors import StorageUnavailable

NOW = datetime.now(UTC)
YESTERDAY = NOW.replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
AUTHORS = count(1)
STOPPED = {"reason_code": "FLAGGED_RULE", "matched_rule": "flagged_keyword:shoot"}
SENT = {"decision": "respond", "reason_code": "REPLIED"}
ASKED = {"reason_code": "NO_EVIDENCE"}
GOLDEN = """
    INSERT INTO decision_reviews (
        id, decision_id, decision_at, user_id, person_id, person, ruling, source, created_at)
    VALUES (%s, %s, %s, 'rated', %s, %s, 'agree', 'golden', %s)
"""


@pytest.fixture(scope="module")
def desk(database_url: str) -> Iterator[Desk]:
    """A desk in the database of this module."""
    made = Desk(database_url)
    yield made
    made.connection.close()


def message(text: str, **changes: Any) -> dict[str, Any]:
    """A decision of yesterday on a message of an author of its own."""
    author = f"author-{next(AUTHORS)}"
    return decided(YESTERDAY, user_id="shop", message_text=text, author_id=author, **changes)


@pytest.fixture(scope="module")
def filled(desk: Desk) -> Desk:
    """A shop with a rule that is often wrong, a missed word and questions about gift cards."""
    desk.connection.execute(
        "INSERT INTO ai_rules (user_id, version, flagged_keywords) VALUES ('shop', 1, '{shoot,casino}')"
    )
    wrong = [message(f"the photo shoot {each}", **STOPPED) for each in ("one", "two", "three")]
    right = [message(f"I will shoot you {each}", **STOPPED) for each in ("now", "soon")]
    missed = [message(f"{each} giveaway", **SENT) for each in ("my", "a", "red", "blue")]
    sent = [message(f"price of size {each}", **SENT) for each in range(40)]
    asked = [message(f"Do you sell gift cards {each}?", **ASKED) for each in ("here", "online", "today")]
    rated = [message(f"Is the {each} refund deadline ten days?", **SENT) for each in ("red", "big", "old")]
    store(desk.url, [*wrong, *right, *missed, *sent, *asked, *rated])
    rate(desk.url, rated)
    rate(desk.url, sent[:3], wrong=False)
    for row in (*wrong, *missed):
        desk.review(row, "overturn", at=YESTERDAY + timedelta(hours=1))
    for row in (*right, sent[0]):
        desk.review(row, "agree", at=YESTERDAY + timedelta(hours=1))
    run(desk, lambda source: compute_suggestions(source, "shop", NOW))
    return desk


def run(desk: Desk, work: Any) -> Any:
    """What ``work`` returns for a store."""

    async def opened() -> Any:
        async with Store(desk.url, size=1) as source:
            return await work(source)

    return asyncio.run(opened())


def test_suggestions_are_shown_and_become_candidates(filled: Desk, tmp_path: Path) -> None:
    """Page, section and command show the same; a click stores the change of the rules in force then."""
    with site(filled.url) as running:
        person, viewer = running(), running()
        person.sign_in(add_person(filled.url, Role.LEAD, account="shop"))
        viewer.sign_in(add_person(filled.url, Role.VIEWER, account="shop"))
        page = person.get("/accounts/shop/learn/suggestions")
        learn = viewer.get("/accounts/shop/learn")
        seen = viewer.get("/accounts/shop/learn/suggestions")
        filled.connection.execute(
            "INSERT INTO ai_rules (user_id, version, flagged_keywords) VALUES ('shop', 2, '{shoot,later}')"
        )
        made = person.post("/accounts/shop/learn/suggestions", kind="word", key="giveaway")
        none = person.post("/accounts/shop/learn/suggestions", kind="word", key="x")
    shell = Shell(environment={"DATABASE_URL": filled.url}, folder=tmp_path)
    lines = shell.run("trials", "suggestions", "shop").rows
    (candidate,) = filled.connection.execute("SELECT changes, source, note FROM candidates").fetchall()

    assert "Allow <bdi>photo shoot</bdi> beside the rule <bdi>shoot</bdi>" in page.text
    assert "Stop <bdi>giveaway</bdi>" in page.text
    assert "the photo shoot one" in page.text
    assert "Check the documents about <bdi>days, deadline, refund<" in page.text
    assert "Make it a candidate" in page.text
    assert "Make it a candidate" not in seen.text
    assert "Open the suggestions" in learn.text
    assert "Nothing is tried yet" not in learn.text
    assert (made.status_code, none.status_code) == (303, 409)
    assert candidate["changes"] == {"flagged_keywords": ["shoot", "later", "giveaway"]}
    assert candidate["source"] == "suggestion"
    assert "in 4 of 4 messages" in candidate["note"]
    assert [each["kind"] for each in lines] == ["rule", "word", "document", "feedback"]
    assert lines[1]["candidate"] == {"flagged_keywords": {"add": ["giveaway"], "remove": []}}


def test_a_missing_document_is_prefilled_with_its_questions(filled: Desk) -> None:
    """For people who may add documents; others see the questions and no form."""
    with site(filled.url) as running:
        person = signed_in(running, add_person(filled.url, Role.ACCOUNT_ADMIN, account="shop"))
        page = person.get("/accounts/shop/learn/suggestions")
        link = page.text.partition("documents?missing=")[2].partition("#")[0]
        form = person.get(f"/accounts/shop/documents?missing={link}")

    assert "Add a document about <bdi>cards, gift" in page.text
    assert 'value="cards gift' in form.text
    assert "## Do you sell gift cards online?" in form.text


def test_texts_of_erased_decisions_are_not_shown(filled: Desk) -> None:
    """Nor the suggestions that rest on nothing else."""
    filled.connection.execute("BEGIN")
    filled.connection.execute("SET LOCAL hushgate.erasing = on")
    filled.connection.execute(
        "UPDATE ai_decisions SET snapshot_json = snapshot_json || '{\"erased\": true}'"
        " WHERE reason_code = 'NO_EVIDENCE'"
    )
    filled.connection.execute("COMMIT")
    with site(filled.url) as running:
        person = signed_in(running, add_person(filled.url, Role.LEAD, account="shop"))
        page = person.get("/accounts/shop/learn/suggestions")

    assert "gift" not in page.text
    assert "giveaway" in page.text


def test_covered_words_stay_covered(filled: Desk) -> None:
    """A person who covers stopped texts sees neither the messages nor the entry made from them."""
    login = add_person(filled.url, Role.LEAD, account="shop")
    filled.connection.execute(
        "UPDATE people SET covered = '{flagged_rule}' WHERE id = %s", (login.person_id,)
    )
    with site(filled.url) as running:
        person = signed_in(running, login)
        page = person.get("/accounts/shop/learn/suggestions")

    assert "photo" not in page.text
    assert "Narrow the rule <bdi>shoot</bdi>" in page.text


def test_each_account_is_computed_once_a_day(desk: Desk) -> None:
    """By one server; without material there is no suggestion."""
    desk.connection.execute("INSERT INTO ai_rules (user_id, version) VALUES ('quiet', 1)")
    later = NOW + timedelta(days=2)

    async def claims(source: Store) -> tuple[int, int, bool, tuple[str, ...]]:
        first, again = await compute_due(source, later), await compute_due(source, later)
        since = later - timedelta(hours=23)
        claimed = await claim_account(source.pool, "quiet", now=later, since=since)
        return first, again, claimed, await accounts_to_suggest(source.pool, since=since, limit=9)

    first, again, claimed, due = run(desk, claims)

    assert first >= 1
    assert (again, claimed, due) == (0, False, ())


@pytest.mark.parametrize(
    ("buggy", "error"),
    [("a-buggy", KeyError("a bug")), ("a-slow", StorageUnavailable("too slow", may_be_input=True))],
)
def test_an_account_with_a_bug_or_an_outage_holds_up_no_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, buggy: str, error: Exception
) -> None:
    """After a bug the others are computed in the same look; after an outage the account is due again."""
    for user_id in (buggy, f"{buggy}-fine"):
        desk.connection.execute("INSERT INTO ai_rules (user_id, version) VALUES (%s, 1)", (user_id,))
    later, compute = NOW + timedelta(days=9), suggesting.compute_suggestions
    problems: dict[str, Exception] = {buggy: error}

    async def computed(source: Store, user_id: str, now: datetime) -> tuple[LearningSuggestion, ...]:
        if user_id in problems:
            raise problems[user_id]
        return await compute(source, user_id, now)

    monkeypatch.setattr(suggesting, "compute_suggestions", computed)

    async def due_at(source: Store, at: datetime) -> tuple[str, ...]:
        return await accounts_to_suggest(source.pool, since=at - timedelta(hours=23), limit=99)

    async def looks(source: Store) -> tuple[tuple[str, ...], tuple[str, ...]]:
        await compute_due(source, later)
        first = await due_at(source, later)
        new = f"{buggy}-new"  # never computed
        desk.connection.execute("INSERT INTO ai_rules (user_id, version) VALUES (%s, 1)", (new,))
        problems[new] = StorageUnavailable("away")
        tomorrow = later + timedelta(days=1)
        with pytest.raises(StorageUnavailable):
            await compute_due(source, tomorrow)
        return first, await due_at(source, tomorrow)

    first, due = run(desk, looks)

    assert f"{buggy}-new" in due
    assert {buggy, f"{buggy}-fine"}.isdisjoint(first)


def test_the_quality_of_reviews_is_shown_for_one_person(desk: Desk) -> None:
    """Figures of the chosen person only, never a table of people; too few readings are said."""
    first, second = add_person(desk.url, Role.REVIEWER), add_person(desk.url, Role.REVIEWER)
    rows = [decided(YESTERDAY, user_id="rated") for _ in range(24)]
    store(desk.url, rows)
    for number, row in enumerate(rows):
        person = first if number < 12 else second
        known = "agree" if number % 4 else "overturn"
        desk.connection.execute(
            "INSERT INTO golden_items (decision_id, decision_at, user_id, ruling, created_by)"
            " VALUES (%s, %s, 'rated', %s, 'lead')",
            (row["id"], YESTERDAY, known),
        )
        at = YESTERDAY + timedelta(hours=1, minutes=number)
        read(desk, row, person, at - timedelta(seconds=20 if person is first else 90))
        if number not in {22, 23}:
            desk.connection.execute(
                GOLDEN, (row["id"], row["id"], YESTERDAY, person.person_id, person.login, at)
            )
    with site(desk.url) as running:
        lead, own, few = running(), running(), running()
        lead.sign_in(add_person(desk.url, Role.LEAD))
        own.sign_in(first)
        few.sign_in(add_person(desk.url, Role.REVIEWER))
        chosen = lead.get(f"/reviewers?person={first.login}")
        nobody_chosen = lead.get("/reviewers")
        unknown = lead.get("/reviewers?person=unknown")
        mine, none = own.get("/profile/quality"), few.get("/profile/quality")
        refused = own.get("/reviewers")

    assert "9 of 12" in mine.text
    assert "20 s" in mine.text
    assert second.login not in mine.text
    assert "9 of 12" in chosen.text
    assert chosen.text.count(second.login) == 2  # value and text of the option
    assert "90 s" not in chosen.text
    assert 'class="tile"' not in nobody_chosen.text
    assert "<table" not in nobody_chosen.text
    assert "No reviews with figures yet" in none.text
    assert (unknown.status_code, refused.status_code) == (404, 403)


def read(desk: Desk, row: dict[str, Any], person: Any, at: datetime) -> None:
    """A line of the access log: the person opened the decision."""
    desk.connection.execute(
        "INSERT INTO access_log (at, person_id, person, action, user_id, decision_id, detail)"
        " VALUES (%s, %s, %s, 'read', %s, %s, %s)",
        (at, person.person_id, person.login, row["user_id"], row["id"], Jsonb({})),
    )
