"""Decisions as lines of a file: NDJSON for programs, CSV without formulas for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import orjson

from worker.spreadsheet import harmless

COLUMNS: Final = (
    "created_at",
    "id",
    "user_id",
    "scope",
    "conversation_id",
    "author_id",
    "event_id",
    "message_id",
    "decision",
    "reason_code",
    "reason",
    "matched_rule",
    "confidence",
    "degraded",
    "candidate_id",
    "settings_version",
    "message_text",
    "reply_text",
    "answered",
    "answered_by",
    "answered_at",
    "answer_text",
    "feedback",
    "review",
    "review_reason",
    "reviewed_by",
    "reviewed_at",
    "review_note",
    "permalink",
)
BOM: Final = "\ufeff"


class Form(StrEnum):
    """The format of an export."""

    CSV = "csv"
    NDJSON = "ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The layout of an export's lines.

    Attributes:
        bom: begin a CSV with a byte order mark: Excel reads UTF-8 only then.
        site: where the review pages are, for permalinks; empty writes none.
    """

    form: Form
    bom: bool = False
    site: str = ""

    def head(self) -> str:
        """The bytes before the first decision."""
        if self.form is Form.NDJSON:
            return ""
        return (BOM if self.bom else "") + _csv([self._columns()])

    def lines(self, rows: Iterable[Mapping[str, Any]]) -> str:
        """Decisions, one a line; a cell of a CSV may contain line breaks."""
        linked = ({**row, "permalink": f"{self.site}/decisions/{row['id']}"} for row in rows)
        chosen = ({name: row[name] for name in self._columns()} for row in linked)
        if self.form is Form.NDJSON:
            return "".join(orjson.dumps(row).decode() + "\n" for row in chosen)
        return _csv(map(safe_cell, row.values()) for row in chosen)

    def _columns(self) -> tuple[str, ...]:
        return COLUMNS if self.site else COLUMNS[:-1]


def safe_cell(value: object) -> str:
    """A CSV cell without formulas: text that begins like a formula gets an apostrophe before it.

    Spaces before such a beginning do not hide it. Numbers of ours are written as they are.
    """
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float() | UUID():
            return str(value)
        case datetime():
            return value.isoformat()
    return harmless(str(value).replace("\0", "\N{REPLACEMENT CHARACTER}"))


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Lines of a CSV file; cells that a spreadsheet would take for a formula are made harmless."""
    return _csv(map(safe_cell, row) for row in rows)


def _csv(rows: Iterable[Iterable[str]]) -> str:
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(rows)
    return written.getvalue()
