"""What a release says to Postgres: recorded of its workers, and repeated on a migrated database."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg
from psycopg.sql import Composable
from psycopg.types.json import Jsonb

from db.pool import WORKER_ROLE

RELEASES: Final = Path(__file__).parents[1] / "fixtures" / "releases"
MARK: Final = "recorded-"
"""The start of every account in a recording: a repetition replaces it, so that its rows are new."""
SEEDED: Final = re.compile(r"\b(documents|document_files|chunks)\b")
"""Tables that the owner fills for the recording; their rows have numbers, which no repetition can change."""
OF_EACH: Final = 2
"""How often one statement is kept, with the parameters of its first executions."""
UUIDS: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{11}([0-9a-f])")
ENTRIES: Final = re.compile(r"(?<!\d)(\d{13})-(\d+)(?!\d)")


@dataclass(slots=True)
class Recording:
    """Statements in their order, each with its login's role."""

    at: datetime
    statements: list[dict[str, Any]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def note(self, role: str, query: str, values: object, kind: str) -> None:
        """Keep an execution unless there are enough of the statement; ``kind``: the class of its cursor."""
        if not role and SEEDED.search(query):
            return
        key = " ".join(query.split())
        self.seen[key] += 1
        if self.seen[key] <= OF_EACH:
            self.statements.append({"role": role, "query": query, "values": tagged(values), "kind": kind})

    def stored(self) -> bytes:
        """As a file of ``RELEASES``."""
        found = {"at": self.at.isoformat(), "statements": self.statements}
        return orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n"


@contextmanager
def recorded(recording: Recording) -> Iterator[None]:
    """Record every statement of asynchronous connections meanwhile."""
    execute, roles = psycopg.AsyncCursor.execute, dict[int, str]()

    async def noted(cursor: Any, query: Any, values: Any = None, **options: Any) -> Any:
        text = query.as_string(cursor) if isinstance(query, Composable) else str(query)
        if text.startswith("SET ROLE"):
            roles[id(cursor.connection)] = text.split('"')[1]
        elif not text.startswith("SET "):
            kind = type(cursor).__name__.removeprefix("Async")
            recording.note(roles.get(id(cursor.connection), ""), text, values, kind)
        return await execute(cursor, query, values, **options)

    psycopg.AsyncCursor.execute = noted  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        psycopg.AsyncCursor.execute = execute  # type: ignore[method-assign]


def repeat(url: str, file: Path, *, run: int) -> dict[str, int]:
    """Execute a recording as new events; how many statements each role executed.

    Every statement is a transaction of its own. Times are those of now, as partitions are.
    """
    stored = orjson.loads(file.read_bytes())
    delay = datetime.now(UTC) - datetime.fromisoformat(stored["at"])
    text = _as_new(orjson.dumps(stored["statements"]).decode(), run, delay)
    executed: Counter[str] = Counter()
    with psycopg.connect(url) as connection:
        for each in orjson.loads(text):
            with connection.transaction():
                role = each["role"]
                connection.execute(f'SET LOCAL ROLE "{role}"' if role else "SET LOCAL ROLE NONE")
                cursor = getattr(psycopg, each["kind"])(connection)
                cursor.execute(each["query"].removesuffix("; COMMIT"), untagged(each["values"], delay))
            executed[role] += 1
    return executed


def worker_statements(executed: Mapping[str, int]) -> int:
    """Those that a worker's rights allowed."""
    return executed[WORKER_ROLE]


def _as_new(text: str, run: int, delay: timedelta) -> str:
    """The statements with other accounts, ids and stream entries."""
    milliseconds = int(delay.total_seconds() * 1000) + run

    def other_uuid(match: re.Match[str]) -> str:
        return match[0][:-1] + f"{int(match[1], 16) ^ run:x}"

    def other_entry(match: re.Match[str]) -> str:
        return f"{int(match[1]) + milliseconds}-{match[2]}"

    text = text.replace(MARK, f"run-{run}-")
    return ENTRIES.sub(other_entry, UUIDS.sub(other_uuid, text))


def tagged(value: Any) -> Any:
    """A parameter as JSON; what JSON does not have is an object with one key that names its type."""
    if isinstance(value, Mapping):
        return {"$values": {str(name): tagged(each) for name, each in value.items()}}
    if isinstance(value, list | tuple):
        return [tagged(each) for each in value]
    for kind, (name, write, _) in TYPES.items():
        if isinstance(value, kind):
            return {name: write(value)}
    assert value is None or isinstance(value, bool | int | float | str), type(value)
    return value.value if isinstance(value, Enum) else value


def untagged(value: Any, delay: timedelta) -> Any:
    """The parameter again, its times later by ``delay``."""
    if isinstance(value, list):
        return [untagged(each, delay) for each in value]
    if not isinstance(value, dict):
        return value
    ((name, found),) = value.items()
    if name == "$values":
        return {each: untagged(inner, delay) for each, inner in found.items()}
    (read,) = (reader for tag, _, reader in TYPES.values() if tag == name)
    return read(found, delay)


TYPES: Final[dict[type, tuple[str, Callable[[Any], Any], Callable[[Any, timedelta], Any]]]] = {
    datetime: ("$time", datetime.isoformat, lambda text, delay: datetime.fromisoformat(text) + delay),
    date: ("$date", date.isoformat, lambda text, delay: (datetime.fromisoformat(text) + delay).date()),
    timedelta: ("$seconds", timedelta.total_seconds, lambda number, _: timedelta(seconds=number)),
    UUID: ("$uuid", str, lambda text, _: UUID(text)),
    bytes: ("$bytes", bytes.hex, lambda text, _: bytes.fromhex(text)),
    Jsonb: ("$jsonb", lambda value: value.obj, lambda found, _: Jsonb(found)),
}
"""Type of a parameter, its key, how it is written and read; a datetime is a date too, so it comes first."""
