"""How often people sent what the AI had drafted, changed it or replaced it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from db.answers.records import AnswerOutcome
from db.answers.state import SENT
from db.answers.tables import answers
from db.connection import Connection
from db.figures.reach import FigureFilter, hour_of
from db.rows import Row, all_rows

ANSWERED: Final = sa.text("""
    SELECT date_bin(:step, a.decision_at, :since) AS step, a.decision_at >= :open AS open, d.decision,
           d.reason_code, a.state, count(*) AS events
    FROM answered_decisions a JOIN ai_decisions d ON d.created_at = a.decision_at AND d.id = a.decision_id
    WHERE a.decision_at >= :since AND a.decision_at < :until
        AND (CAST(:users AS text[]) IS NULL OR a.user_id = ANY (CAST(:users AS text[])))
        AND (CAST(:scope AS text) IS NULL OR d.scope = :scope)
    GROUP BY 1, 2, 3, 4, 5
""")
OF_A_DRAFT: Final = (AnswerOutcome.UNCHANGED, AnswerOutcome.EDITED, AnswerOutcome.REPLACED)
"""Outcomes of messages for which the AI had a text that people could send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCount:
    """Number of answers with this outcome.

    ``share``: fraction (0..1) among answers to drafts; None without such answers.
    """

    outcome: AnswerOutcome
    answers: int
    share: float | None

    @property
    def of_a_draft(self) -> bool:
        """Whether the AI had a text."""
        return self.outcome in OF_A_DRAFT


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAnswers:
    """The answers of people on one account, by outcome."""

    user_id: str
    counts: Mapping[AnswerOutcome, int]

    def row(self) -> dict[str, Any]:
        """One flat record; ``unchanged_share`` is None without a draft."""
        drafts = sum(self.counts[each] for each in OF_A_DRAFT)
        share = round(self.counts[AnswerOutcome.UNCHANGED] / drafts, 4) if drafts else None
        counts = {each.value: number for each, number in self.counts.items()}
        return {"user_id": self.user_id, **counts, "unchanged_share": share}


async def answered_counts(
    connection: Connection, filters: FigureFilter, *, back: timedelta, now: datetime
) -> tuple[Row, ...]:
    """Decisions of a range, moved back by ``back``, with a standing answer of a person.

    Rows have step, open (of the hour of ``now``), decision, reason_code, state and events.
    """
    open_hour = hour_of(now)
    until = min(filters.until, open_hour) if back else filters.until
    values = {
        "step": filters.step,
        "since": filters.since - back,
        "until": until - back,
        "open": open_hour,
        "users": filters.chosen,
        "scope": filters.scope,
    }
    return await all_rows(connection, ANSWERED, values)


def answered_by_people(rows: Iterable[Row]) -> Counter[str]:
    """How many of these decisions a person answered with a text, by the decision of the AI."""
    found: Counter[str] = Counter()
    for row in rows:
        if row["state"] in SENT:
            found[row["decision"]] += row["events"]
    return found


async def answer_figures(
    connection: Connection,
    *,
    users: Sequence[str] | None,
    since: datetime,
    until: datetime,
    scope: str | None = None,
) -> tuple[AccountAnswers, ...]:
    """The answers of a range by account, in the order of their names; ``users`` None: all accounts."""
    kept = answers.c
    counts = [sa.func.count().filter(kept.outcome == each.value).label(each.value) for each in AnswerOutcome]
    query = sa.select(kept.user_id, *counts).where(kept.created_at >= since, kept.created_at < until)
    if users is not None:
        query = query.where(kept.user_id.in_(users))
    if scope is not None:
        query = query.where(kept.scope == scope)
    rows = await all_rows(connection, query.group_by(kept.user_id).order_by(kept.user_id))
    return tuple(
        AccountAnswers(user_id=row["user_id"], counts={each: row[each.value] for each in AnswerOutcome})
        for row in rows
    )


def in_total(found: Sequence[AccountAnswers]) -> tuple[OutcomeCount, ...]:
    """The accounts together, by outcome, in the order of ``AnswerOutcome``."""
    totals = {each: sum(account.counts[each] for account in found) for each in AnswerOutcome}
    drafts = sum(totals[each] for each in OF_A_DRAFT)
    return tuple(
        OutcomeCount(
            outcome=each, answers=number, share=number / drafts if drafts and each in OF_A_DRAFT else None
        )
        for each, number in totals.items()
    )
