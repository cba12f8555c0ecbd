"""Error rates from weighted samples: estimated, on the page, in the file and on the command line."""

from __future__ import annotations

import asyncio
import csv
import io
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from db.people.records import Role
from db.review_store import Store
from db.reviews import queue_filling, queues
from db.reviews.queues import Drawn, NewQueue, QueueKind, Sample, Stratum
from tests.integration.test_agreement import Desk
from tests.support.review_rows import NUMBERS, decided, rate, store
from tests.support.reviewing import add_person, signed_in, site, stored
from tests.support.terminal import Shell
from trials.store.error_rates import ErrorDimension, ErrorRate, ErrorSelection, WrongKind, error_rates

DAY = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=2)
DEFINITION = Jsonb({"share": 0.5, "per": "", "most": 500, "seed": 1, "drawn": "all"})
ASSESSED = {"assessment": {"policy": "guardrail@1", "measured": True}, "language": "de"}


@pytest.fixture(scope="module")
def desk(database_url: str) -> Iterator[Desk]:
    """A desk in the database of this module."""
    made = Desk(database_url)
    yield made
    made.connection.close()


def reviewed(desk: Desk, ruling: str, chance: float | None, **changes: Any) -> None:
    """A decision of the day that a sample drew with this chance, and its review."""
    row = decided(DAY, **{"reason_code": "FLAGGED_RULE", "matched_rule": "flagged_keyword:spam"} | changes)
    store(desk.url, [row])
    item = desk.item(row, "sample", chance=chance)
    desk.connection.execute("UPDATE queue_items SET done_at = now() WHERE id = %s", (item,))
    desk.connection.execute("UPDATE queues SET definition = %s WHERE definition = '{}'", (DEFINITION,))
    desk.review(row, ruling, item=item, source="queue", at=DAY + timedelta(hours=1))


def sent(**changes: Any) -> dict[str, Any]:
    """A sent reply, assessed by a policy."""
    known = {"decision": "respond", "reason_code": "REPLIED", "matched_rule": None, "confidence": 0.83}
    return known | {"kept": ASSESSED} | changes


def found(desk: Desk, account: str) -> dict[tuple[str, str, str], ErrorRate]:
    """The rates of an account by kind, dimension and value."""
    since = DAY.replace(hour=0)
    selected = ErrorSelection(
        accounts=None, account=account, since=since, until=since + timedelta(days=1), now=datetime.now(UTC)
    )

    async def run() -> tuple[ErrorRate, ...]:
        async with Store(desk.url, size=1) as source, source.reading() as connection:
            return await error_rates(connection, selected)

    return {(each.kind, each.dimension, each.value): each for each in asyncio.run(run())}


@pytest.fixture(scope="module")
def filled(desk: Desk) -> Desk:
    """One shop: of blocks one wrong of weight 1 and one right of weight 9; of replies one of four wrong."""
    reviewed(desk, "overturn", 1.0, user_id="shop")
    reviewed(desk, "agree", 1 / 9, user_id="shop", matched_rule="flagged_keyword:rare")
    reviewed(desk, "unsure", 0.5, user_id="shop")
    reviewed(desk, "overturn", None, user_id="shop")
    reviewed(desk, "overturn", 1.0, user_id="shop", reason_code="OWNED_BY_PEOPLE", matched_rule=None)
    for ruling in ("overturn", "agree", "agree", "agree"):
        reviewed(desk, ruling, 0.5, **sent(user_id="shop"))
    reviewed(desk, "agree", 0.5, **sent(user_id="other"))
    return desk


def test_errors_are_weighted_by_the_inverse_of_the_chance(filled: Desk) -> None:
    """Both kinds; unsure reviews and those of an unknown chance are left out and counted."""
    rates = found(filled, "shop")
    blocks = rates[WrongKind.WRONG_BLOCK, ErrorDimension.ALL, ""]
    replies = rates[WrongKind.WRONG_REPLY, ErrorDimension.ALL, ""]

    assert blocks.share is not None
    assert blocks.share.share == pytest.approx(0.1)
    assert (blocks.errors, blocks.reviewed, blocks.unsure, blocks.without_chance) == (1, 2, 1, 1)
    assert replies.share is not None
    assert replies.share.share == pytest.approx(0.25)
    assert replies.share.low < 0.25 < replies.share.high


def test_each_property_of_a_decision_has_its_line(filled: Desk) -> None:
    """Reason, rule, policy, language, band of confidence and week; people's endings have none."""
    rates = found(filled, "shop")
    week = (DAY - timedelta(days=DAY.weekday())).date().isoformat()
    kind = WrongKind.WRONG_REPLY

    assert {
        (kind, ErrorDimension.REASON, "REPLIED"),
        (kind, ErrorDimension.POLICY, "guardrail"),
        (kind, ErrorDimension.LANGUAGE, "de"),
        (kind, ErrorDimension.CONFIDENCE, "0.8-0.9"),
        (kind, ErrorDimension.WEEK, week),
        (WrongKind.WRONG_BLOCK, ErrorDimension.RULE, "flagged_keyword:rare"),
    } <= set(rates)
    assert not any(value == "OWNED_BY_PEOPLE" for _, _, value in rates)
    rare = rates[WrongKind.WRONG_BLOCK, ErrorDimension.RULE, "flagged_keyword:rare"]
    assert (rare.errors, rare.reviewed) == (0, 1)


def test_a_sample_without_any_usable_chance_has_no_share(filled: Desk) -> None:
    """It says how many reviews it leaves out."""
    reviewed(filled, "overturn", None, user_id="weightless")
    line = found(filled, "weightless")[WrongKind.WRONG_BLOCK, ErrorDimension.ALL, ""]

    assert (line.share, line.reviewed, line.without_chance) == (None, 0, 1)


def test_sent_replies_are_drawn_with_their_chance(desk: Desk) -> None:
    """By band of confidence, policy or language; silent ones only if asked for."""
    kept = [ASSESSED | {"language": language} for language in ("de", "de", "de", "de", "vi")]
    rows = [decided(DAY, **sent(user_id="drawn", kept=each)) for each in kept]
    silent = decided(DAY, user_id="drawn", reason_code="FLAGGED_RULE")
    off = decided(DAY, user_id="drawn", reason_code="AI_DISABLED")
    store(desk.url, [*rows, silent, off])

    def drawn(name: str, sample: Sample) -> dict[str, float]:
        async def run(connection: Any) -> None:
            new = NewQueue(name=name, kind=QueueKind.SAMPLE, sample=sample)
            opened = await queues.create_queue(
                connection, new, accounts=("drawn",), created_by="test", now=datetime.now(UTC)
            )
            queue = await queues.get_queue(connection, opened)
            assert queue is not None
            assert queue.sample == sample
            for _ in range(9):  # a call fills one day
                await queue_filling.fill_queue(connection, queue, datetime.now(UTC))

        stored(desk.url, run)
        query = """SELECT stratum, chance FROM queue_items i JOIN queues q ON q.id = i.queue_id
                   WHERE q.name = %s"""
        items = desk.connection.execute(query, (name,)).fetchall()
        return {each["stratum"]: each["chance"] for each in items}

    by_language = drawn("sent", Sample(each=1, per=Stratum.LANGUAGE, drawn=Drawn.SENT))
    by_band = drawn("all", Sample(each=2, per=Stratum.CONFIDENCE_BAND, drawn=Drawn.ALL))
    by_policy = drawn("share", Sample(share=1.0, per=Stratum.POLICY, drawn=Drawn.ALL))

    assert by_language == {"de": 0.25, "vi": 1.0}
    assert by_band == {"0.8-0.9": 0.4, "FLAGGED_RULE": 1.0}
    assert by_policy == {"guardrail": 1.0, "FLAGGED_RULE": 1.0}


def test_page_file_and_command_show_the_same(filled: Desk, tmp_path: Path) -> None:
    """For one account, and for all that a lead leads; others see nothing of it."""
    lead = add_person(filled.url, Role.LEAD, account="shop")
    viewer = add_person(filled.url, Role.VIEWER, account="shop")
    with site(filled.url) as running:
        person, other = running(), running()
        person.sign_in(lead)
        other.sign_in(viewer)
        page, everywhere = person.get("/accounts/shop/learn/errors"), person.get("/learn/errors")
        file = person.get("/accounts/shop/learn/errors.csv?range=30d")
        wrong = person.get("/accounts/shop/learn/errors?range=never")
        refused = other.get("/accounts/shop/learn/errors")
    shell = Shell(environment={"DATABASE_URL": filled.url}, folder=tmp_path)
    lines = shell.run("trials", "errors", "--account", "shop", "--by", "all").rows
    written = shell.run("trials", "errors", "--account", "shop", "--transparency")
    rows = list(csv.DictReader(io.StringIO(file.text.lstrip("\ufeff"))))

    assert (page.status_code, everywhere.status_code, wrong.status_code) == (200, 200, 400)
    assert refused.status_code == 403
    assert "1 of 2 reviewed decisions overturned" in page.text
    assert page.text.count("rare") >= 2
    assert [(each["kind"], round(each["share"], 6)) for each in lines] == [
        ("wrong_block", 0.1),
        ("wrong_reply", 0.25),
    ]
    assert {(each["indicator"], each["value"]) for each in rows if each["group"] == "all"} == {
        ("error_rate", "0.1"),
        ("accuracy", "0.9"),
        ("error_rate", "0.25"),
        ("accuracy", "0.75"),
    }
    assert [each["value"] for each in csv.DictReader(io.StringIO(written.out))] == [
        each["value"] for each in rows
    ]
    assert "drawn" in rows[0]["sample_design"]


def test_the_command_says_what_is_missing(desk: Desk, tmp_path: Path) -> None:
    """No sample, a misspelt account, an unknown line, too long a period."""
    store(desk.url, [decided(DAY, **sent(user_id="unreviewed"))])
    shell = Shell(environment={"DATABASE_URL": desk.url}, folder=tmp_path)

    assert "open a queue of kind sample" in shell.run("trials", "errors", "--account", "unreviewed").err
    assert "got 'nothing'" in shell.run("trials", "errors", "--account", "nothing").err
    assert "--by: expected some of all" in shell.run("trials", "errors", "--by", "colour").err
    assert "366 days" in shell.run("trials", "errors", "--since", "2020-01-01").err


RUNNING_ROLLOUT = """
    INSERT INTO trials (id, user_id, kind, candidate_id, base_version, changes, share, plan)
    SELECT gen_random_uuid(), 'even', 'rollout', id, 1, changes, 0.1,
        '{"bounds": ["blocks<=0.1"], "least": 50, "metric": "blocks", "planned": 2000}'
    FROM candidates WHERE user_id = 'even' LIMIT 1
"""


def calibrated(desk: Desk) -> None:
    """Three hundred reviewed replies of one shop, right somewhat more often than their confidence says."""
    draws = random.Random(6)
    desk.connection.execute(
        "INSERT INTO ai_rules (user_id, assessment_policy) VALUES ('even', %s)",
        (Jsonb({"name": "guardrail", "high_threshold": 0.97, "medium_threshold": 0.1}),),
    )
    rows = [decided(DAY, **sent(user_id="even", confidence=draws.uniform(0.6, 1.0))) for _ in range(300)]
    store(desk.url, rows)
    queue = UUID(int=next(NUMBERS))
    desk.connection.execute(
        "INSERT INTO queues (id, name, kind, definition) VALUES (%s, 'even', 'sample', %s)",
        (queue, DEFINITION),
    )
    for row in rows:
        item = desk.connection.execute(
            "INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, chance, done_at)"
            " VALUES (%s, %s, %s, 'even', 0.5, now()) RETURNING id",
            (queue, row["id"], row["created_at"]),
        ).fetchone()
        assert item is not None
        ruling = "agree" if draws.random() < 0.75 + row["confidence"] / 4 else "overturn"
        desk.review(row, ruling, item=item["id"], source="queue", at=DAY + timedelta(hours=1))


def test_calibration_shows_bins_and_a_threshold(desk: Desk, tmp_path: Path) -> None:
    """On the page and on the command line; few reviews propose nothing and say how many are needed."""
    calibrated(desk)
    store(desk.url, [decided(DAY, **sent(user_id="few"))])
    lead = add_person(desk.url, Role.LEAD)
    shell = Shell(environment={"DATABASE_URL": desk.url}, folder=tmp_path)
    (surest, *_) = desk.connection.execute(
        "SELECT * FROM ai_decisions WHERE user_id = 'even' ORDER BY confidence DESC LIMIT 2"
    ).fetchall()
    rate(desk.url, [surest], wrong=True)
    lines = shell.run("trials", "calibration", "even", "--precision", "0.7").rows
    proposal = next(each["proposal"] for each in lines if "proposal" in each)
    summary = next(each["summary"] for each in lines if "summary" in each)
    few = shell.run("trials", "calibration", "few")
    with site(desk.url) as running:
        person = signed_in(running, lead)
        page = person.get("/accounts/even/learn/calibration?precision=70&policy=guardrail")
        made = person.post(
            "/accounts/even/learn/calibration", target="confidence", name="high_threshold", precision="70"
        )
        after = person.get(made.headers["location"])
        refused = person.post("/accounts/even/learn/calibration", target="category", name="hate")
        wrong = person.get("/accounts/even/learn/calibration?precision=all")
        nothing = person.get("/accounts/nothing/learn/calibration")

    assert (page.status_code, wrong.status_code, nothing.status_code) == (200, 400, 200)
    assert summary["reviews"] == 300
    assert [each["feedback"] for each in lines if "feedback" in each] == [
        {"confidence": "0.9-1.0", "answered": 1, "wrong": 1}
    ]
    assert "What customers say" in page.text
    assert "What customers say" not in nothing.text
    assert 0.1 < summary["calibration_error"] < 0.2
    assert 0.6 < proposal["proposed"] < 0.9
    assert proposal["precision_low"] < proposal["precision"] < proposal["precision_high"]
    assert proposal["changes"]["assessment_policy"]["high_threshold"] == pytest.approx(
        proposal["proposed"], abs=0.001
    )
    assert f"{proposal['changes']['assessment_policy']['high_threshold']:.3f}" in page.text
    assert 'class="reliability"' in page.text
    assert "Write a percentage from 0 to 100" in wrong.text
    assert "No measured draft of a sample has been reviewed" in nothing.text
    assert "expected at least 49 right ones" in few.err
    stored_candidates = desk.connection.execute("SELECT changes, source FROM candidates").fetchall()
    assert (made.status_code, refused.status_code) == (303, 409)
    assert "Start a rollout" in after.text
    assert stored_candidates == [{"changes": proposal["changes"], "source": "calibration"}]
