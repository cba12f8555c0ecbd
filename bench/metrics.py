"""The CPU that metrics add to an event, compared with the CPU of a whole decision, in one run.

The counting is measured apart, as a loop over one decision: on and off runs of a whole worker differ by more
than metrics cost. One scrape is measured too, with as many series as a worker has after all kinds of endings.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from prometheus_client import generate_latest
from redis import Redis

from bench.engine import pipeline
from cli.stack import Stack
from db.identifiers import uuid_at
from tasks.metrics.process import ProcessMetrics, WorkerMetrics
from worker.model import Decision, DecisionKind, Event, Scope, StageOutcome, StageRecord, Tokens
from worker.model.stages import STAGES
from worker.reasons import Reason

ROUNDS = 20_000
REQUESTS = 4
"""Of one event: moderation twice, completion, judge."""
OUT = Path("out/bench-metrics.json")


def sample() -> Decision:
    """A replied event with every stage and two purposes of tokens."""
    at = datetime.now(UTC)
    event = Event(
        event_id="e",
        entry_id="1-0",
        user_id="u",
        scope=Scope.CHAT,
        conversation_id="c",
        message_id="m",
        author_id="a",
        text="Hello",
        created_at=at,
        received_at=at,
    )
    records = [StageRecord(stage=each, outcome=StageOutcome.PASSED, duration_ms=3.0) for each in STAGES]
    spent = {"completion": Tokens(prompt=300, completion=40), "judge": Tokens(prompt=200, completion=5)}
    return Decision(
        decision_id=uuid_at(at),
        decided_at=at,
        event=event,
        kind=DecisionKind.RESPOND,
        reason_code=Reason.REPLIED,
        reason="",
        confidence=1.0,
        rules_version=1,
        stages=tuple(records),
        tokens_by_purpose=spent,
    )


def counting_ms(metrics: WorkerMetrics) -> float:
    """CPU of counting one event, milliseconds."""
    decision = sample()
    started = time.process_time()
    for _ in range(ROUNDS):
        metrics.decided(decision)
        for _ in range(REQUESTS):
            metrics.requested("model", "answered", 0.5)
    return (time.process_time() - started) / ROUNDS * 1000


def scrape_ms(metrics: WorkerMetrics) -> tuple[float, int]:
    """CPU of one scrape, milliseconds, and its bytes."""
    for reason in Reason:
        metrics.decided(replace(sample(), reason_code=reason, kind=reason.spec.decision))
    started, size = time.process_time(), 0
    for _ in range(100):
        size = len(generate_latest(metrics.registry))
    return (time.process_time() - started) / 100 * 1000, size


def main() -> None:
    """Measure and print JSON, also to ``out/bench-metrics.json``."""
    OUT.parent.mkdir(exist_ok=True)
    metrics = WorkerMetrics(ProcessMetrics("worker"), accounts=100)
    counted_ms = counting_ms(metrics)
    scraped_ms, size = scrape_ms(metrics)
    with Stack() as stack, Redis.from_url(stack.redis_url) as redis:
        decided = pipeline(redis, stack)
    document = {
        "counting_ms_per_event": round(counted_ms, 4),
        "decision_ms_per_event": decided.cpu_ms,
        "share_of_a_decision": round(counted_ms / decided.cpu_ms, 4),
        "scrape_ms": round(scraped_ms, 2),
        "scrape_bytes": size,
    }
    OUT.write_text(json.dumps(document, indent=2) + "\n")
    sys.stdout.write(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
