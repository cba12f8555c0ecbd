"""``hushgate alerts check`` on real servers: a spike against the same hours of the past days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg

from tests.support.terminal import Shell

INSERT = """
    INSERT INTO ai_decisions (created_at, id, user_id, event_id, message_id, conversation_id, author_id,
        scope, decision, confidence, reason_code, reason, matched_rule, message_text, snapshot_json, degraded)
    SELECT %(at)s::timestamptz - number * interval '1 second', gen_random_uuid(), 'shop', 'e', 'm', 'c', 'a',
        'chat', 'ignore', 1, %(reason)s, '', %(rule)s, 'words', '{}', false
    FROM generate_series(1, %(events)s) AS number
"""


def decide(url: str, at: datetime, reason: str, events: int, rule: str | None = None) -> None:
    """Rows of the audit in the seconds before ``at``."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_ensure_partitions(%s, 3)", (at.date(),))
        connection.execute(INSERT, {"at": at, "reason": reason, "events": events, "rule": rule})


def names(shell: Shell, *words: str) -> set[str]:
    return {row["alert"] for row in shell.run("alerts", "check", *words).rows}


def test_alerts_are_judged_from_the_audit_and_its_own_past(shell: Shell, database_url: str) -> None:
    """The same share of blocks is a spike without a past, and none when the past days had it too."""
    now = datetime.now(UTC)
    decide(database_url, now, "REPLIED", 60)
    decide(database_url, now, "FLAGGED_RULE", 40, "flagged_keyword:x")
    spiked = shell.run("alerts", "check")
    for day in range(1, 8):
        past = now - timedelta(days=day)
        decide(database_url, past, "REPLIED", 60)
        decide(database_url, past, "FLAGGED_RULE", 40, "flagged_keyword:x")
        decide(database_url, past - timedelta(hours=3), "FLAGGED_RULE", 900, "flagged_keyword:x")

    found = "40 of 100 events blocked, 0 of 0 in the same hours of the past week"
    blocks = [row["found"] for row in spiked.rows if row["alert"] == "HushgateFrequentBlocks"]
    assert blocks == [f"account shop: {found}", f"account shop, rule flagged_keyword:x: {found}"]
    assert spiked.code == 1
    assert "HushgateFrequentBlocks" not in names(shell)


def test_a_missing_worker_and_a_server_that_is_away_fire(shell: Shell) -> None:
    """Without expected workers the first is quiet."""
    assert "HushgateWorkersMissing" in names(shell, "--workers", "1")
    assert "HushgateWorkersMissing" not in names(shell, "--workers", "0")
    away = shell.run("alerts", "check", env={"DATABASE_URL": "postgresql://u@127.0.0.1:1/x"})
    assert {row["alert"] for row in away.rows} == {
        "HushgateServerAway",
        "HushgateWorkersMissing",
        "HushgateTasksNotRun",
    }
