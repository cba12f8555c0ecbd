"""What people need to answer the message of a decision, in one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import TypeAdapter

from db.answers import held, records, waiting
from db.answers.held import HeldText, HeldTexts
from db.answers.records import Answer
from db.answers.waiting import Since
from db.audit.decision_context import (
    PASSAGES,
    DecisionRow,
    StoredPassage,
    passage_values,
    passages_by_id,
)
from db.connection import Connection
from db.rows import first_row

ANSWERING: Final = f"""
    SELECT (SELECT jsonb_agg(to_jsonb(held)) FROM ({held.OF_DECISION}) AS held) AS held,
           (SELECT jsonb_agg(to_jsonb(answer)) FROM ({records.OF_DECISION}) AS answer) AS answers,
           (SELECT jsonb_agg(to_jsonb(passage)) FROM ({PASSAGES}) AS passage) AS passages,
           to_jsonb(since) AS since
    FROM ({waiting.SINCE}) AS since
"""
_HELD: Final = TypeAdapter(tuple[HeldText, ...])
_ANSWERS: Final = TypeAdapter(tuple[Answer, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """The held texts of a decision, the answers of people to it, and what changed since.

    Attributes:
        held: without the texts for who may not read them.
        answers: oldest first.
        since: None when nothing happened in the conversation.
        passages: what is stored of the passages that were asked for, by id.
    """

    held: HeldTexts
    answers: tuple[Answer, ...]
    since: Since | None
    passages: Mapping[str, StoredPassage]


async def load_answering(
    connection: Connection,
    row: DecisionRow,
    now: datetime,
    *,
    may_read: bool,
    passage_ids: Sequence[str] = (),
) -> Answering:
    """What is needed to answer a decision; the caller logs the reading of texts."""
    values = _values(row, now) | passage_values(row["user_id"], passage_ids)
    found = await first_row(connection, ANSWERING, values)
    assert found is not None  # aggregates without GROUP BY give a row
    texts = _HELD.validate_python(found["held"] or ())
    return Answering(
        held=HeldTexts(
            count=len(texts),
            expires_at=min((each.expires_at for each in texts), default=None),
            texts=texts if may_read else (),
        ),
        answers=_ANSWERS.validate_python(found["answers"] or ()),
        since=next((each for each in Since if found["since"][each.value]), None),
        passages=passages_by_id(found["passages"] or ()),
    )


def _values(row: DecisionRow, now: datetime) -> dict[str, Any]:
    names = ("id", "user_id", "conversation_id", "message_id")
    return {name: row[name] for name in names} | {
        "decision_id": row["id"],
        "at": row["created_at"],
        "now": now,
    }
