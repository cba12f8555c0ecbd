"""Bytes and milliseconds of a row in the tables that grow with each decision.

``python -m bench.rows --rows 1000000`` starts its own Postgres, lets the demo decide its events, multiplies
them over thirty days with all indexes in place, and writes ``out/bench-rows.json``. Milliseconds are those of
the server for one row of a statement of many, without round trip and commit; those of the last batch are with
the indexes at their full size.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson
import psycopg
from rich.console import Console
from rich.table import Table

from bench.audit_rows import ACCOUNTS, DAYS, ROWS, prepare
from cli.stack import Stack

OUT: Final = Path("out/bench-rows.json")
BATCH: Final = 25_000
SETTINGS: Final = ("fsync = off", "max_wal_size = '8GB'", "shared_buffers = '1GB'")
DECISION_COLUMNS: Final = ROWS.partition("(")[2].partition(")")[0]
MADE: Final = ROWS.replace("INSERT INTO ai_decisions", "INSERT INTO made", 1)
COPIES: Final[Mapping[str, str]] = {
    "ai_decisions": f"INSERT INTO ai_decisions ({DECISION_COLUMNS}) SELECT {DECISION_COLUMNS} FROM made",
    "event_keys": "INSERT INTO event_keys (user_id, event_id, entry_id, decision_id, created_at)"
    " SELECT user_id, event_id, (extract(epoch FROM created_at) * 1000)::bigint || '-0', id, created_at"
    " FROM made",
    "outbox": "INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text,"
    " created_at, delivered_at) SELECT user_id, event_id, id, conversation_id, message_id, scope,"
    " message_text || '. We are open from nine to six on weekdays. [1]', created_at,"
    " created_at + interval '0.2 s' FROM made WHERE decision = 'respond'",
    "messages": "INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text,"
    " created_at) SELECT user_id, conversation_id, message_id, id, role, message_text, created_at"
    " FROM made, unnest(ARRAY['user', 'assistant']) AS role WHERE decision = 'respond'",
}
"""How the rows of each table follow from the decisions that were made."""
SIZES: Final = """
SELECT coalesce(sum(pg_table_size(relid)), 0)::bigint, coalesce(sum(pg_indexes_size(relid)), 0)::bigint
FROM (
    SELECT relid FROM pg_partition_tree(%(table)s::regclass) WHERE isleaf
    UNION SELECT oid FROM pg_class WHERE oid = %(table)s::regclass AND relkind = 'r'
) AS leaves
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFigures:
    """A table as it was measured.

    Attributes:
        rows: that were inserted; ``per_decision`` of them for each decision.
        table_bytes: of a row, with its part of the TOAST table; ``index_bytes`` of all its indexes.
        wal_bytes: that a row wrote to the log.
        ms: of a row over the whole run; ``last_ms`` in the last batch.
    """

    table: str
    rows: int
    per_decision: float
    table_bytes: float
    index_bytes: float
    wal_bytes: float
    ms: float
    last_ms: float


@dataclass(slots=True, kw_only=True)
class _Inserted:
    """What was inserted into a table so far."""

    rows: int = 0
    seconds: float = 0.0
    wal_bytes: int = 0
    last_ms: float = 0.0
    before: tuple[int, int] = (0, 0)


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with Stack() as servers:
        _prepare_server(servers)
        with psycopg.connect(servers.database_url, autocommit=True) as connection:
            figures = _measured(connection, rows)
            listed = _monthly(connection)
    OUT.parent.mkdir(exist_ok=True)
    found = {
        "decisions": rows,
        "load": os.getloadavg()[1],
        "tables": [asdict(each) for each in figures],
        **listed,
    }
    OUT.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    Console().print(_table(figures))
    Console().print(listed)


def _prepare_server(servers: Stack) -> None:
    """Settings of a larger server, and the decisions of the demo."""
    with psycopg.connect(servers.database_url, autocommit=True) as connection:
        for setting in SETTINGS:
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
    servers.kill_postgres()
    servers.start_postgres()
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
    demo = [sys.executable, "-m", "cli", "demo", "--rate", "100"]
    subprocess.run(demo, env=environment, check=True, stdout=subprocess.DEVNULL)


def _measured(connection: psycopg.Connection, rows: int) -> tuple[RowFigures, ...]:
    prepare(connection)
    connection.execute("CREATE TEMP TABLE made (LIKE ai_decisions INCLUDING DEFAULTS)")
    inserted = {name: _Inserted(before=_sizes(connection, name)) for name in COPIES}
    values: dict[str, Any] = {"total": rows, "days": DAYS, "accounts": ACCOUNTS, "now": datetime.now(UTC)}
    for first in range(0, rows, BATCH):
        last = min(first + BATCH, rows) - 1
        connection.execute("TRUNCATE made")
        connection.execute(MADE, values | {"first": first, "last": last})
        for name, statement in COPIES.items():
            _insert(connection, statement, inserted[name])
        print(f"{last + 1:,} of {rows:,} decisions", flush=True)
    return tuple(_figures(connection, name, each, rows) for name, each in inserted.items())


def _insert(connection: psycopg.Connection, statement: str, found: _Inserted) -> None:
    written, started = _wal(connection), time.perf_counter()
    count = connection.execute(statement.encode()).rowcount
    took_s = time.perf_counter() - started
    found.rows += count
    found.seconds += took_s
    found.wal_bytes += _wal(connection) - written
    found.last_ms = took_s * 1000 / max(1, count)


def _figures(connection: psycopg.Connection, name: str, found: _Inserted, decisions: int) -> RowFigures:
    table, indexes = _sizes(connection, name)
    return RowFigures(
        table=name,
        rows=found.rows,
        per_decision=round(found.rows / decisions, 2),
        table_bytes=round((table - found.before[0]) / found.rows),
        index_bytes=round((indexes - found.before[1]) / found.rows),
        wal_bytes=round(found.wal_bytes / found.rows),
        ms=round(found.seconds * 1000 / found.rows, 3),
        last_ms=round(found.last_ms, 3),
    )


def _monthly(connection: psycopg.Connection) -> dict[str, Any]:
    """The largest indexes of a decision, in bytes of a row, and how long a month takes to detach and drop."""
    query = """
        SELECT p.relid::regclass::text, c.reltuples::bigint FROM pg_partition_tree('ai_decisions') AS p
        JOIN pg_class AS c ON c.oid = p.relid WHERE p.isleaf ORDER BY pg_total_relation_size(p.relid) DESC
    """
    connection.execute("VACUUM ANALYZE")
    (month, rows), *_ = connection.execute(query).fetchall()
    sizes = connection.execute(
        "SELECT i.indexrelid::regclass::text, pg_relation_size(i.indexrelid) FROM pg_index AS i"
        " WHERE i.indrelid = %s::regclass ORDER BY 2 DESC",
        (month,),
    ).fetchall()
    indexes = {name.removeprefix(f"{month}_"): round(size / max(1, rows)) for name, size in sizes}
    started = time.perf_counter()
    connection.execute(f"ALTER TABLE ai_decisions DETACH PARTITION {month}".encode())
    detached = time.perf_counter()
    connection.execute(f"DROP TABLE {month}".encode())
    return {
        "month": {"name": month, "rows": rows},
        "index_bytes": indexes,
        "detach_ms": round((detached - started) * 1000, 1),
        "drop_ms": round((time.perf_counter() - detached) * 1000, 1),
    }


def _sizes(connection: psycopg.Connection, table: str) -> tuple[int, int]:
    row = connection.execute(SIZES, {"table": table}).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _wal(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").fetchone()
    return int(row[0]) if row else 0


def _table(figures: tuple[RowFigures, ...]) -> Table:
    names = ("table", "rows", "per_decision", "table_bytes", "index_bytes", "wal_bytes", "ms", "last_ms")
    shown = Table(*names, header_style="bold", show_edge=False)
    for each in figures:
        shown.add_row(*(str(value) for value in asdict(each).values()))
    return shown


if __name__ == "__main__":
    main()
