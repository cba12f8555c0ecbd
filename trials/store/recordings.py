"""Stored decisions with their recordings, read by reviewers and for replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.identifiers import uuid_time_bounds
from db.pool import Pool, fetch_dicts
from db.rows import from_row
from trials.pure.replay.difference import ReplayOutcome, comparable

LOAD: Final = """
    SELECT d.id AS decision_id, d.user_id, d.created_at, d.decision, d.reason_code, d.reason, d.confidence,
           d.matched_rule, d.candidate_id, d.snapshot_json, o.text AS reply, r.overtaken, r.data,
           CASE WHEN c.verdict ->> 'would' IS NULL THEN c.verdict ->> 'text' END AS allowed
    FROM unnest(%(ids)s::uuid[]) AS asked (id)
    JOIN ai_decisions d ON d.id = asked.id AND d.created_at BETWEEN %(since)s AND %(until)s
    LEFT JOIN recordings r ON r.decision_id = d.id
    LEFT JOIN outbox o ON o.user_id = d.user_id AND o.event_id = d.event_id AND o.decision_id = d.id
        AND o.created_at = d.created_at AND o.origin = 'ai'
    LEFT JOIN checks c ON c.decision_id = d.id
    ORDER BY d.created_at, d.id
"""


LOAD_LIGHT: Final = LOAD.replace(
    "d.snapshot_json, o.text",
    "jsonb_strip_nulls(jsonb_build_object('rules_version', d.snapshot_json -> 'rules_version',"
    " 'erased', d.snapshot_json -> 'erased', 'costs', d.snapshot_json -> 'costs')) AS snapshot_json, o.text",
)
"""Without what only the comparison of whole decisions needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDecision:
    """A stored decision with its recording.

    Attributes:
        erased: only a tombstone of the decision is stored.
        rules_version: of the account's settings that decided.
        recording: as ``worker.recordings.stored`` reads it; None: there is none, or not any more.
        overtaken: people took the conversation before its commit, which discarded the reply.
        usd: what the decision cost, as far as prices were known.
        candidate_id: the candidate of a rollout that decided it; None: the settings in force did.
    """

    decision_id: UUID
    user_id: str
    created_at: datetime
    erased: bool
    rules_version: int
    outcome: ReplayOutcome
    recording: bytes | None
    overtaken: bool
    usd: float = 0.0
    candidate_id: UUID | None = None


async def load_decisions(
    source: Pool, ids: Sequence[UUID], *, light: bool = False
) -> tuple[StoredDecision, ...]:
    """The decisions with their recordings, the oldest first; unknown ids are left out.

    ``light``: their outcomes have no snapshots.

    Recordings are sealed: the caller writes to the access log who reads them.
    """
    if not ids:
        return ()
    bounds = [uuid_time_bounds(each) for each in ids]
    values = {
        "ids": list(ids),
        "since": min(since for since, _ in bounds),
        "until": max(until for _, until in bounds),
    }
    return tuple(map(_stored, await fetch_dicts(source, LOAD_LIGHT if light else LOAD, values)))


def _stored(row: dict[str, Any]) -> StoredDecision:
    snapshot = row["snapshot_json"]
    reply = row["reply"] if row["reply"] is not None else row["allowed"]
    found = {"kind": row["decision"], "snapshot": comparable(snapshot), "reply": reply}
    outcome = from_row(ReplayOutcome, row | found)
    read = {
        "erased": "erased" in snapshot,
        "rules_version": int(snapshot.get("rules_version") or 0),
        "outcome": outcome,
        "recording": row["data"],
        "overtaken": bool(row["overtaken"]),
        "usd": sum(each.get("usd") or 0.0 for each in snapshot.get("costs") or ()),
    }
    return from_row(StoredDecision, row | read)
