"""What suggestions are computed from: reviewed messages, sent replies, questions without an answer, weeks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from db.audit.search import statement_limit
from db.audit.sent_replies import REPLY_REASONS, newest_of_reasons
from db.audit.suggestions import TOPICS
from db.connection import Connection
from db.figures import dashboard
from db.figures.agreement import STANDING, Basis, ReviewSelection, selection_values
from db.figures.reach import FigureFilter
from db.rows import Row, all_rows, first_row
from db.tables import NOT_ERASED, ai_decisions
from trials.pure.suggestions.drift import ReplyWeek
from trials.pure.suggestions.model import SeenMessage
from worker.model import DecisionKind
from worker.reasons import Reason

PATIENCE_S: Final = 20.0
MOST_REVIEWED: Final = 5_000
MOST_SENT: Final = 5_000
MOST_QUESTIONS: Final = 500
"""Newest ones of each reason."""
MOST_REPLIES: Final = 200
"""Newest replies of a week and reason."""
WEEK: Final = timedelta(days=7)
UNANSWERED: Final = (
    Reason.NO_EVIDENCE,
    Reason.NO_ANSWER,
    Reason.LOW_CONFIDENCE,
    Reason.LOW_CONFIDENCE_ESCALATED,
    Reason.FALLBACK_SENT,
)
REFUSED: Final = (Reason.MODEL_REFUSED, Reason.NO_ANSWER)
MODEL_ANSWERED: Final = frozenset({*REPLY_REASONS, *UNANSWERED, *REFUSED} - {Reason.NO_EVIDENCE})
"""Endings for which a model wrote a draft or refused."""
_REVIEWED: Final = f"""
    , newest AS (
        SELECT DISTINCT ON (decision_id) * FROM standing
        WHERE basis = ANY (:bases) AND created_at >= :since ORDER BY decision_id, created_at DESC, id DESC
    )
    SELECT ai_decisions.id, ai_decisions.created_at, message_text, author_id, decision,
           ai_decisions.reason_code, coalesce(matched_rule, '') AS rule, newest.ruling,
           CASE WHEN newest.basis = '{Basis.SAMPLED}' AND newest.chance > 0
                THEN 1 / newest.chance END AS weight
    FROM newest JOIN ai_decisions
        ON ai_decisions.created_at = newest.decision_at AND ai_decisions.id = newest.decision_id
    WHERE newest.ruling IN ('agree', 'overturn') AND {NOT_ERASED}
    ORDER BY newest.created_at DESC, newest.id DESC LIMIT :most
"""
_REPLIES: Final = sa.text("""
    SELECT week.number, o.text
    FROM generate_series(0, CAST(:weeks AS int) - 1) AS week (number)
    CROSS JOIN unnest(CAST(:reasons AS text[])) AS of_reason (reason)
    CROSS JOIN LATERAL (
        SELECT d.id, d.event_id FROM ai_decisions AS d
        WHERE d.user_id = :user_id AND d.reason_code = of_reason.reason
            AND d.created_at >= CAST(:since AS timestamptz) + week.number * interval '7 days'
            AND d.created_at < CAST(:since AS timestamptz) + (week.number + 1) * interval '7 days'
        ORDER BY d.created_at DESC, d.id DESC LIMIT :most
    ) AS sent
    JOIN outbox AS o ON o.user_id = :user_id AND o.event_id = sent.event_id AND o.decision_id = sent.id
        AND o.cancelled_at IS NULL
""")
_CALLED_WRONG: Final = sa.text(f"""
    SELECT id, created_at, message_text, author_id FROM ai_decisions
    WHERE (created_at, id) IN (SELECT decision_at, decision_id FROM standing_feedback
                               WHERE user_id = :user_id AND decision_at >= :since AND wrong)
        AND created_at >= :since AND decision = '{DecisionKind.RESPOND}' AND {NOT_ERASED}
    ORDER BY created_at DESC, id DESC LIMIT :most
""")
_PROMPT: Final = sa.text("""
    SELECT prompt FROM ai_rules WHERE user_id = :user_id AND changed_at < :at ORDER BY version DESC LIMIT 1
""")


async def reviewed_messages(
    connection: Connection, user_id: str, since: datetime, until: datetime
) -> tuple[tuple[SeenMessage, ...], tuple[SeenMessage, ...]]:
    """Reviewed messages of an account: those that a rule stopped, and those that got a reply."""
    selected = ReviewSelection(accounts=None, account=user_id, since=since, until=until)
    bases = [each.value for each in Basis]
    values = selection_values(selected) | {"bases": bases, "most": MOST_REVIEWED}
    async with statement_limit(connection, PATIENCE_S):
        rows = await all_rows(connection, sa.text(STANDING + _REVIEWED), values)
    stopped = tuple(_message(row) for row in rows if row["reason_code"] == Reason.FLAGGED_RULE)
    return stopped, tuple(_message(row) for row in rows if row["decision"] == DecisionKind.RESPOND)


async def sent_messages(connection: Connection, user_id: str, since: datetime) -> tuple[SeenMessage, ...]:
    """The newest messages that got a reply."""
    return await _newest(connection, user_id, since, MOST_SENT, REPLY_REASONS)


async def unanswered_questions(
    connection: Connection, user_id: str, since: datetime
) -> tuple[SeenMessage, ...]:
    """The newest questions that the documents did not answer, with the topics that they lack."""
    return await _newest(connection, user_id, since, MOST_QUESTIONS, UNANSWERED)


async def messages_called_wrong(
    connection: Connection, user_id: str, since: datetime
) -> tuple[SeenMessage, ...]:
    """The newest messages whose replies customers call wrong."""
    async with statement_limit(connection, PATIENCE_S):
        values = {"user_id": user_id, "since": since, "most": MOST_QUESTIONS}
        return tuple(map(_message, await all_rows(connection, _CALLED_WRONG, values)))


async def reply_weeks(
    connection: Connection, user_id: str, since: datetime, weeks: int, *, now: datetime
) -> tuple[ReplyWeek, ...]:
    """Whole weeks from ``since`` on, a midnight of UTC."""
    until = since + weeks * WEEK
    filters = FigureFilter(
        accounts=None, account=user_id, scope=None, since=since, until=until, step=WEEK, back=timedelta()
    )
    counted = await dashboard.load_totals(connection, filters, now=now)
    values = {
        "user_id": user_id,
        "since": since,
        "weeks": weeks,
        "reasons": [each.value for each in REPLY_REASONS],
        "most": MOST_REPLIES,
    }
    async with statement_limit(connection, PATIENCE_S):
        rows = await all_rows(connection, _REPLIES, values)
    return tuple(_week(number, since + number * WEEK, counted.counts, rows) for number in range(weeks))


async def prompt_at(connection: Connection, user_id: str, at: datetime) -> str | None:
    """The prompt in force then; None: the account had no settings."""
    row = await first_row(connection, _PROMPT, {"user_id": user_id, "at": at})
    return None if row is None else str(row["prompt"])


async def _newest(
    connection: Connection, user_id: str, since: datetime, most: int, reasons: Sequence[Reason]
) -> tuple[SeenMessage, ...]:
    names = ("id", "created_at", "message_text", "author_id")
    columns = (*(ai_decisions.c[name] for name in names), TOPICS)
    async with statement_limit(connection, PATIENCE_S):
        rows = await all_rows(connection, newest_of_reasons(columns, user_id, since, most, reasons))
    return tuple(map(_message, rows))


def _week(number: int, start: datetime, counts: Sequence[Row], rows: Sequence[Row]) -> ReplyWeek:
    counted = {row["reason_code"]: row["events"] for row in counts if row["step"] == start}
    return ReplyWeek(
        number=number,
        replies=tuple(row["text"] for row in rows if row["number"] == number),
        answered=sum(counted.get(each.value, 0) for each in MODEL_ANSWERED),
        refused=sum(counted.get(each.value, 0) for each in REFUSED),
    )


def _message(row: Mapping[str, Any]) -> SeenMessage:
    topics = row.get("topics")
    return SeenMessage(
        decision_id=row["id"],
        decided_at=row["created_at"],
        text=row["message_text"],
        author=row["author_id"],
        topics=tuple(each for each in topics if isinstance(each, str)) if isinstance(topics, list) else (),
        **{name: row[name] for name in ("rule", "ruling", "weight") if name in row},
    )
