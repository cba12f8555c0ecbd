"""Agreement: which reviews are counted, and how often."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from db.figures import agreement
from db.figures.agreement import Agreement, Basis, ReviewSelection
from db.review_store import Store
from review.agreement.tables import agreement_tables
from tests.support.review_rows import NUMBERS, decided, store

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
REVIEW = """
    INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person, ruling, corrected_decision,
        source, item_id, withdraws, created_at)
    VALUES (%(id)s, %(decision_id)s, %(decision_at)s, %(user_id)s, %(person)s, %(ruling)s, %(corrected)s,
        %(source)s, %(item)s, %(withdraws)s, %(at)s)
"""


class Desk:
    """Writes decisions, queues and reviews as their owner."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection = psycopg.connect(url, autocommit=True, row_factory=dict_row)

    def decision(self, **changes: Any) -> dict[str, Any]:
        """A decision blocked by a rule."""
        row = decided(
            NOON, **{"reason_code": "FLAGGED_RULE", "matched_rule": "flagged_keyword:spam"} | changes
        )
        store(self.url, [row])
        return row

    def item(
        self,
        row: dict[str, Any],
        kind: str,
        first_review: UUID | None = None,
        chance: float | None = None,
    ) -> int:
        """The decision's place in a queue of a kind."""
        queue = UUID(int=next(NUMBERS))
        self.connection.execute(
            "INSERT INTO queues (id, name, kind) VALUES (%s, %s, %s)", (queue, f"{kind} {queue}", kind)
        )
        found = self.connection.execute(
            "INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, first_review, chance)"
            " VALUES (%s, %s, %s, %s, %s, %s) RETURNING id",
            (queue, row["id"], row["created_at"], row["user_id"], first_review, chance),
        ).fetchone()
        assert found is not None
        return int(found["id"])

    def review(self, row: dict[str, Any], ruling: str, **changes: Any) -> UUID:
        """A reader's ruling."""
        number = next(NUMBERS)
        values = {
            "id": UUID(int=number),
            "decision_id": row["id"],
            "decision_at": row["created_at"],
            "user_id": row["user_id"],
            "person": "ann",
            "ruling": ruling,
            "corrected": None,
            "source": "page",
            "item": None,
            "withdraws": None,
            "at": NOON + timedelta(seconds=number),
        }
        self.connection.execute(REVIEW, values | changes)
        return UUID(int=number)

    def counted(self, basis: Basis = Basis.CHOSEN, **changes: Any) -> Agreement:
        """What the review server would count."""

        async def run() -> Agreement:
            async with Store(self.url, size=1) as source, source.reading() as connection:
                return await agreement.count_agreement(connection, readings(**changes), basis)

        return asyncio.run(run())

    def bases(self) -> dict[str, int]:
        """Reviews by where they come from."""

        async def run() -> dict[str, int]:
            async with Store(self.url, size=1) as source, source.reading() as connection:
                return await agreement.counts_by_basis(connection, readings())

        return asyncio.run(run())


def readings(**changes: Any) -> ReviewSelection:
    """Everything of a day."""
    values: dict[str, Any] = {
        "accounts": None,
        "account": None,
        "since": NOON,
        "until": NOON + timedelta(days=1),
    }
    return ReviewSelection(**values | changes)


@pytest.fixture
def desk(url: str) -> Iterator[Desk]:
    """A desk in a database of this test's own."""
    made = Desk(url)
    yield made
    made.connection.close()


def test_what_a_reader_must_not_see_yet_is_in_no_figure(desk: Desk) -> None:
    """The counts do not disclose the first ruling to the holder of a blind second reading."""
    held, other = desk.decision(), desk.decision()
    desk.review(held, "overturn")
    desk.review(other, "agree")

    assert desk.counted(hidden=frozenset({held["id"]})).rules == (
        {"rule": "flagged_keyword:spam", "agree": 1, "overturn": 0, "unsure": 0, "weights": None},
    )


def test_reviews_are_counted_apart_by_where_they_come_from(desk: Desk) -> None:
    """A sample, escalations, a reader's choice, a bulk job: never in one figure."""
    for kind, ruling in (("sample", "agree"), ("escalations", "overturn"), ("hand", "unsure")):
        row = desk.decision()
        desk.review(row, ruling, source="queue", item=desk.item(row, kind))
    for source in ("page", "cli", "bulk"):
        desk.review(desk.decision(), "agree", source=source)

    assert desk.bases() == {"sampled": 1, "escalations": 1, "chosen": 3, "bulk": 1}
    assert desk.counted(Basis.SAMPLED).rules == (
        {"rule": "flagged_keyword:spam", "agree": 1, "overturn": 0, "unsure": 0, "weights": None},
    )
    assert desk.counted(Basis.ESCALATIONS).reasons == (
        {"reason_code": "FLAGGED_RULE", "agree": 0, "overturn": 1, "unsure": 0, "weights": None},
    )
    assert desk.counted(Basis.CHOSEN).readers == ({"person": "ann", "agree": 2, "overturn": 0, "unsure": 1},)


def test_a_review_of_a_sample_weighs_what_its_decision_stands_for(desk: Desk) -> None:
    """The inverse of its chance; where one is not known, the line is counted as it is."""
    for chance, ruling in ((1.0, "agree"), (0.1, "overturn"), (0.5, "unsure")):
        row = desk.decision()
        desk.review(row, ruling, source="queue", item=desk.item(row, "sample", chance=chance))
    known = desk.counted(Basis.SAMPLED)
    page = agreement_tables(known, "name")
    row = desk.decision()
    desk.review(row, "agree", source="queue", item=desk.item(row, "sample"))
    unknown = desk.counted(Basis.SAMPLED)

    for line in (*known.rules, *known.reasons):
        assert line["weights"] == pytest.approx([1, 10, 2, 101])
    for shown in (*page.rules, *page.reasons):
        assert shown.precision is not None
        assert (shown.precision.hits, shown.precision.total) == (1, 2)
        assert shown.precision.share == pytest.approx(1 / 11)
        assert (shown.overturned, shown.unsure) == pytest.approx((10 / 13, 2 / 13))
    assert page.reviewers[0].overturned == pytest.approx(1 / 3)
    assert [line["weights"] for line in unknown.rules] == [None]
    assert agreement_tables(unknown, "name").rules[0].overturned == pytest.approx(1 / 4)


def test_what_was_withdrawn_does_not_count(desk: Desk) -> None:
    """Neither the review nor the row that takes it back."""
    row = desk.decision()
    review = desk.review(row, "overturn")
    desk.review(row, "withdrawn", withdraws=review)

    assert desk.bases() == {}
    assert desk.counted().rules == ()


def test_a_decision_counts_once_for_its_rule_and_once_for_each_reader(desk: Desk) -> None:
    """With the newest review that stands; who changed their mind counts as they now say."""
    row = desk.decision()
    desk.review(row, "overturn")
    desk.review(row, "agree")
    desk.review(row, "unsure", person="bob")
    found = desk.counted()

    assert found.rules == (
        {"rule": "flagged_keyword:spam", "agree": 0, "overturn": 0, "unsure": 1, "weights": None},
    )
    assert found.readers == (
        {"person": "ann", "agree": 1, "overturn": 0, "unsure": 0},
        {"person": "bob", "agree": 0, "overturn": 0, "unsure": 1},
    )


def test_second_readings_are_compared_with_the_first(desk: Desk) -> None:
    """They are in no precision, as their decision was counted already."""
    row = desk.decision()
    first = desk.review(row, "agree")
    again = desk.item(row, "second", first_review=first)
    desk.review(row, "overturn", person="bob", source="blind", item=again)
    found = desk.counted()

    assert found.rules[0]["agree"] == 1
    assert found.pairs == (
        {
            "rule": "flagged_keyword:spam",
            "reason_code": "FLAGGED_RULE",
            "first": "ann",
            "second": "bob",
            "first_ruling": "agree",
            "second_ruling": "overturn",
            "readings": 1,
        },
    )


def test_golden_answers_are_compared_with_the_known_ones(desk: Desk) -> None:
    """The ruling must be right, and the corrected decision where one is known."""
    for known, corrected, said, meant in (
        ("agree", None, "agree", None),
        ("overturn", "respond", "overturn", "respond"),
        ("overturn", "respond", "overturn", "escalate"),
        ("agree", None, "overturn", "respond"),
    ):
        row = desk.decision()
        desk.connection.execute(
            "INSERT INTO golden_items (decision_id, decision_at, user_id, ruling,"
            " corrected_decision, created_by) VALUES (%s, %s, %s, %s, %s, 'lead')",
            (row["id"], row["created_at"], row["user_id"], known, corrected),
        )
        desk.review(row, said, corrected=meant, source="golden")
    found = desk.counted()

    assert found.golden == ({"person": "ann", "known": 4, "right": 2},)
    assert found.rules == ()


def test_a_lead_sees_the_accounts_that_are_theirs(desk: Desk) -> None:
    """Also when they ask for another one by name."""
    desk.review(desk.decision(), "agree")
    desk.review(desk.decision(user_id="other"), "overturn")

    assert desk.counted(accounts=("acme",)).rules[0]["agree"] == 1
    assert desk.counted(accounts=("acme",)).rules[0]["overturn"] == 0
    assert desk.counted(accounts=("acme",), account="other").rules == ()
    assert desk.counted(accounts=()).readers == ()


def test_a_review_outlives_its_decision(desk: Desk) -> None:
    """Retention takes the decision; its reader's ruling still counts, under no reason."""
    gone = decided(NOON)
    desk.review(gone, "agree")
    found = desk.counted()

    assert found.rules == ()
    assert found.reasons == ({"reason_code": None, "agree": 1, "overturn": 0, "unsure": 0, "weights": None},)
    assert found.readers[0]["agree"] == 1


@pytest.mark.parametrize("seed", range(2))
def test_one_statement_counts_rules_and_reasons(desk: Desk, seed: int) -> None:
    """Random reviews, by rule and by reason: the newest standing one of each decision."""
    chance = random.Random(seed)
    rows = []
    for number in range(25):
        changes = {
            "matched_rule": chance.choice([None, "flagged_keyword:a", "flagged_keyword:b"]),
            "reason_code": chance.choice(["REPLIED", "FLAGGED_RULE"]),
        }
        rows.append(desk.decision(**changes) if number % 6 else decided(NOON, **changes))
    newest: dict[UUID, tuple[dict[str, Any], str]] = {}
    for _ in range(60):
        row, ruling = chance.choice(rows), chance.choice(["agree", "overturn", "unsure"])
        review = desk.review(row, ruling)
        if chance.random() < 0.2:
            desk.review(row, "withdrawn", withdraws=review)
        else:
            newest[row["id"]] = row, ruling
    kept = {each["id"] for number, each in enumerate(rows) if number % 6}
    rules: Counter[tuple[Any, str]] = Counter()
    reasons: Counter[tuple[Any, str]] = Counter()
    for decision_id, (row, ruling) in newest.items():
        rules[row["matched_rule"], ruling] += decision_id in kept
        reasons[row["reason_code"] if decision_id in kept else None, ruling] += 1
    found = desk.counted()

    assert +rules == by_ruling(found.rules, "rule")
    assert +reasons == by_ruling(found.reasons, "reason_code")


def by_ruling(rows: Iterable[dict[str, Any]], column: str) -> Counter[tuple[Any, str]]:
    """Counts above zero by the column's value and ruling."""
    return +Counter(
        {(row[column], name): row[name] for row in rows for name in ("agree", "overturn", "unsure")}
    )
