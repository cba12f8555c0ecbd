"""Customers' marks as pages, filters and reports read them; never part of what reviewers rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from db.columns import Timestamp
from db.connection import Connection
from db.customer_feedback.tables import customer_feedback
from db.figures.figure_sql import EXPRESSIONS, SampleDimension
from db.pool import Pool, fetch_rows
from db.rows import account_parameters, all_rows, from_row, rows_as
from db.tables import HIGH_SCORE_CATEGORIES, ai_decisions

standing_feedback: Final = sa.table(
    "standing_feedback",
    sa.column("decision_id", sa.Uuid),
    sa.column("decision_at", Timestamp),
    sa.column("user_id", sa.Text),
    sa.column("wrong", sa.Boolean),
)
"""The view of ``db/sql/customer_feedback.sql``: the marks that count."""
VERDICT: Final = """(
    SELECT CASE WHEN bool_or(f.wrong) THEN 'wrong' WHEN bool_or(NOT f.wrong) THEN 'right'
                WHEN count(*) > 0 THEN 'neither' END
    FROM standing_feedback f WHERE f.decision_id = listed.id)
"""
"""What customers say of a decision in ``listed``: wrong, right, neither, or NULL."""
_VERDICT_OF_ONE: Final = sa.text(f"SELECT {VERDICT} FROM (SELECT CAST(:id AS uuid) AS id) AS listed")
MOST_SHOWN: Final = 20
ALL: Final = "all"
_RATES: Final = sa.text(f"""
    SELECT dimension, value, count(*) AS answered, count(*) FILTER (WHERE wrong) AS wrong FROM (
        SELECT f.wrong, ai_decisions.reason_code AS reason_code,
            {EXPRESSIONS[SampleDimension.CONFIDENCE]} AS confidence_band
        FROM standing_feedback f JOIN ai_decisions
            ON ai_decisions.created_at = f.decision_at AND ai_decisions.id = f.decision_id
        WHERE f.wrong IS NOT NULL AND ai_decisions.decision = 'respond'
            AND f.decision_at >= :since AND f.decision_at < :until
            AND (CAST(:account AS text) IS NULL OR f.user_id = :account)
            AND (:every OR f.user_id = ANY(:accounts))) AS rated,
        LATERAL (VALUES ('{ALL}', ''), ('reason_code', reason_code), ('confidence_band', confidence_band))
            AS part (dimension, value)
    WHERE value IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
""")


_CALLED_WRONG: Final = "SELECT decision_id FROM standing_feedback WHERE decision_id = ANY(%s) AND wrong"


class FeedbackFilter(StrEnum):
    """What customers said of a decision's reply.

    Attributes:
        WRONG: the standing mark of a customer calls the reply wrong.
        RIGHT: the marks of customers call the reply right, none of them wrong.
        ANY: there is feedback, also a remark without a mark.
        NONE: no feedback.
    """

    WRONG = "wrong"
    RIGHT = "right"
    ANY = "yes"
    NONE = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackLine:
    """One feedback about a decision.

    Attributes:
        id: of the feedback's own decision.
        wrong: a mark calls the reply wrong, or else right; None: neither.
        stands: no newer marks of the author about the decision replace these; a remark alone replaces none.
        row: the columns that ``review.content_covers`` reads; its ``message_text`` is the remark.
    """

    id: UUID
    author_id: str
    thumb: str | None
    rating: int | None
    resolved: bool | None
    wrong: bool | None
    rated_at: datetime
    stands: bool
    row: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRate:
    """Customers who answered, and how many of these call the reply wrong; of AI replies in a period.

    Attributes:
        dimension: ``all``, ``reason_code`` or ``confidence_band``.
    """

    dimension: str
    value: str
    answered: int
    wrong: int


async def list_feedback(connection: Connection, decision_id: UUID) -> tuple[FeedbackLine, ...]:
    """The feedback about a decision, the newest first, at most ``MOST_SHOWN``."""
    newer = customer_feedback.alias("newer")
    replaced = sa.exists().where(
        _is_mark(customer_feedback.c) & _is_mark(newer.c),
        newer.c.decision_id == customer_feedback.c.decision_id,
        newer.c.author_id == customer_feedback.c.author_id,
        sa.tuple_(newer.c.rated_at, newer.c.id)
        > sa.tuple_(customer_feedback.c.rated_at, customer_feedback.c.id),
    )
    query = (
        sa.select(
            *(customer_feedback.c[name] for name in ("id", "author_id", "thumb", "rating", "resolved")),
            *(customer_feedback.c.wrong, customer_feedback.c.rated_at, (~replaced).label("stands")),
            *(ai_decisions.c.message_text, ai_decisions.c.matched_rule, HIGH_SCORE_CATEGORIES),
        )
        .join_from(
            customer_feedback,
            ai_decisions,
            sa.and_(
                ai_decisions.c.id == customer_feedback.c.id,
                ai_decisions.c.created_at == customer_feedback.c.created_at,
            ),
        )
        .where(customer_feedback.c.decision_id == decision_id)
        .order_by(customer_feedback.c.rated_at.desc(), customer_feedback.c.id.desc())
        .limit(MOST_SHOWN)
    )
    return tuple(from_row(FeedbackLine, row | {"row": row}) for row in await all_rows(connection, query))


def _is_mark(columns: Any) -> sa.ColumnElement[bool]:
    return sa.func.num_nonnulls(columns.thumb, columns.rating, columns.resolved) > 0


async def feedback_verdict(connection: Connection, decision_id: UUID) -> str | None:
    """What customers say of a decision: ``wrong``, ``right``, ``neither`` or None."""
    found: str | None = (await connection.execute(_VERDICT_OF_ONE, {"id": decision_id})).scalar_one()
    return found


async def feedback_rates(
    connection: Connection,
    *,
    accounts: Sequence[str] | None,
    account: str | None,
    since: datetime,
    until: datetime,
) -> tuple[FeedbackRate, ...]:
    """The rates of AI replies of a period: of all, and by reason and band of confidence."""
    values = {"account": account, "since": since, "until": until, **account_parameters(accounts)}
    return await rows_as(connection, FeedbackRate, _RATES, values)


async def called_wrong(source: Pool, ids: Sequence[UUID]) -> frozenset[UUID]:
    """The decisions of these that a customer calls wrong."""
    return frozenset(row[0] for row in await fetch_rows(source, _CALLED_WRONG, (list(ids),)))


def feedback_condition(wanted: FeedbackFilter) -> sa.ColumnElement[bool]:
    """The condition that a decision has such feedback."""
    found = standing_feedback.c
    has_wrong = sa.select(found.decision_at, found.decision_id).where(found.wrong)
    key = sa.tuple_(ai_decisions.c.created_at, ai_decisions.c.id)
    match wanted:
        case FeedbackFilter.WRONG:
            return key.in_(has_wrong)
        case FeedbackFilter.RIGHT:
            has_right = sa.select(found.decision_at, found.decision_id).where(found.wrong.is_(False))
            return key.in_(has_right) & ~sa.exists().where(
                found.decision_id == ai_decisions.c.id, found.wrong
            )
        case FeedbackFilter.ANY:
            return key.in_(sa.select(found.decision_at, found.decision_id))
        case FeedbackFilter.NONE:
            rated = sa.select(sa.true()).where(found.decision_id == ai_decisions.c.id).limit(1)
            return rated.scalar_subquery().is_(None)  # for each row of a page, not gathered for all
