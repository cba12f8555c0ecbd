"""Agreement of reviewers with decisions and with each other: counts of standing reviews.

Withdrawn reviews do not count. Of several reviews of one decision the newest counts for rule and reason, of
several by one person the newest counts for that person. Reviews are counted by their origin, see ``Basis``;
blind second readings and golden items are in no basis, because their decisions were reviewed first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.rows import Row, all_rows


class Basis(StrEnum):
    """How decisions were chosen for review; shares of one basis do not apply to another.

    ``sampled``: drawn at random for a queue. ``escalations``: escalated by the system. ``chosen``: picked
    by a reviewer, on a page, in a queue filled by hand or on the command line. ``bulk``: one ruling on many
    decisions, so its reviews are not independent.
    """

    SAMPLED = "sampled"
    ESCALATIONS = "escalations"
    CHOSEN = "chosen"
    BULK = "bulk"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSelection:
    """Which reviews are counted.

    Attributes:
        accounts: the accounts the person may see; None for all.
        hidden: decisions whose reviews the person must not see yet, see
            ``db.reviews.queue_items.hidden_decisions``.
    """

    accounts: tuple[str, ...] | None
    account: str | None
    since: datetime
    until: datetime
    hidden: frozenset[UUID] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Counts, not yet shares.

    Attributes:
        rules: rule (None where none matched), agree, overturn, unsure, weights.
        reasons: reason_code (None where retention deleted the decision), agree, overturn, unsure, weights.
            Weights: the sums for agree, overturn and unsure, and the sum of squares of the first two; each
            review weighs the inverse of its chance. None unless all chances are known.
        readers: person, agree, overturn, unsure.
        golden: person, known (golden items answered), right.
        pairs: rule, reason_code, first, second (logins), first_ruling, second_ruling, readings: of blind
            second readings.
    """

    rules: tuple[Row, ...]
    reasons: tuple[Row, ...]
    readers: tuple[Row, ...]
    golden: tuple[Row, ...]
    pairs: tuple[Row, ...]


STANDING: Final = """
    WITH standing AS NOT MATERIALIZED (
        SELECT r.*, i.chance, CASE r.source
                   WHEN 'bulk' THEN 'bulk' WHEN 'golden' THEN 'golden' WHEN 'blind' THEN 'blind'
                   ELSE CASE q.kind WHEN 'sample' THEN 'sampled' WHEN 'escalations' THEN 'escalations'
                        ELSE 'chosen' END
               END AS basis
        FROM decision_reviews AS r
        LEFT JOIN queue_items AS i ON i.id = r.item_id LEFT JOIN queues AS q ON q.id = i.queue_id
        WHERE r.ruling <> 'withdrawn'
              AND NOT EXISTS (SELECT FROM decision_reviews AS later WHERE later.withdraws = r.id)
              AND (CAST(:accounts AS text[]) IS NULL OR r.user_id = ANY (CAST(:accounts AS text[])))
              AND r.created_at < :until AND r.decision_id <> ALL (CAST(:hidden AS uuid[]))
    )
"""
_RULINGS: Final = """
    count(*) FILTER (WHERE ruling = 'agree') AS agree,
    count(*) FILTER (WHERE ruling = 'overturn') AS overturn,
    count(*) FILTER (WHERE ruling = 'unsure') AS unsure
"""
_WEIGHTS: Final = """
    CASE WHEN bool_and(chance IS NOT NULL) THEN ARRAY[
        sum(CASE ruling WHEN 'agree' THEN 1 / chance ELSE 0 END),
        sum(CASE ruling WHEN 'overturn' THEN 1 / chance ELSE 0 END),
        sum(CASE ruling WHEN 'unsure' THEN 1 / chance ELSE 0 END),
        sum(CASE ruling WHEN 'unsure' THEN 0 ELSE 1 / chance ^ 2 END)] END AS weights
"""
_DECIDED: Final = """
    , newest AS (
        SELECT DISTINCT ON (decision_id) decision_id, decision_at, ruling, chance FROM standing
        WHERE basis = :basis AND created_at >= :since ORDER BY decision_id, created_at DESC, id DESC
    ), decided AS (
        SELECT newest.ruling, newest.chance, d.id IS NULL AS gone, d.reason_code, d.matched_rule FROM newest
        LEFT JOIN ai_decisions AS d ON d.created_at = newest.decision_at AND d.id = newest.decision_id
    )
"""
_BASES: Final = """
    SELECT basis, count(*) AS reviews FROM standing WHERE created_at >= :since GROUP BY basis
"""
_RULES_AND_REASONS: Final = f"""
    SELECT grouping(reason_code) = 1 AS of_rule, matched_rule AS rule, reason_code, {_RULINGS}, {_WEIGHTS}
    FROM decided GROUP BY GROUPING SETS ((matched_rule, gone), (reason_code))
    HAVING grouping(reason_code) = 0 OR NOT gone ORDER BY matched_rule, reason_code
"""
_READERS: Final = f"""
    SELECT person, {_RULINGS} FROM (
        SELECT DISTINCT ON (person, decision_id) person, ruling FROM standing
        WHERE basis = :basis AND created_at >= :since ORDER BY person, decision_id, created_at DESC, id DESC
    ) AS newest GROUP BY 1 ORDER BY 1
"""
_GOLDEN: Final = """
    SELECT person, count(*) AS known,
           count(*) FILTER (WHERE answered.ruling = g.ruling AND (
               g.corrected_decision IS NULL OR g.corrected_decision = answered.corrected_decision)) AS right
    FROM (
        SELECT DISTINCT ON (person, decision_id) * FROM standing
        WHERE basis = 'golden' AND created_at >= :since ORDER BY person, decision_id, created_at, id
    ) AS answered
    JOIN golden_items AS g ON g.decision_id = answered.decision_id GROUP BY 1 ORDER BY 1
"""
_PAIRS: Final = """
    SELECT d.matched_rule AS rule, d.reason_code, first.person AS first, second.person AS second,
           first.ruling AS first_ruling, second.ruling AS second_ruling, count(*) AS readings
    FROM standing AS second
    JOIN queue_items AS item ON item.id = second.item_id
    JOIN standing AS first ON first.id = item.first_review
    LEFT JOIN ai_decisions AS d ON d.created_at = second.decision_at AND d.id = second.decision_id
    WHERE second.basis = 'blind' AND second.created_at >= :since
    GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
"""


async def counts_by_basis(connection: Connection, readings: ReviewSelection) -> dict[str, int]:
    """Standing reviews by origin: a member of ``Basis``, ``blind`` or ``golden``."""
    rows = await _rows(connection, STANDING + _BASES, selection_values(readings))
    return {row["basis"]: row["reviews"] for row in rows}


async def count_agreement(connection: Connection, readings: ReviewSelection, basis: Basis) -> Agreement:
    """The counts of one basis; golden items and second readings are counted in full for every basis."""
    values = selection_values(readings)
    of_basis = values | {"basis": basis.value}
    decided = await _rows(connection, STANDING + _DECIDED + _RULES_AND_REASONS, of_basis)
    return Agreement(
        rules=_without(decided, "reason_code", of_rule=True),
        reasons=_without(decided, "rule", of_rule=False),
        readers=await _rows(connection, STANDING + _READERS, of_basis),
        golden=await _rows(connection, STANDING + _GOLDEN, values),
        pairs=await _rows(connection, STANDING + _PAIRS, values),
    )


def _without(rows: tuple[Row, ...], column: str, *, of_rule: bool) -> tuple[Row, ...]:
    """The rows of one grouping, without the column of the other."""
    return tuple(
        {name: value for name, value in row.items() if name not in (column, "of_rule")}
        for row in rows
        if row["of_rule"] is of_rule
    )


def selection_values(readings: ReviewSelection) -> Row:
    """The parameters of ``STANDING``: accounts, since, until and hidden."""
    accounts = readings.accounts
    if readings.account is not None:
        accounts = (readings.account,) if accounts is None or readings.account in accounts else ()
    return {
        "accounts": None if accounts is None else list(accounts),
        "since": readings.since,
        "until": readings.until,
        "hidden": list(readings.hidden),
    }


async def _rows(connection: Connection, statement: str, values: Row) -> tuple[Row, ...]:
    return await all_rows(connection, sa.text(statement), values)
