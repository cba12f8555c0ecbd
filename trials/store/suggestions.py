"""Stored suggestions: one row per account, claimed by the server that computes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from db.pool import Pool, fetch_dicts, fetch_rows
from db.rows import from_row
from trials.pure.suggestions.model import LearningSuggestion, SettingEdit

DUE: Final = """
    SELECT known.user_id FROM (SELECT DISTINCT user_id FROM ai_rules) AS known
    LEFT JOIN learning_suggestions AS s ON s.user_id = known.user_id
    WHERE s.begun_at IS NULL OR s.begun_at < %(since)s
    ORDER BY s.begun_at NULLS FIRST, known.user_id LIMIT %(limit)s
"""
CLAIM: Final = """
    INSERT INTO learning_suggestions AS s (user_id, begun_at) VALUES (%(user_id)s, %(now)s)
    ON CONFLICT (user_id) DO UPDATE SET begun_at = excluded.begun_at WHERE s.begun_at < %(since)s
    RETURNING user_id
"""
RELEASE: Final = """
    UPDATE learning_suggestions SET begun_at = coalesce(computed_at, 'epoch')
    WHERE user_id = %(user_id)s AND begun_at = %(now)s
    RETURNING user_id
"""
STORE: Final = """
    INSERT INTO learning_suggestions (user_id, begun_at, computed_at, material, found)
    VALUES (%(user_id)s, %(now)s, %(now)s, %(material)s, %(found)s)
    ON CONFLICT (user_id) DO UPDATE SET computed_at = excluded.computed_at,
        material = excluded.material, found = excluded.found
    RETURNING user_id
"""
GET: Final = "SELECT computed_at, material, found FROM learning_suggestions WHERE user_id = %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSuggestions:
    """The suggestions of an account.

    Attributes:
        computed_at: None: never.
        material: how much they were computed from: ``days``, ``reviewed``, ``sent``, ``questions``.
    """

    computed_at: datetime | None = None
    material: Mapping[str, int] = field(default_factory=dict)
    found: tuple[LearningSuggestion, ...] = ()

    def get(self, kind: str, key: str) -> LearningSuggestion | None:
        """One of them, or None."""
        named = (each for each in self.found if (each.kind, each.key) == (kind, key))
        return next(named, None)


async def accounts_to_suggest(source: Pool, *, since: datetime, limit: int) -> tuple[str, ...]:
    """Accounts whose suggestions no server has begun to compute since then, the longest ago first."""
    rows = await fetch_rows(source, DUE, {"since": since, "limit": limit})
    return tuple(user_id for (user_id,) in rows)


async def claim_account(source: Pool, user_id: str, *, now: datetime, since: datetime) -> bool:
    """Claim an account; False when another server has begun since then."""
    return bool(await fetch_rows(source, CLAIM, {"user_id": user_id, "now": now, "since": since}))


async def release_account(source: Pool, user_id: str, *, now: datetime) -> None:
    """Give back a claim of ``now`` whose computation did not end."""
    await fetch_rows(source, RELEASE, {"user_id": user_id, "now": now})


async def store_suggestions(
    source: Pool,
    user_id: str,
    found: Iterable[LearningSuggestion],
    *,
    material: Mapping[str, int],
    now: datetime,
) -> None:
    """Replace the suggestions of an account."""
    rows = [
        asdict(each) | {"decisions": [[str(id_), at.isoformat()] for id_, at in each.decisions.items()]}
        for each in found
    ]
    values = {"user_id": user_id, "now": now, "material": Jsonb(dict(material)), "found": Jsonb(rows)}
    await fetch_rows(source, STORE, values)


async def load_suggestions_of(source: Pool, user_id: str) -> AccountSuggestions:
    """The suggestions of an account; empty before the first computation."""
    for row in await fetch_dicts(source, GET, (user_id,)):
        return AccountSuggestions(**row | {"found": tuple(map(_stored, row["found"]))})
    return AccountSuggestions()


def _stored(row: Mapping[str, Any]) -> LearningSuggestion:
    times = {UUID(id_): datetime.fromisoformat(at) for id_, at in row["decisions"]}
    edits = [from_row(SettingEdit, each) for each in row["edits"]]
    return from_row(LearningSuggestion, dict(row) | {"edits": edits, "decisions": times})
