"""What Postgres knows of one event: its decision, dead letter, duplicates, reply, retraction and exchange."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg
import sqlalchemy as sa

from db.audit.decision_context import RetractionRecord
from db.audit.erased import erased_decision
from db.audit.event_records import (
    EventAnswer,
    EventConversation,
    EventDecision,
    EventLetter,
    EventOutcome,
    EventOutcomes,
    EventReply,
    EventTexts,
    FailedCalls,
    StoredExchange,
)
from db.audit.event_texts import HELD, JUDGED, SENT, texts_of
from db.audit.search import TooSlow, statement_limit
from db.connection import Connection
from db.identifiers import uuid_time_bounds
from db.rows import all_rows
from db.tables import NOT_ERASED
from worker.checks.given import ENTRY
from worker.model import AttemptOutcome
from worker.snapshot import Snapshot
from worker.trace import MOST_ATTEMPTS

PART_S: Final = 10.0
"""Longest wait for one part: two of them are searched without an index."""
MOST_LETTERS: Final = 20

KEYS: Final = """
    WITH RECURSIVE accounts AS (
        (SELECT user_id FROM {table} ORDER BY user_id LIMIT 1)
        UNION ALL
        SELECT (SELECT k.user_id FROM {table} k WHERE k.user_id > a.user_id ORDER BY k.user_id LIMIT 1)
        FROM accounts a WHERE a.user_id IS NOT NULL
    )
    SELECT k.user_id, {entry_id} AS entry_id, k.decision_id
    FROM accounts a JOIN {table} k ON k.user_id = a.user_id AND k.event_id = :event_id
    WHERE k.user_id = :user_id OR CAST(:user_id AS text) IS NULL
    ORDER BY k.user_id
"""
"""One index look-up per account: the primary key begins with the account."""
EVENT_KEYS: Final = sa.text(KEYS.format(table="event_keys", entry_id="k.entry_id"))
CHECK_KEYS: Final = sa.text(KEYS.format(table="checks", entry_id=f"'{ENTRY}'"))
KEYS_PURGED: Final = sa.text("SELECT 1 FROM purged WHERE table_name IN ('event_keys', 'checks') AND rows > 0")
UNKEYED: Final = sa.text("""
    SELECT user_id, coalesce(snapshot_json ->> 'entry_id', '') AS entry_id, id AS decision_id
    FROM ai_decisions
    WHERE event_id = :event_id AND (user_id = :user_id OR CAST(:user_id AS text) IS NULL)
    ORDER BY user_id, created_at DESC
""")
"""Decisions whose key retention has deleted; there is no index on the event id alone."""
DECISION: Final = sa.text(f"""
    SELECT id, created_at, decision, reason_code, reason, confidence, matched_rule, degraded,
           conversation_id, (snapshot_json ->> 'rules_version')::integer AS settings_version,
           snapshot_json -> 'assessment' ->> 'policy' AS policy,
           snapshot_json ->> 'prompt_hash' AS prompt_hash,
           jsonb_build_object('stages', snapshot_json -> 'stages', 'attempts', snapshot_json -> 'attempts',
                              'checked', snapshot_json -> 'checked') AS calls,
           coalesce((snapshot_json ->> 'quarantined')::boolean, false) AS sealed_when_decided
    FROM ai_decisions WHERE created_at BETWEEN :since AND :until AND id = :id AND {NOT_ERASED}
""")
DUPLICATES: Final = sa.text(
    "SELECT count(*) AS entries FROM duplicates WHERE user_id = :user_id AND event_id = :event_id"
)
LETTERS: Final = sa.text("""
    SELECT entry_id, created_at, reason_code, field, expected, got, raw FROM dead_letters
    WHERE entry_id = ANY(:entry_ids) OR position(:needle in raw) > 0
    ORDER BY created_at DESC LIMIT :most
""")
OWNER: Final = sa.text("""
    SELECT CASE WHEN people_until > :now AND cause <> 'release' THEN 'people' ELSE 'ai' END AS owner,
           people_until, cause, changed_by, changed_at
    FROM conversations WHERE user_id = :user_id AND conversation_id = :conversation_id
""")
REPLY: Final = sa.text("""
    SELECT created_at, send_before, delivered_at, cancelled_at, cancel_reason, sent_as
    FROM outbox WHERE user_id = :user_id AND event_id = :event_id AND decision_id = :id
""")
ANSWERS: Final = sa.text("""
    SELECT a.created_at, a.outcome, a.person, o.delivered_at, o.cancelled_at,
        o.id IS NOT NULL AS in_outbox
    FROM answers a LEFT JOIN outbox o ON o.decision_id = a.id AND o.user_id = a.user_id
    WHERE a.decision_id = :id ORDER BY a.created_at
""")
RETRACTION: Final = sa.text("""
    SELECT created_at, not_before, cancelled_at, delivered_at
    FROM retractions WHERE decision_id = :id ORDER BY retractions.id DESC LIMIT 1
""")
EXCHANGE: Final = sa.text("""
    SELECT (SELECT count(*) FROM messages WHERE user_id = :user_id AND conversation_id = :conversation_id
            AND decision_id = :id) AS in_history,
           count(*) AS sealed, min(expires_at) AS sealed_until
    FROM quarantine WHERE decision_id = :id AND expires_at > :now
""")


async def load_outcomes(
    connection: Connection,
    event_id: str,
    *,
    user_id: str | None,
    entry_ids: tuple[str, ...],
    now: datetime,
) -> EventOutcomes:
    """What became of an event or check of one account, or of every account when ``user_id`` is None.

    An event and a check may have the same id. A part that the login may not read is named in ``unknown``.
    ``entry_ids`` are entries of the event that are still in the stream. A dead letter is found by its entry
    id too.
    """
    reader, asked = _PartReader(connection), {"event_id": event_id, "user_id": user_id}
    keys = await reader.rows("event key", EVENT_KEYS, asked) + await reader.rows("check", CHECK_KEYS, asked)
    if not keys and await reader.rows("event key", KEYS_PURGED, {}):
        keys = await reader.rows("decision", UNKEYED, asked)
    outcomes = [await _outcome(reader, event_id, key, now) for key in keys]
    ids = frozenset({event_id, *entry_ids, *(key["entry_id"] for key in keys)})
    values = {"entry_ids": list(ids), "needle": orjson.dumps(event_id), "most": MOST_LETTERS}
    letters = [
        letter
        for row in await reader.rows("dead letter", LETTERS, values)
        if (letter := _letter(row, event_id, ids)) is not None
    ]
    return EventOutcomes(
        outcomes=tuple(outcomes),
        letters=tuple(each for each in letters if user_id is None or each.user_id in {None, user_id}),
        unknown=reader.unknown,
    )


class _PartReader:
    """Reads one part after the other; a part that cannot be read stops no other."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.unknown: dict[str, str] = {}

    async def rows(self, part: str, query: sa.TextClause, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of a query; none when the part is unknown."""
        try:
            async with statement_limit(self.connection, PART_S):
                return list(await all_rows(self.connection, query, values))
        except TooSlow:
            self.unknown[part] = f"the search took longer than {PART_S:.0f} s"
        except psycopg.errors.InsufficientPrivilege as error:
            self.unknown[part] = str(error.diag.message_primary)
        return []

    async def row(self, part: str, query: sa.TextClause, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """The first row of a query; None when there is none or the part is unknown."""
        return next(iter(await self.rows(part, query, values)), None)


def _letter(row: dict[str, Any], event_id: str, entry_ids: frozenset[str]) -> EventLetter | None:
    """The dead letter, or None when its payload quotes the event id elsewhere, such as in a text."""
    raw = bytes(row.pop("raw"))
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        return EventLetter(user_id=None, **row)
    inner = body["data"] if "specversion" in body and isinstance(body.get("data"), dict) else body
    if inner.get("event_id") != event_id and row["entry_id"] not in entry_ids:
        return None
    user_id = inner.get("user_id")
    return EventLetter(user_id=user_id if isinstance(user_id, str) else None, **row)


async def _outcome(reader: _PartReader, event_id: str, key: Mapping[str, Any], now: datetime) -> EventOutcome:
    values = {"event_id": event_id, "user_id": key["user_id"], "id": key["decision_id"], "now": now}
    is_check = key["entry_id"] == ENTRY
    duplicates = None if is_check else await reader.row("duplicates", DUPLICATES, values)
    reply = await reader.row("reply", REPLY, values)
    decision = month_dropped = retraction = exchange = owner = texts = None
    answers: list[dict[str, Any]] = []
    if key["decision_id"] is not None:
        decision, month_dropped = await _decision(reader, key["decision_id"])
        answers = await reader.rows("answers", ANSWERS, values)
        retraction = await reader.row("retraction", RETRACTION, values)
    if decision is not None:
        values["conversation_id"] = decision.conversation_id
        exchange = await reader.row("exchange", EXCHANGE, values)
        owner = await reader.row("conversation", OWNER, values)
        texts = await _texts(reader, values)
    return EventOutcome(
        user_id=key["user_id"],
        entry_id=key["entry_id"],
        decision_id=key["decision_id"],
        decision=decision,
        month_dropped=month_dropped,
        is_check=is_check,
        duplicates=duplicates["entries"] if duplicates else None,
        reply=EventReply(**reply) if reply else None,
        answers=tuple(EventAnswer(**answer) for answer in answers),
        retraction=RetractionRecord(**retraction) if retraction else None,
        exchange=StoredExchange(**exchange) if exchange else None,
        conversation=EventConversation(**owner) if owner else None,
        texts=texts,
    )


async def _texts(reader: _PartReader, values: Mapping[str, Any]) -> EventTexts | None:
    near = uuid_time_bounds(values["id"])
    judged = await reader.row("texts", JUDGED, {**values, "since": near[0], "until": near[1]})
    sent = await reader.row("reply", SENT, values)
    held = await reader.row("held draft", HELD, values)
    return texts_of(judged, sent=sent, held=held) if judged else None


async def _decision(reader: _PartReader, decision_id: UUID) -> tuple[EventDecision | None, bool | None]:
    """The decision; or None and whether retention removed its whole month, None when that is unknown."""
    near = uuid_time_bounds(decision_id)
    row = await reader.row("decision", DECISION, {"id": decision_id, "since": near[0], "until": near[1]})
    if row is not None:
        calls = Snapshot.from_json(row.pop("calls"))
        stages = tuple(f"{each.stage} {each.outcome}" for each in calls.stages)
        return EventDecision(
            **row, failed_calls=_failed_calls(calls), stages=stages, checked=calls.checked
        ), None
    if "decision" in reader.unknown:
        return None, None
    erased = await erased_decision(reader.connection, decision_id)
    return None, erased.month_dropped if erased else False


def _failed_calls(calls: Snapshot) -> tuple[FailedCalls, ...]:
    """The failed calls of each stage; a stage without a line in the trace has the time of its attempts."""
    found = []
    for stage in dict.fromkeys(each.stage for each in calls.attempts):
        attempts = [each for each in calls.attempts if each.stage == stage]
        failed = [each for each in attempts if each.outcome != AttemptOutcome.COMPLETED]
        if not failed:
            continue
        spans_ms = [each.duration_ms for each in calls.stages if each.stage == stage]
        spans_ms = spans_ms or [each.duration_ms + 1000 * each.waited_s for each in attempts]
        capped = len(attempts) >= MOST_ATTEMPTS  # the number of the last one counts those not stored
        found.append(
            FailedCalls(
                stage=stage,
                failed=max(len(failed), failed[-1].number if capped else 0),
                last=failed[-1].outcome,
                duration_s=round(sum(spans_ms) / 1000, 3),
            )
        )
    return tuple(found)
