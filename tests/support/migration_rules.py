"""Statements of a migration that workers of the previous release would not survive, or would wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

VERSIONS: Final = Path(__file__).parents[2] / "db" / "migrations" / "versions"
TABLE: Final = r"(?:ONLY\s+)?(?:\"?\w+\"?\.)?\"?(?P<table>\w+)\"?"
DROPS: Final = "drops what is called"
RULES: Final[tuple[tuple[str, str], ...]] = (
    (rf"\bDROP TABLE (?:IF EXISTS )?{TABLE}", "drops a table"),
    (rf"\bTRUNCATE (?:TABLE )?{TABLE}", "empties a table"),
    (rf"\bALTER TABLE {TABLE}.*\bDROP COLUMN\b", "drops a column"),
    (rf"\bALTER TABLE {TABLE}.*\bRENAME\b", "renames"),
    (rf"\bALTER TABLE {TABLE}.*\bALTER (?:COLUMN )?\S+ (?:SET DATA )?TYPE\b", "changes a type"),
    (rf"\bALTER TABLE {TABLE}.*\bSET NOT NULL\b", "narrows a column"),
    (rf"\bALTER TABLE {TABLE}.*\bDROP DEFAULT\b", "drops a default"),
    (
        rf"\bALTER TABLE {TABLE}.*\bADD (?:COLUMN )?(?!CONSTRAINT)(?!.*\bDEFAULT\b).*\bNOT NULL\b",
        "needs a value",
    ),
    (rf"\bDELETE FROM {TABLE}(?!.*\bWHERE\b)", "empties a table"),
    (rf"\bREVOKE .* ON (?:TABLE )?{TABLE}", "takes a right away"),
    (r"\bDROP (?:FUNCTION|VIEW|TYPE|ROLE) (?:IF EXISTS )?(?:\"?\w+\"?\.)?\"?(?P<table>\w+)", DROPS),
)
"""Pattern and what it takes from the previous release."""
BLOCKING: Final[tuple[tuple[str, str], ...]] = (
    (rf"\bALTER TABLE {TABLE}.*\bADD CONSTRAINT\b(?!.*\bNOT VALID\b)", "checks a table under a lock"),
    (
        rf"\bCREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY\b).*\bON (?!ONLY ai_decisions\b){TABLE}",
        "blocks writes while it builds",
    ),
    (
        rf"\b(?:DROP|CREATE|CREATE OR REPLACE) (?:CONSTRAINT )?TRIGGER .*?\bON {TABLE}",
        "waits for all who use a table",
    ),
    (rf"\bUPDATE {TABLE} SET (?!.*\bWHERE\b)", "rewrites a table in one transaction"),
)
"""Pattern and how it makes workers wait, on a table of ``GROWING``."""
GROWING: Final = frozenset(
    {
        "access_log",
        "ai_decisions",
        "chunks",
        "conversations",
        "dead_letters",
        "decision_reviews",
        "duplicates",
        "event_keys",
        "messages",
        "outbox",
        "outgoing_events",
        "webhook_deliveries",
    }
)
"""Tables with a row for most events, or more: where a lock is long."""
REASON: Final = re.compile(r"^# expand-only: (\S.{19,})$", re.MULTILINE)
"""A migration that breaks a rule says in a line of its own why the previous release survives it."""


@dataclass(slots=True)
class Migrated:
    """The statements of an upgrade, by revision."""

    statements: dict[str, list[str]] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)

    def note(self, statement: str) -> None:
        """A statement belongs to the revision that is stored after it."""
        text = re.sub(r"\$\$.*?\$\$", "$$$$", statement, flags=re.DOTALL)  # without bodies of functions
        self.waiting.append(" ".join(re.sub(r"--[^\n]*", " ", text).split()))

    def reached(self, revision: str) -> None:
        """All statements since the last revision were of this one."""
        self.statements[revision] = self.waiting
        self.waiting = []


@contextmanager
def watched() -> Iterator[Migrated]:
    """Note what migrations execute meanwhile."""
    found = Migrated()

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "alembic_version" in statement:
            if statement.startswith(("UPDATE", "INSERT")):
                found.reached(re.findall(r"'(\w+)'", statement)[0])
            return
        found.note(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)


def problems(statements: list[str], existing: frozenset[str]) -> list[str]:
    """What is wrong with the statements of a migration; its own new tables do not count."""
    rules = [(rule, existing) for rule in RULES] + [(rule, existing & GROWING) for rule in BLOCKING]
    return [
        f"{what}: {statement[:120]}"
        for statement in statements
        for (pattern, what), tables in rules
        if (match := re.search(pattern, statement, re.IGNORECASE))
        and (_stays_away(match["table"], statements) if what == DROPS else match["table"] in tables)
    ]


def _stays_away(name: str, statements: list[str]) -> bool:
    """Whether a migration does not make again what it drops."""
    made = rf"\bCREATE (?:OR REPLACE )?(?:FUNCTION|VIEW|TYPE|ROLE) (?:\"?\w+\"?\.)?\"?{name}\b"
    return not any(re.search(made, each, re.IGNORECASE) for each in statements)


def reason(revision: str) -> str | None:
    """Why a migration may break a rule, in its own words."""
    (file,) = VERSIONS.glob(f"{revision}_*.py")
    found = REASON.search(file.read_text(encoding="utf-8"))
    return found[1] if found else None
