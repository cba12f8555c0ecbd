"""What people need to answer the messages of decisions, in one statement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.types.json import Jsonb
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
from db.rows import Row, all_rows

_OF_ONE: Final = f"""
    SELECT (SELECT jsonb_agg(to_jsonb(held)) FROM ({held.OF_DECISION}) AS held) AS held,
           (SELECT jsonb_agg(to_jsonb(answer)) FROM ({records.OF_DECISION}) AS answer) AS answers,
           (SELECT jsonb_agg(to_jsonb(passage)) FROM ({PASSAGES}) AS passage) AS passages,
           to_jsonb(since) AS since
    FROM ({waiting.SINCE}) AS since
"""
_OF_EACH: Final = re.sub(
    r"%\((id|decision_id|user_id|conversation_id|message_id|at)\)s", r"asked.\1", _OF_ONE
)
ANSWERING: Final = f"""
    SELECT found.* FROM ROWS FROM (jsonb_to_recordset(%(decisions)s) AS (
            id uuid, decision_id uuid, user_id text, conversation_id text, message_id text, at timestamptz))
        WITH ORDINALITY
        AS asked (id, decision_id, user_id, conversation_id, message_id, at, place)
    CROSS JOIN LATERAL ({_OF_EACH}) AS found ORDER BY asked.place
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
    (found,) = await load_several(connection, [(row, may_read)], now, passage_ids=passage_ids)
    return found


async def load_several(
    connection: Connection,
    asked: Iterable[tuple[DecisionRow, bool]],
    now: datetime,
    *,
    passage_ids: Sequence[str] = (),
) -> list[Answering]:
    """The same for each of several decisions, and whether its texts may be read."""
    decisions = [(_decision(row), may_read) for row, may_read in asked]
    values = {"decisions": Jsonb([each for each, _ in decisions]), "now": now} | passage_values(passage_ids)
    rows = await all_rows(connection, ANSWERING, values)
    return [
        _answering(found, may_read=may_read) for found, (_, may_read) in zip(rows, decisions, strict=True)
    ]


def _answering(found: Row, *, may_read: bool) -> Answering:
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


def _decision(row: DecisionRow) -> dict[str, str | None]:
    names = ("id", "user_id", "conversation_id", "message_id")
    values = {name: row[name] for name in names} | {"decision_id": row["id"], "at": row["created_at"]}
    return {name: None if value is None else str(value) for name, value in values.items()}
