"""Alerts on real servers: a spike against the past days, and the rules file in promtool."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
import yaml

from db.fleet.figures import figures_connection, load_stored_figures
from tasks.alerts.declared import ALERTS, rules_file
from tests.support.promtool import promtool
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


def test_a_check_is_no_sign_of_a_worker_that_decides(database_url: str) -> None:
    """The gateway decides checks itself, also while every worker hangs."""
    newest = datetime.now(UTC) + timedelta(minutes=1)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_ensure_partitions(%s, 3)", (newest.date(),))
        values = {"at": newest + timedelta(seconds=1), "reason": "REPLIED", "events": 1, "rule": None}
        connection.execute(INSERT.replace("'{}'", """'{"type": "check"}'"""), values)

    async def load() -> datetime | None:
        async with figures_connection(database_url) as connection:
            return (await load_stored_figures(connection, newest.date())).last_decision

    found = asyncio.run(load())

    assert found is None or found < newest


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


SERIES: Final = yaml.safe_load((Path(__file__).parents[1] / "fixtures" / "alert_series.yml").read_text())
RULES: Final = {each["alert"]: each for each in yaml.safe_load(rules_file(workers=2))["groups"][0]["rules"]}
JUDGED_EVERY: Final = {"1m": "1m", "5m": "6h"}
"""Step of a case -> how often promtool judges it; cases with the longer step last a week."""


def samples(values: str) -> int:
    """How many samples the notation of promtool stands for."""
    return sum(int(each.rpartition("x")[2]) + 1 if "x" in each else 1 for each in values.split())


def minutes(case: Mapping[str, Any], step: str) -> int:
    """When the last sample of a case is."""
    longest = max(samples(str(each)) for each in case["series"].values())
    return int(step.removesuffix("m")) * (longest - 1)


def promtool_case(alert: str, kind: str, name: str, case: Mapping[str, Any], step: str) -> dict[str, Any]:
    """A case as a test of promtool."""
    rule = RULES[alert]
    fired = {"exp_labels": rule["labels"] | case.get("labels", {}), "exp_annotations": rule["annotations"]}
    judged = {
        "eval_time": f"{minutes(case, step)}m",
        "alertname": alert,
        "exp_alerts": [fired] if kind == "fires" else [],
    }
    given = [{"series": series, "values": str(values)} for series, values in case["series"].items()]
    return {
        "name": f"{alert} {kind}: {name}",
        "interval": step,
        "input_series": given,
        "alert_rule_test": [judged],
    }


def test_the_series_are_those_of_the_declared_alerts() -> None:
    """Each alert has a case in which it fires and one in which it does not."""
    assert set(SERIES) == {each.name for each in ALERTS}
    assert all(set(case) == {"fires", "quiet"} and all(case.values()) for case in SERIES.values())


def test_promtool_accepts_the_rules(tmp_path: Path) -> None:
    """Also its lint: no rule twice."""
    path = tmp_path / "rules.yml"
    path.write_text(rules_file(workers=2))
    checked = promtool("check", "rules", "--lint-fatal", path)

    assert checked.returncode == 0, checked.stderr
    assert f"{len(ALERTS)} rules found" in checked.stdout


@pytest.mark.parametrize("alert", SERIES)
def test_an_alert_fires_and_stays_quiet(alert: str, tmp_path: Path) -> None:
    """Judged by promtool itself, on each case of the file."""
    rules = tmp_path / "rules.yml"
    rules.write_text(yaml.safe_dump({"groups": [{"name": "hushgate", "rules": [RULES[alert]]}]}))
    paths = []
    for step, every in JUDGED_EVERY.items():
        tests = [
            promtool_case(alert, kind, name, case, step)
            for kind, cases in SERIES[alert].items()
            for name, case in cases.items()
            if case.get("step", "1m") == step
        ]
        paths.append(tmp_path / f"{step}.yml")
        document = {"rule_files": [str(rules)], "evaluation_interval": every, "tests": tests}
        paths[-1].write_text(yaml.safe_dump(document))
    tested = promtool("test", "rules", *paths)

    assert tested.returncode == 0, tested.stdout + tested.stderr
