"""Which removals are proven: by a retention limit in force, or by an erasure with a valid receipt."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from compliance.audit_log.entries import LOGGED, LeafKind
from compliance.audit_log.stored import Leaf
from compliance.erasure.receipts import is_signed_by
from db.connection import Connection
from db.rows import all_rows, rows_as

UNDER_WAY: Final = timedelta(days=1)
"""An erasure may run so long, and its receipt may wait so long for its signature."""
CLOCKS: Final = timedelta(minutes=5)
"""How far the database's clock may be ahead of the verifier's."""
REMOVALS: Final = """
    SELECT r.id, r.created_at, r.kind, r.reason, r.since, r.before, r.erasure_id, l.position,
        CASE WHEN jsonb_typeof(r.subjects) = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(r.subjects))
            WHEN r.subjects IS NOT NULL THEN '{}'::text[] END AS subjects
    FROM audit_log_removals r LEFT JOIN audit_log_leaves l ON l.kind = 'removal' AND l.subject_id = r.id
"""
LIMITS: Final = f"""
    SELECT r.id, r.created_at, r.table_name, r.keep_days, l.position
    FROM retention_limits r LEFT JOIN audit_log_leaves l ON l.kind = 'limit' AND l.subject_id = r.id
    WHERE {LOGGED[LeafKind.LIMIT].where}
"""
ERASURES: Final = """
    SELECT id, confirmed_at, started_at, finished_at, phase, receipt, signature FROM erasures
    WHERE id IN (SELECT erasure_id FROM audit_log_removals)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Rows that were deleted or emptied on purpose, as the database says.

    Attributes:
        since: of a month that was dropped at once: its start, and ``before`` its end.
        before: of retention: only rows of before this were due.
        subjects: ids of the rows; None: all rows of the month.
        position: of the leaf; None before the row has a leaf.
    """

    id: UUID
    created_at: datetime
    kind: LeafKind
    reason: str
    since: datetime | None
    before: datetime | None
    erasure_id: UUID | None
    subjects: list[str] | None
    position: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionLimit:
    """How long a table is kept since ``created_at``; ``keep_days`` None: for ever."""

    id: UUID
    created_at: datetime
    table_name: str
    keep_days: int | None
    position: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Removals:
    """All removals, judged.

    Attributes:
        stored: as the database has them.
        limits: every retention limit.
        unproven: removals without a proof, each with the reason.
        under_way: rows of erasures that have not ended, or whose receipt is not signed yet.
        deleted: by kind and id: rows of before this time may be missing.
        emptied: kind and id of rows that erasures emptied.
        months: decisions of these spans may be missing.
    """

    stored: tuple[Removal, ...]
    limits: tuple[RetentionLimit, ...]
    unproven: tuple[tuple[Removal, str], ...]
    under_way: int
    deleted: Mapping[tuple[str, str], datetime]
    emptied: frozenset[tuple[str, str]]
    months: tuple[tuple[datetime, datetime], ...]

    def may_be_missing(self, leaf: Leaf) -> bool:
        """True when retention deleted the leaf's row, which was old enough."""
        before = self.deleted.get((leaf.kind, str(leaf.subject_id)))
        if before is not None and leaf.due_from < before:
            return True
        in_month = any(since <= leaf.subject_at < end for since, end in self.months)
        return leaf.kind is LeafKind.DECISION and in_month

    def may_be_empty(self, leaf: Leaf) -> bool:
        """True when an erasure emptied the leaf's row."""
        return (leaf.kind, str(leaf.subject_id)) in self.emptied


async def load_removals(connection: Connection, receipt_keys: Iterable[bytes], now: datetime) -> Removals:
    """All removals, judged by limits, erasures and the public keys of receipts."""
    rows = await rows_as(connection, Removal, REMOVALS)
    judge = _Judge(
        limits=await rows_as(connection, RetentionLimit, LIMITS),
        erasures={row["id"]: row for row in await all_rows(connection, ERASURES)},
        keys=tuple(receipt_keys),
        now=now,
        emptied=_emptied_rows(rows),
    )
    return judge.judged(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    limits: tuple[RetentionLimit, ...]
    erasures: Mapping[UUID, Mapping[str, Any]]
    keys: tuple[bytes, ...]
    now: datetime
    emptied: Mapping[UUID, Counter[str]]

    def judged(self, rows: tuple[Removal, ...]) -> Removals:
        reasons = [(row, self._against(row)) for row in rows]
        good = [row for row, why in reasons if why is None]
        named = [(row, (row.kind, each)) for row in good for each in row.subjects or ()]
        return Removals(
            stored=rows,
            limits=self.limits,
            unproven=tuple((row, why) for row, why in reasons if why is not None),
            under_way=sum(len(row.subjects or ()) for row in good if self._is_under_way(row)),
            deleted={subject: row.before for row, subject in named if row.before is not None},
            emptied=frozenset(subject for row, subject in named if row.before is None),
            months=tuple((row.since, row.before) for row in good if row.since and row.before),
        )

    def _against(self, row: Removal) -> str | None:
        """Why a removal is not proven; None for a proven removal."""
        if row.created_at > self.now + CLOCKS:
            return f"its time, {row.created_at}, has not come"
        return self._against_retention(row) if row.erasure_id is None else self._against_erasure(row)

    def _against_retention(self, row: Removal) -> str | None:
        limit = self._in_force(row)
        if limit is None or row.before is None:
            return "no retention limit was in force (`hushgate migrate` stores them)"
        if limit.keep_days is None:
            return f"{limit.table_name} was kept for ever"
        if row.before > row.created_at - timedelta(days=limit.keep_days):
            return f"rows until {row.before} were deleted; {limit.table_name} was kept {limit.keep_days} days"
        return None

    def _in_force(self, row: Removal) -> RetentionLimit | None:
        """The newest limit of before the removal, in time and in the log: a later leaf cannot allow it."""
        table = LOGGED[LeafKind(row.kind)].table
        known = [
            each
            for each in self.limits
            if each.table_name == table and each.created_at <= row.created_at and _is_earlier(each, row)
        ]
        return max(known, key=lambda each: each.created_at, default=None)

    def _against_erasure(self, row: Removal) -> str | None:
        erasure = self._erasure(row)
        if erasure is None or erasure["confirmed_at"] is None or erasure["started_at"] is None:
            return f"erasure {row.erasure_id} was never confirmed and started"
        if self._is_under_way(row):
            return None
        if erasure["phase"] != "finished":
            return f"erasure {row.erasure_id} has not ended"
        if not self.keys:
            return f"the receipt of erasure {row.erasure_id} needs --receipt-key (of hushgate erasure key)"
        receipt, signature = erasure["receipt"], erasure["signature"]
        if (
            signature is None
            or not isinstance(receipt, dict)
            or not is_signed_by(receipt, signature, self.keys)
        ):
            return f"erasure {row.erasure_id} has no receipt with a valid signature of the given keys"
        return self._against_receipt(row, receipt)

    def _against_receipt(self, row: Removal, receipt: Mapping[str, Any]) -> str | None:
        if receipt["erasure"] != str(row.erasure_id):
            return f"the receipt of erasure {row.erasure_id} is that of another"
        started, ended = (datetime.fromisoformat(receipt[name]) for name in ("started_at", "finished_at"))
        if not started <= row.created_at <= ended:
            return f"erasure {row.erasure_id} ran from {started} to {ended}"
        assert row.erasure_id is not None
        table = LOGGED[LeafKind(row.kind)].table
        emptied, signed = self.emptied[row.erasure_id][row.kind], int(receipt["erased"].get(table, 0))
        if emptied > signed:
            return f"its receipt has {signed} rows of {table}, removals name {emptied}"
        return None

    def _is_under_way(self, row: Removal) -> bool:
        erasure = self._erasure(row)
        if erasure is None or erasure["started_at"] is None or erasure["phase"] == "cancelled":
            return False
        begun = erasure["finished_at"] or erasure["started_at"]
        return erasure["signature"] is None and bool(begun > self.now - UNDER_WAY)

    def _erasure(self, row: Removal) -> Mapping[str, Any] | None:
        return None if row.erasure_id is None else self.erasures.get(row.erasure_id)


def _is_earlier(limit: RetentionLimit, row: Removal) -> bool:
    if limit.position is None:
        return row.position is None
    return row.position is None or limit.position < row.position


def _emptied_rows(rows: Iterable[Removal]) -> Mapping[UUID, Counter[str]]:
    """Rows by kind that the removals of each erasure name."""
    found: defaultdict[UUID, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row.erasure_id is not None:
            found[row.erasure_id][row.kind] += len(set(row.subjects or ()))
    return found
