"""How often automated decisions are wrong, estimated from weighted reviews of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.figures.agreement import STANDING, Basis, ReviewSelection, selection_values
from db.figures.figure_sql import EXPRESSIONS, SampleDimension
from db.identifiers import uuid_at
from db.rows import Row, all_rows, from_row, rows_as
from worker.model import DecisionKind
from worker.reasons import Reason, ReasonFamily, reasons_of
from worker.statistics.shares import Share, weighted

NOT_AUTOMATED: Final = (
    *reasons_of(
        ReasonFamily.SETTINGS,
        ReasonFamily.TOO_LATE,
        ReasonFamily.PEOPLE,
        ReasonFamily.FEEDBACK,
        ReasonFamily.HELD,
    ),
    Reason.MESSAGE_CHECKED,
)
"""Endings that follow from settings or the clock, or that leave the message to people or a program."""


class WrongKind(StrEnum):
    """What was wrong: a message that should have been answered, or a reply that should not have been sent."""

    WRONG_BLOCK = "wrong_block"
    WRONG_REPLY = "wrong_reply"


KINDS: Final = {
    DecisionKind.IGNORE: WrongKind.WRONG_BLOCK,
    DecisionKind.RESPOND: WrongKind.WRONG_REPLY,
}


class ErrorDimension(StrEnum):
    """What a line is about: all decisions of a kind, those with one value of a property, or of one week."""

    ALL = "all"
    REASON = "reason_code"
    RULE = "matched_rule"
    POLICY = "policy"
    LANGUAGE = "language"
    CONFIDENCE = "confidence_band"
    WEEK = "week"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSelection:
    """Which decisions are estimated.

    Attributes:
        accounts: the accounts the person may see; None for all.
        account: only this one.
        since: decisions from here on.
        until: decisions before here.
        now: reviews before here count.
        hidden: decisions whose reviews the person must not see yet.
    """

    accounts: tuple[str, ...] | None
    account: str | None
    since: datetime
    until: datetime
    now: datetime
    hidden: frozenset[UUID] = frozenset()

    @property
    def reviews(self) -> ReviewSelection:
        """The reviews that may count."""
        return ReviewSelection(
            accounts=self.accounts, account=self.account, since=self.since, until=self.now, hidden=self.hidden
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRate:
    """The estimate of one line.

    Attributes:
        value: of the dimension; empty for all decisions; the Monday of a week.
        reviewed: reviews that agree or overturn, with a known chance of being drawn.
        errors: those that overturn.
        unsure: left out of the estimate.
        without_chance: reviews of an unknown chance; left out as well.
        share: the weighted share of errors with its interval; None without reviews.
    """

    kind: WrongKind
    dimension: ErrorDimension
    value: str
    reviewed: int
    errors: int
    unsure: int
    without_chance: int
    share: Share | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDesign:
    """A queue that drew decisions of the period; ``definition`` as stored, without accounts."""

    name: str
    definition: Mapping[str, Any]
    drawn: int
    reviewed: int


_DIMENSIONS: Final = ", ".join(f"('{each}', {each})" for each in SampleDimension)
NEWEST: Final = f"""{STANDING}
    , newest AS (
        SELECT DISTINCT ON (decision_id) * FROM standing
        WHERE basis = '{Basis.SAMPLED}' AND created_at >= :since
              AND decision_at >= :since AND decision_at < :before
        ORDER BY decision_id, created_at DESC, id DESC
    )
"""
"""A WITH clause: the newest review of each decision that a sample drew in a period."""
_RATES: Final = f"""{NEWEST}
    , decided AS (
        SELECT newest.ruling, ai_decisions.decision,
               CASE WHEN newest.chance > 0 THEN 1 / newest.chance END AS weight,
               to_char(date_trunc('week', newest.decision_at, 'UTC'), 'YYYY-MM-DD') AS week,
               {", ".join(f"{EXPRESSIONS[each]} AS {each}" for each in SampleDimension)}
        FROM newest JOIN ai_decisions
            ON ai_decisions.created_at = newest.decision_at AND ai_decisions.id = newest.decision_id
        WHERE ai_decisions.decision = ANY (:decisions) AND ai_decisions.reason_code <> ALL (:left_out)
    )
    SELECT decision, dimension, value,
           count(weight) FILTER (WHERE ruling = 'overturn') AS errors,
           count(weight) FILTER (WHERE ruling <> 'unsure') AS reviewed,
           count(weight) FILTER (WHERE ruling = 'unsure') AS unsure,
           count(*) FILTER (WHERE weight IS NULL) AS without_chance,
           coalesce(sum(weight) FILTER (WHERE ruling = 'overturn'), 0) AS weight_of_errors,
           coalesce(sum(weight) FILTER (WHERE ruling <> 'unsure'), 0) AS weight,
           coalesce(sum(weight ^ 2) FILTER (WHERE ruling <> 'unsure'), 0) AS squares
    FROM decided, LATERAL (VALUES ('all', ''), ('week', week), {_DIMENSIONS}) AS part (dimension, value)
    WHERE value IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""
_DESIGNS: Final = sa.text("""
    SELECT q.name, q.definition - 'accounts' AS definition, count(*) AS drawn, count(i.done_at) AS reviewed
    FROM queues AS q JOIN queue_items AS i
        ON i.queue_id = q.id AND i.decision_id >= :low AND i.decision_id < :high
    WHERE q.kind = 'sample' AND i.first_review IS NULL AND NOT i.golden
          AND (CAST(:accounts AS text[]) IS NULL OR i.user_id = ANY (CAST(:accounts AS text[])))
    GROUP BY q.id ORDER BY q.created_at, q.name
""")


async def error_rates(connection: Connection, selected: ErrorSelection) -> tuple[ErrorRate, ...]:
    """Every line that has reviews, by kind, dimension and value."""
    values = selection_values(selected.reviews) | {
        "before": selected.until,
        "decisions": [each.value for each in KINDS],
        "left_out": list(NOT_AUTOMATED),
    }
    return tuple(map(_rate, await all_rows(connection, sa.text(_RATES), values)))


async def sample_designs(connection: Connection, selected: ErrorSelection) -> tuple[SampleDesign, ...]:
    """The queues that drew decisions of the period, in the order they were opened."""
    accounts = selection_values(selected.reviews)["accounts"]
    values = {"accounts": accounts, "low": _least(selected.since), "high": _least(selected.until)}
    return await rows_as(connection, SampleDesign, _DESIGNS, values)


def _least(at: datetime) -> UUID:
    """The least UUIDv7 of a moment."""
    return UUID(int=uuid_at(at).int >> 80 << 80)


def _rate(row: Row) -> ErrorRate:
    share = weighted(
        row["errors"],
        row["reviewed"],
        weight_of_hits=row["weight_of_errors"],
        weight=row["weight"],
        squares=row["squares"],
    )
    return from_row(ErrorRate, row | {"kind": KINDS[DecisionKind(row["decision"])], "share": share})
