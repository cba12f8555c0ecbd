"""Learning suggestions: topics of questions that the documents of an account do not cover."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from db.audit.filters import Filters, account_conditions, filter_conditions
from db.audit.search import statement_limit
from db.columns import Timestamp
from db.connection import Connection
from db.rows import Row, all_rows
from db.tables import HAS_TOPICS, HIGH_SCORE_CATEGORIES, NOT_ERASED, TOPICS_OF, ai_decisions
from worker.assessment.text.words import normalised_text, text_units
from worker.reasons import Reason

KEY: Final = (ai_decisions.c.created_at, ai_decisions.c.id)
MOST_DECISIONS: Final = 5_000
"""Newest decisions with suggestions that are grouped."""
PATIENCE_S: Final = 5.0
MOST_TOPICS: Final = 100
EXAMPLES: Final = 3
REASONS: Final = (
    Reason.NO_EVIDENCE,
    Reason.NO_ANSWER,
    Reason.LOW_CONFIDENCE,
    Reason.LOW_CONFIDENCE_ESCALATED,
    Reason.FALLBACK_SENT,
    Reason.REPLIED,
)
"""The endings of an assessed draft; the index of account and reason finds them."""


TOPICS: Final = sa.literal_column(TOPICS_OF, JSONB).label("topics")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A topic to add a document about.

    Attributes:
        topic: as most questions wrote it.
        key: the same for all spellings of the topic.
        count: decisions that ask about it.
        newest: when the newest of them was made.
        unanswered: those of them without a reply that a model wrote.
        decisions: rows of the newest ones, newest first.
    """

    topic: str
    key: str
    count: int
    unanswered: int
    newest: datetime
    decisions: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestions:
    """The topics of an account in a time range, the most frequent first.

    Attributes:
        decisions: the decisions with at least one suggestion that were read.
        complete: False when the range has more than were asked for.
    """

    topics: tuple[Suggestion, ...]
    decisions: int
    complete: bool


async def load_suggestions(
    connection: Connection,
    filters: Filters,
    *,
    key: str | None = None,
    examples: int = EXAMPLES,
    illustrated: int = MOST_TOPICS,
    most: int = MOST_DECISIONS,
    patience_s: float = PATIENCE_S,
) -> Suggestions:
    """The suggestions of the newest ``most`` decisions of ``filters``; with ``key`` only this topic.

    The first ``illustrated`` topics have the rows of ``examples`` decisions each, the others of none.

    Raises:
        TooSlow: they could not be read in ``patience_s``.
    """
    async with statement_limit(connection, patience_s):
        rows = await all_rows(connection, _query(filters, most + 1))
    complete, rows = len(rows) <= most, rows[:most]
    groups = {name: found for name, found in _groups(rows).items() if key in (None, name)}
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_TOPICS]
    shown = {
        row["id"]: row["created_at"] for _, found in ordered[:illustrated] for _, row in found[:examples]
    }
    texts = await shown_decisions(connection, shown) if shown else {}
    topics = tuple(
        _suggestion(name, found, texts, examples if place < illustrated else 0)
        for place, (name, found) in enumerate(ordered)
    )
    return Suggestions(topics=topics, decisions=len(rows), complete=complete)


def topic_key(topic: str) -> str:
    """The same text for spellings of a topic that differ in case, accents' form or English ending."""
    return " ".join(text_units(normalised_text(topic)))


def _groups(rows: Iterable[Row]) -> dict[str, list[tuple[str, Row]]]:
    """The topics as written, with their decisions, by key; a decision counts once for a topic."""
    groups: dict[str, list[tuple[str, Row]]] = defaultdict(list)
    key_of = cache(topic_key)  # most spellings occur several times
    for row in rows:
        for topic in row["topics"]:
            if isinstance(topic, str) and (name := key_of(topic)):
                found = groups[name]
                if not found or found[-1][1] is not row:
                    found.append((topic, row))
    return groups


def _suggestion(name: str, found: list[tuple[str, Row]], texts: dict[UUID, Row], examples: int) -> Suggestion:
    spelling = Counter(topic for topic, _ in found).most_common(1)[0][0]
    return Suggestion(
        topic=spelling,
        key=name,
        count=len(found),
        unanswered=sum(row["reason_code"] != Reason.REPLIED for _, row in found),
        newest=found[0][1]["created_at"],
        decisions=tuple(texts[row["id"]] for _, row in found[:examples] if row["id"] in texts),
    )


def _query(filters: Filters, limit: int) -> sa.Select[Any]:
    """The newest decisions with topics: their keys from an index that has no others, then their topics.

    In one step the planner, which expects few such decisions, reads and sorts those of the whole range.
    """
    columns = ai_decisions.c
    newest = (
        sa.select(*KEY)
        .where(
            columns.reason_code.in_([each.value for each in REASONS]),
            sa.text(HAS_TOPICS),
            *account_conditions(filters),
            *filter_conditions(filters),
        )
        .order_by(*(column.desc() for column in KEY))
        .limit(limit)
        .cte("newest")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )
    same = sa.and_(columns.created_at == newest.c.created_at, columns.id == newest.c.id)
    return (
        sa.select(*KEY, columns.reason_code, TOPICS)
        .select_from(newest.join(ai_decisions, same))
        .order_by(*(column.desc() for column in KEY))
    )


async def shown_decisions(connection: Connection, shown: Mapping[UUID, datetime]) -> dict[UUID, Row]:
    """Decisions to show by id and time, with what decides whether their texts are covered."""
    columns = ai_decisions.c
    names = ("id", "created_at", "user_id", "decision", "reason_code", "matched_rule", "message_text")
    times, ids = sa.cast(list(shown.values()), ARRAY(Timestamp)), sa.cast(list(shown), ARRAY(sa.Uuid))
    named = (sa.column("at", Timestamp), sa.column("of", sa.Uuid))
    asked = sa.func.unnest(times, ids).table_valued(*named, name="asked").render_derived()
    query = (
        sa.select(*(columns[name] for name in names), HIGH_SCORE_CATEGORIES)
        .select_from(asked)
        .join(ai_decisions, sa.and_(columns.created_at == asked.c.at, columns.id == asked.c.of))
        .where(sa.text(NOT_ERASED))
    )
    return {row["id"]: row for row in await all_rows(connection, query)}
