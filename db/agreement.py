"""How far people agree with the decisions and with each other: counts of reviews that stand.

A review that was withdrawn does not count. Of several reviews of one decision the newest counts for rule and
reason, of several by one person the newest counts for that person. Where a review comes from is kept apart,
see ``Basis``; blind second readings and golden items are in no basis, as their decisions were read before.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

Row: TypeAlias = dict[str, Any]


class Basis(StrEnum):
    """How the reviewed decisions came to be reviewed; shares of one basis say nothing of another.

    ``sampled``: drawn at random for a queue. ``escalations``: handed to people by the system. ``chosen``:
    picked by a reader, on a page, in a queue filled by hand or at the command line. ``bulk``: one verdict on
    many at once, so its reviews are not independent.
    """

    SAMPLED = "sampled"
    ESCALATIONS = "escalations"
    CHOSEN = "chosen"
    BULK = "bulk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Which reviews are counted.

    Attributes:
        accounts: those the reader may see; None for all.
        account: one of them, or None.
        since: reviews given from this moment on.
        until: reviews given before this moment.
        hidden: decisions whose reviews the reader must not see yet, see ``db.items.hidden``.
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
        reasons: reason_code (None where retention took the decision), agree, overturn, unsure, weights.
            Weights are of agree, overturn and unsure the sums, and of the first two the sum of squares; None
            unless all were drawn with a known chance, whose inverse each weighs.
        readers: person, agree, overturn, unsure.
        golden: person, known (golden items answered), right.
        pairs: rule, reason_code, first, second (logins), first_verdict, second_verdict, readings: of blind
            second readings.
    """

    rules: tuple[Row, ...]
    reasons: tuple[Row, ...]
    readers: tuple[Row, ...]
    golden: tuple[Row, ...]
    pairs: tuple[Row, ...]


_STANDING: Final = """
    WITH standing AS (
        SELECT r.*, i.chance, CASE r.source
                   WHEN 'bulk' THEN 'bulk' WHEN 'golden' THEN 'golden' WHEN 'blind' THEN 'blind'
                   ELSE CASE q.kind WHEN 'sample' THEN 'sampled' WHEN 'escalations' THEN 'escalations'
                        ELSE 'chosen' END
               END AS basis
        FROM decision_reviews AS r
        LEFT JOIN queue_items AS i ON i.id = r.item_id LEFT JOIN queues AS q ON q.id = i.queue_id
        WHERE r.verdict <> 'withdrawn'
              AND NOT EXISTS (SELECT FROM decision_reviews AS later WHERE later.withdraws = r.id)
              AND (CAST(:accounts AS text[]) IS NULL OR r.user_id = ANY (CAST(:accounts AS text[])))
              AND r.created_at < :until AND r.decision_id <> ALL (CAST(:hidden AS uuid[]))
    )
"""
_VERDICTS: Final = """
    count(*) FILTER (WHERE verdict = 'agree') AS agree,
    count(*) FILTER (WHERE verdict = 'overturn') AS overturn,
    count(*) FILTER (WHERE verdict = 'unsure') AS unsure
"""
_WEIGHTS: Final = """
    CASE WHEN bool_and(chance IS NOT NULL) THEN ARRAY[
        sum(CASE verdict WHEN 'agree' THEN 1 / chance ELSE 0 END),
        sum(CASE verdict WHEN 'overturn' THEN 1 / chance ELSE 0 END),
        sum(CASE verdict WHEN 'unsure' THEN 1 / chance ELSE 0 END),
        sum(CASE verdict WHEN 'unsure' THEN 0 ELSE 1 / chance ^ 2 END)] END AS weights
"""
_DECIDED: Final = """
    , newest AS (
        SELECT DISTINCT ON (decision_id) * FROM standing
        WHERE basis = :basis AND created_at >= :since ORDER BY decision_id, created_at DESC, id DESC
    ), decided AS (
        SELECT newest.verdict, newest.chance, d.id, d.reason_code, d.matched_rule FROM newest
        LEFT JOIN ai_decisions AS d ON d.created_at = newest.decision_at AND d.id = newest.decision_id
    )
"""
_BASES: Final = """
    SELECT basis, count(*) AS reviews FROM standing WHERE created_at >= :since GROUP BY basis
"""
_RULES: Final = f"""
    SELECT matched_rule AS rule, {_VERDICTS}, {_WEIGHTS} FROM decided
    WHERE id IS NOT NULL GROUP BY 1 ORDER BY 1
"""  # noqa: S608  # constants of ours
_REASONS: Final = f"""
    SELECT reason_code, {_VERDICTS}, {_WEIGHTS} FROM decided GROUP BY 1 ORDER BY 1
"""  # noqa: S608  # constants of ours
_READERS: Final = f"""
    SELECT person, {_VERDICTS} FROM (
        SELECT DISTINCT ON (person, decision_id) person, verdict FROM standing
        WHERE basis = :basis AND created_at >= :since ORDER BY person, decision_id, created_at DESC, id DESC
    ) AS newest GROUP BY 1 ORDER BY 1
"""  # noqa: S608  # constants of ours
_GOLDEN: Final = """
    SELECT person, count(*) AS known,
           count(*) FILTER (WHERE given.verdict = g.verdict AND (
               g.corrected_decision IS NULL OR g.corrected_decision = given.corrected_decision)) AS right
    FROM (
        SELECT DISTINCT ON (person, decision_id) * FROM standing
        WHERE basis = 'golden' AND created_at >= :since ORDER BY person, decision_id, created_at, id
    ) AS given
    JOIN golden_items AS g ON g.decision_id = given.decision_id GROUP BY 1 ORDER BY 1
"""
_PAIRS: Final = """
    SELECT d.matched_rule AS rule, d.reason_code, before.person AS first, again.person AS second,
           before.verdict AS first_verdict, again.verdict AS second_verdict, count(*) AS readings
    FROM standing AS again
    JOIN queue_items AS item ON item.id = again.item_id
    JOIN standing AS before ON before.id = item.first_review
    LEFT JOIN ai_decisions AS d ON d.created_at = again.decision_at AND d.id = again.decision_id
    WHERE again.basis = 'blind' AND again.created_at >= :since
    GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
"""


async def bases(connection: AsyncConnection, readings: Readings) -> dict[str, int]:
    """Reviews that stand, by where they come from: a member of ``Basis``, ``blind`` or ``golden``."""
    rows = await _rows(connection, _STANDING + _BASES, _values(readings))
    return {row["basis"]: row["reviews"] for row in rows}


async def agreement(connection: AsyncConnection, readings: Readings, basis: Basis) -> Agreement:
    """The counts of one basis; golden items and second readings are the same for every basis."""
    values = _values(readings)
    of_basis = values | {"basis": basis.value}
    return Agreement(
        rules=await _rows(connection, _STANDING + _DECIDED + _RULES, of_basis),
        reasons=await _rows(connection, _STANDING + _DECIDED + _REASONS, of_basis),
        readers=await _rows(connection, _STANDING + _READERS, of_basis),
        golden=await _rows(connection, _STANDING + _GOLDEN, values),
        pairs=await _rows(connection, _STANDING + _PAIRS, values),
    )


def _values(readings: Readings) -> Row:
    accounts = readings.accounts
    if readings.account is not None:
        accounts = (readings.account,) if accounts is None or readings.account in accounts else ()
    return {
        "accounts": None if accounts is None else list(accounts),
        "since": readings.since,
        "until": readings.until,
        "hidden": list(readings.hidden),
    }


async def _rows(connection: AsyncConnection, statement: str, values: Row) -> tuple[Row, ...]:
    return tuple(dict(row) for row in (await connection.execute(sa.text(statement), values)).mappings())
