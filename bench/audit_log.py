"""What the transparency log costs for each decision: milliseconds and bytes, beside the decision itself.

    python -m bench.audit_log 20000

Nothing of it runs in a worker. The yardstick of the same run is the commit of a decision by a worker's
function, one after the other on one connection.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from cli.stack import Stack
from compliance.audit_log.appending import append_new
from compliance.audit_log.checkpoints import new_key, signer_of
from compliance.audit_log.verifying import Keys, verify
from db.commits.record import record_decision
from db.identifiers import EPOCH
from db.pool import create_pool
from db.schema import migrate
from tests.support.auditing import decided

YARDSTICK = 500
OUT = Path("out/bench-audit-log.json")
COPIES = """
    INSERT INTO ai_decisions (created_at, id, user_id, event_id, message_id, conversation_id, author_id,
        scope, decision, confidence, reason_code, reason, message_text, snapshot_json, degraded)
    SELECT created_at - number * interval '1 ms', gen_random_uuid(), user_id, event_id, message_id,
        conversation_id, author_id, scope, decision, confidence, reason_code, reason, repeat('word ', 20),
        jsonb_build_object('stages', (SELECT jsonb_agg(jsonb_build_object('stage', 'stage' || each, 'outcome',
        'passed', 'ms', each * 0.7)) FROM generate_series(1, 12) AS each), 'rules_version', 1), degraded
    FROM ai_decisions, generate_series(1, %s) AS number LIMIT %s
"""
BYTES = """
    SELECT sum(pg_total_relation_size(oid)) FROM pg_class
    WHERE relname LIKE 'audit\\_log\\_%' AND relkind = 'r'
"""


async def measure(url: str, rows: int) -> dict[str, float]:
    """The figures of one run."""
    signer = signer_of("bench", new_key())
    async with create_pool(url, size=1, application="bench", role=None) as source:
        started = time.perf_counter()
        for _ in range(YARDSTICK):
            await record_decision(source, decided())
        commit_ms = (time.perf_counter() - started) / YARDSTICK * 1000
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(COPIES, (rows // YARDSTICK + 1, rows - YARDSTICK))
        started, cpu, longest_ms = time.perf_counter(), time.process_time(), 0.0
        since: datetime | None = EPOCH
        while since is not None:
            begun = time.perf_counter()
            appended = await append_new(source, signer, datetime.now(UTC), since)
            longest_ms = max(longest_ms, (time.perf_counter() - begun) * 1000)
            since = appended.rest_since if appended else None
        append_ms, append_cpu = time.perf_counter() - started, time.process_time() - cpu
        started = time.perf_counter()
        result = await verify(source, Keys(log=frozenset({signer.verifier_key()})), datetime.now(UTC))
        verify_ms = time.perf_counter() - started
        assert not result.problems
        assert result.compared == rows
    with psycopg.connect(url) as connection:
        size = connection.execute(BYTES).fetchone()
    assert size is not None
    return {
        "rows": rows,
        "commit_ms": round(commit_ms, 3),
        "append_ms": round(append_ms / rows * 1000, 4),
        "append_cpu_ms": round(append_cpu / rows * 1000, 4),
        "longest_run_ms": round(longest_ms, 1),
        "verify_ms": round(verify_ms / rows * 1000, 4),
        "bytes": round(float(size[0]) / rows, 1),
        "append_in_commits": round(append_ms / rows * 1000 / commit_ms, 4),
    }


def main(rows: int) -> None:
    """Start servers, measure, print."""
    with Stack() as servers:
        migrate.upgrade(servers.database_url)
        found = asyncio.run(measure(servers.database_url, rows))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
