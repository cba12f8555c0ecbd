"""One reviewer's work by week: time to decide, golden items, agreement with second readers.

For one person at a time: nothing here lists figures of several people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.figures.agreement import STANDING, ReviewSelection, selection_values
from db.rows import Row, all_rows

LONGEST_MIN: Final = 30
"""A decision that was opened longer ago than this was left and opened again."""
_WEEK: Final = "date_trunc('week', {at}, 'UTC')::date AS week"
_TIMES: Final = sa.text(f"""{STANDING}
    SELECT {_WEEK.format(at="mine.created_at")},
           extract(epoch FROM mine.created_at - opened.at)::float8 AS seconds
    FROM standing AS mine CROSS JOIN LATERAL (
        SELECT min(l.at) AS at FROM access_log AS l
        WHERE l.decision_id = mine.decision_id AND l.person_id = mine.person_id AND l.action = 'read'
            AND l.at <= mine.created_at AND l.at > mine.created_at - interval '{LONGEST_MIN} minutes'
    ) AS opened
    WHERE mine.person_id = :person AND mine.created_at >= :since AND opened.at IS NOT NULL
        AND mine.source IN ('page', 'queue', 'blind', 'golden')
    ORDER BY 1, 2
""")
_GOLDEN: Final = sa.text(f"""{STANDING}
    SELECT {_WEEK.format(at="answered.created_at")}, count(*) AS total,
           count(*) FILTER (WHERE answered.ruling = g.ruling AND (
               g.corrected_decision IS NULL OR g.corrected_decision = answered.corrected_decision)) AS hits
    FROM (
        SELECT DISTINCT ON (decision_id) * FROM standing
        WHERE basis = 'golden' AND person_id = :person AND created_at >= :since
        ORDER BY decision_id, created_at, id
    ) AS answered
    JOIN golden_items AS g ON g.decision_id = answered.decision_id GROUP BY 1 ORDER BY 1
""")
_SECOND: Final = sa.text(f"""{STANDING}
    SELECT {_WEEK.format(at="second.created_at")}, count(*) AS total,
           count(*) FILTER (WHERE first.ruling = second.ruling) AS hits
    FROM standing AS second
    JOIN queue_items AS item ON item.id = second.item_id
    JOIN standing AS first ON first.id = item.first_review
    WHERE second.basis = 'blind' AND second.created_at >= :since
        AND :person IN (first.person_id, second.person_id)
    GROUP BY 1 ORDER BY 1
""")
_REVIEWERS: Final = sa.text(f"""{STANDING}
    SELECT newest.person_id, newest.person FROM people AS p CROSS JOIN LATERAL (
        SELECT person_id, person FROM standing WHERE person_id = p.id AND created_at >= :since
        ORDER BY created_at DESC LIMIT 1) AS newest
    ORDER BY person, person_id
""")
"""One review of each person, not every review."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityWeek:
    """A week of one reviewer, beginning on a Monday of UTC.

    Attributes:
        seconds: from opening a decision to its review, of each review.
        golden: golden items answered right, and all that were answered.
        second: readings of the same decision that agree, and all of them.
    """

    week: date
    seconds: tuple[float, ...]
    golden: tuple[int, int]
    second: tuple[int, int]


async def quality_weeks(
    connection: Connection, person_id: UUID, selected: ReviewSelection
) -> tuple[QualityWeek, ...]:
    """The weeks in which the person reviewed, the oldest first."""
    values = selection_values(selected) | {"person": person_id}
    times = await all_rows(connection, _TIMES, values)
    golden = _counted(await all_rows(connection, _GOLDEN, values))
    second = _counted(await all_rows(connection, _SECOND, values))
    weeks = sorted({row["week"] for row in times} | set(golden) | set(second))
    return tuple(
        QualityWeek(
            week=week,
            seconds=tuple(row["seconds"] for row in times if row["week"] == week),
            golden=golden.get(week, (0, 0)),
            second=second.get(week, (0, 0)),
        )
        for week in weeks
    )


async def reviewers_of(connection: Connection, selected: ReviewSelection) -> tuple[tuple[UUID, str], ...]:
    """Id and login of the people with reviews, in the order of their logins."""
    rows = await all_rows(connection, _REVIEWERS, selection_values(selected))
    return tuple((row["person_id"], row["person"]) for row in rows)


def _counted(rows: Sequence[Row]) -> dict[date, tuple[int, int]]:
    return {row["week"]: (row["hits"], row["total"]) for row in rows}
