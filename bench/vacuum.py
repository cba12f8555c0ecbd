"""Dead rows of the outbox with Postgres' own autovacuum settings and with those of migration 0082.

``python -m bench.vacuum [SECONDS]``: each setting has a server with ``ROWS`` delivered replies. Replies are
stored at ``RATE``; the relay's own statements find and mark them. Autovacuum looks every ``NAPTIME_S``.
One line of JSON a setting, all of them in ``out/bench-vacuum.json``.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg

from bench.retention import FILL
from cli.stack import Stack
from db import migrate
from db.outbox import LOOK, SET_DELIVERED

ROWS: Final = 500_000
SECONDS: Final = 150.0
RATE: Final = 2_000
BATCH: Final = 100
NAPTIME_S: Final = 10
OUT: Final = Path("out/bench-vacuum.json")
SETTINGS: Final = {
    "Postgres' own": "ALTER TABLE outbox RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,"
    " autovacuum_analyze_scale_factor, autovacuum_analyze_threshold)",
    "0082": "SELECT 1",
}
STORE: Final = (
    "INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text,"
    " created_at) SELECT 'new', %(first)s::bigint + i, gen_random_uuid(), 'c' || i, 'm', 'chat',"
    " repeat('text ', 20), %(now)s FROM generate_series(1, %(rows)s::int) i"
)
FIGURES: Final = """
    SELECT n_dead_tup, n_dead_tup::float8 / greatest(1, n_live_tup + n_dead_tup) AS dead, autovacuum_count,
        n_tup_hot_upd::float8 / greatest(1, n_tup_upd) AS hot, pg_table_size(relid) / 1024 AS table_kb,
        pg_relation_size('ix_outbox_waiting') / 1024 AS waiting_index_kb
    FROM pg_stat_user_tables WHERE relname = 'outbox'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One setting.

    Attributes:
        replies_per_s: stored and marked.
        look_ms: a relay's look for waiting replies: median and 99 % of the last third.
        most_dead: rows, at the worst moment; ``dead_share``: of all rows, at the end.
        hot: share of updates that left the indexes alone.
    """

    setting: str
    replies_per_s: float
    look_ms: tuple[float, float]
    most_dead: int
    dead_share: float
    autovacuums: int
    hot: float
    table_kb: int
    waiting_index_kb: int


def measure(url: str, setting: str, seconds: float) -> Measured:
    """Store and mark replies for this long."""
    looks: list[tuple[float, float]] = []
    most_dead, done, first = 0, 0, 0
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(SETTINGS[setting].encode())
        began = checked = time.monotonic()
        while (now := time.monotonic()) - began < seconds:
            at = datetime.now(UTC)
            owner.execute(STORE, {"first": first, "now": at, "rows": BATCH})
            first += BATCH
            looked = time.perf_counter()
            rows = owner.execute(LOOK, {"now": at, "limit": 2 * BATCH}).fetchall()
            looks.append((now - began, 1_000 * (time.perf_counter() - looked)))
            owner.execute(SET_DELIVERED, (at, [row[1] for row in rows]))
            done += len(rows)
            time.sleep(max(0.0, first / RATE - (time.monotonic() - began)))
            if now - checked > 1:
                checked = now
                most_dead = max(most_dead, _figures(owner)[0])
        took = time.monotonic() - began
        _, dead, autovacuums, hot, table_kb, waiting_kb = _figures(owner)
    late = sorted(ms for at_s, ms in looks if at_s > 2 * seconds / 3)
    return Measured(
        setting=setting,
        replies_per_s=round(done / took, 1),
        look_ms=(round(statistics.median(late), 2), round(late[int(0.99 * len(late))], 2)),
        most_dead=most_dead,
        dead_share=round(dead, 3),
        autovacuums=autovacuums,
        hot=round(hot, 3),
        table_kb=table_kb,
        waiting_index_kb=waiting_kb,
    )


def _figures(owner: psycopg.Connection) -> Any:
    return owner.execute(FIGURES).fetchone()


def main() -> None:
    """Measure both settings, each on a server of its own."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    found: list[dict[str, Any]] = []
    for setting in SETTINGS:
        with Stack() as stack:
            url = stack.database_url
            migrate.upgrade(url)
            with psycopg.connect(url, autocommit=True) as owner:
                owner.execute(f"ALTER SYSTEM SET autovacuum_naptime = '{NAPTIME_S}s'".encode())
                owner.execute("SELECT pg_reload_conf()")
                owner.execute(FILL[2], {"at": datetime.now(UTC), "rows": ROWS})
                owner.execute("VACUUM ANALYZE")
            found.append(asdict(measure(url, setting, seconds)))
            print(json.dumps(found[-1]), flush=True)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
