"""The commit of an event over the rows of several: each parameter becomes a column of the event's row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import orjson

PARAMETER: Final = re.compile(r"%\((\w+)\)s")
TEXTS: Final = (
    *("user_id", "event_id", "entry_id", "message_id", "conversation_id", "author_id", "scope", "text"),
    *("decision", "reason_code", "reason", "matched_rule", "message_text", "rejection_reason"),
    *("rejected_draft", "reply", "draft", "disclosure", "role", "recording", "type", "sign", "request_hash"),
)
TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "id": "uuid",
        "candidate_id": "uuid",
        "created_at": "timestamptz",
        "written_at": "timestamptz",
        "expires_at": "timestamptz",
        "send_before": "timestamptz",
        "confidence": "double precision",
        "changes": "integer",
        "snapshot": "jsonb",
        "sources": "jsonb",
        "metadata": "jsonb",
        "trace": "jsonb",
        "costs": "jsonb",
        "verdict": "jsonb",
        "degraded": "boolean",
        "quarantine": "boolean",
        "remember": "boolean",
        "overtaken": "boolean",
    }
    | dict.fromkeys(TEXTS, "text")
)
"""The Postgres type of each parameter."""
COLUMNS: Final = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
ROWS: Final = f"SELECT * FROM jsonb_to_recordset(%(rows)s::jsonb) AS event ({COLUMNS})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRow:
    """The parameters of one event's commit as a JSON object; ``at`` is the time of its decision."""

    decision_id: UUID
    at: datetime
    json: bytes


def commit_row(values: Mapping[str, Any]) -> CommitRow:
    """The row of an event from the parameters of its own commit.

    Raises:
        TypeError: a text is not valid Unicode.
    """
    row = {
        name: orjson.Fragment(values[name]) if kind == "jsonb" and values[name] is not None else values[name]
        for name, kind in TYPES.items()
    }
    json = bytes(memoryview(orjson.dumps(row)))  # orjson holds up to 15 times the size
    return CommitRow(decision_id=values["id"], at=values["created_at"], json=json)


def rows_json(rows: Sequence[CommitRow]) -> str:
    """The parameter ``rows``."""
    return (b"[" + b",".join(row.json for row in rows) + b"]").decode()


def over_rows(statement: str, source: str) -> str:
    """A statement with the columns of ``source`` in place of its parameters."""

    def column(match: re.Match[str]) -> str:
        return f"{source}.{match[1]}::{TYPES[match[1]]}"

    return PARAMETER.sub(column, statement)
