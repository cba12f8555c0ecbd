"""What the tables and logs hold about the events of a breach, kept before the servers' files are removed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import psycopg

from chaos.fleet.world import World
from chaos.kinds import Law

IDENTIFIER: Final = re.compile(r"\be\d+\.\d+\b|[0-9a-f]{8}-[0-9a-f-]{27}")
"""Names of events, and ids of decisions, as breaches write them."""
MOST: Final = 20
MOST_LINES: Final = 60
EVENTS: Final = """
    SELECT event_id, id::text FROM ai_decisions WHERE event_id = ANY(%(ids)s) OR id::text = ANY(%(ids)s)
    UNION SELECT event_id, decision_id::text FROM event_keys
    WHERE event_id = ANY(%(ids)s) OR decision_id::text = ANY(%(ids)s)
    UNION SELECT body ->> 'event_id', body ->> 'decision_id' FROM outgoing_events
    WHERE body ->> 'event_id' = ANY(%(ids)s) OR body ->> 'decision_id' = ANY(%(ids)s)
"""
ROWS: Final = {
    "event_keys": "SELECT *, xmin FROM event_keys WHERE event_id = ANY(%(ids)s)",
    "ai_decisions": "SELECT id, created_at, event_id, decision, reason_code, xmin FROM ai_decisions"
    " WHERE event_id = ANY(%(ids)s)",
    "outbox": "SELECT *, xmin FROM outbox WHERE event_id = ANY(%(ids)s)",
    "escalations": "SELECT *, xmin FROM escalations WHERE decision_id::text = ANY(%(ids)s)",
    "outgoing_events": "SELECT *, xmin FROM outgoing_events WHERE body ->> 'event_id' = ANY(%(ids)s)",
    "webhook_deliveries": "SELECT d.* FROM webhook_deliveries d JOIN outgoing_events e ON e.id = d.event_row"
    " WHERE e.body ->> 'event_id' = ANY(%(ids)s)",
}


def evidence(world: World, breaches: Mapping[Law, Sequence[str]], timeline: Iterable[str]) -> Iterator[str]:
    """Rows and lines of logs that name an event of a breach, of ``MOST`` events at most, and the faults."""
    named = IDENTIFIER.findall("\n".join(line for lines in breaches.values() for line in lines))
    ids = list(dict.fromkeys(named))[:MOST]
    if not ids:
        return
    yield from (f"fault: {each}" for each in timeline)
    with suppress(psycopg.Error):
        related = [each for row in _rows(world, EVENTS, ids) for each in row if each]
        ids = list(dict.fromkeys([*ids, *map(str, related)]))
    for table, query in ROWS.items():
        try:
            yield from (f"{table}: {row}" for row in _rows(world, query, ids))
        except psycopg.Error as error:
            yield f"{table}: {error}"
    for file in sorted(world.folder.glob("*.log")):
        found = (line for line in file.read_text(errors="replace").splitlines() if _names(line, ids))
        yield from (f"{file.name}: {line}" for _, line in zip(range(MOST_LINES), found, strict=False))


def _rows(world: World, query: str, ids: Sequence[str]) -> Sequence[tuple[object, ...]]:
    with psycopg.connect(world.stack.database_url, connect_timeout=5) as connection:
        return connection.execute(query.encode(), {"ids": list(ids)}).fetchall()


def _names(line: str, ids: Iterable[str]) -> bool:
    return any(each in line for each in ids)
