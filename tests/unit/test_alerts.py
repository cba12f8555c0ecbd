"""Alerts fire on their conditions and stay quiet without; when they begin and end; the rules file agrees."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from db.fleet.figures import StoredFigures
from db.fleet.recent import RecentCount
from tasks.alerts.changes import AlertState, checked_alerts
from tasks.alerts.conditions import CHECKS, MODEL_FAILED, SILENT
from tasks.alerts.declared import ALERTS, rules_file
from tasks.alerts.situation import Situation
from tasks.alerts.unusual import EventShare, is_unusual
from tasks.fleet.state import FleetState, StreamState
from tasks.metrics.names import METRICS

ROOT = Path(__file__).parents[2]
AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
ALERT = {each.name: each for each in ALERTS}
STREAM = StreamState(accepted=100, entries=3, oldest_age_s=2.0, workers=2, beat_age_s=4.0, tasks_age_s=4.0)
STORED = StoredFigures(
    outbox_waiting=1,
    outbox_oldest=AT - timedelta(seconds=5),
    webhooks_waiting=1,
    webhooks_oldest=AT - timedelta(seconds=60),
    endpoints_failing=0,
    escalations_open=0,
    escalations_oldest=None,
    last_decision=AT - timedelta(seconds=1),
    longest_hold_s=3600.0,
    partitions_ahead=3,
    queue_oldest={"escalations": AT - timedelta(hours=1)},
)


def count(reason_code: str, recent: int, past: int, **more: Any) -> tuple[RecentCount, ...]:
    """Recent and past decisions of one reason."""
    values: dict[str, Any] = {"user_id": "shop", "matched_rule": "", "degraded": 0, **more}
    return tuple(
        RecentCount(recent=now, reason_code=reason_code, events=events, **values)
        for now, events in ((True, recent), (False, past))
    )


def usual(past: int = 2800) -> tuple[RecentCount, ...]:
    return count("REPLIED", 100, past)


def situation(
    stream: dict[str, Any] | None = None,
    stored: dict[str, Any] | None = None,
    counts: tuple[RecentCount, ...] = (),
    **fleet: Any,
) -> Situation:
    state = FleetState(
        at=AT, stream=replace(STREAM, **(stream or {})), stored=replace(STORED, **(stored or {})), imbalance=0
    )
    return Situation(fleet=replace(state, **fleet), counts=(*usual(), *counts), workers=2)


QUIET = situation(
    counts=(*count("LLM_ERROR", 4, 100), *count("FLAGGED_RULE", 25, 700, matched_rule="flagged_keyword:x"))
)
BEFORE, LONG_AGO = AT - timedelta(minutes=2), AT - timedelta(days=2)
FIRES = {
    "HushgateServerAway": replace(
        QUIET, fleet=replace(QUIET.fleet, stream=None, errors={"redis": "TimeoutError"})
    ),
    "HushgateNothingDecided": situation(
        stream={"oldest_age_s": 400.0}, stored={"last_decision": AT - timedelta(seconds=400)}
    ),
    "HushgateEntryTooOld": situation(stream={"oldest_age_s": 3700.0}),
    "HushgateWorkersMissing": situation(stream={"workers": 1}),
    "HushgateTasksNotRun": situation(stream={"tasks_age_s": 130.0}),
    "HushgateRedisNearlyFull": situation(stream={"memory_share": 0.8}),
    "HushgateOutboxLate": situation(stored={"outbox_oldest": BEFORE}),
    "HushgateWebhooksLate": situation(stored={"webhooks_oldest": LONG_AGO}),
    "HushgateUnmoderatedLate": situation(stored={"unmoderated_oldest": LONG_AGO}),
    "HushgateEventsLost": situation(imbalance=2),
    "HushgatePartitionsShort": situation(stored={"partitions_ahead": 1}),
    "HushgateDegraded": situation(counts=count("REPLIED", 30, 0, degraded=30)),
    "HushgateModelErrors": situation(counts=count("LLM_ERROR", 30, 100)),
    "HushgateSilentFailures": situation(counts=count("TOO_LATE", 90, 300)),
    "HushgateFrequentBlocks": situation(
        counts=count("FLAGGED_RULE", 30, 50, matched_rule="flagged_phrase:x")
    ),
    "HushgateUpstreamNotCalled": replace(QUIET, not_called=(("model", 2),)),
    "HushgateClockWrong": replace(QUIET, clocks=(("worker 1", -5.0),)),
    "HushgateBudgetSpent": situation(stored={"budgets_reached": (("shop", "day"),)}),
    "HushgateRolloutReturned": situation(stored={"rollouts_returned": ("shop",)}),
    "HushgateShadowFailed": situation(stored={"shadows_failed": 1}),
    "HushgateReviewLate": situation(stored={"queue_oldest": {"sample": LONG_AGO}}),
}


def test_every_alert_has_a_condition_here() -> None:
    """The table is total."""
    assert set(FIRES) == set(ALERT)


@pytest.mark.parametrize("name", FIRES)
def test_an_alert_fires_on_its_condition(name: str) -> None:
    """One sentence at least."""
    assert list(ALERT[name].check(FIRES[name]))


@pytest.mark.parametrize("name", FIRES)
def test_an_alert_is_quiet_on_a_usual_day(name: str) -> None:
    """With backlog, some errors and many blocks, as the past days had."""
    assert list(ALERT[name].check(QUIET)) == []


@pytest.mark.parametrize(("age_s", "since"), [(130.0, "for 130 s"), (86_400.0, "in the last day")])
def test_the_age_of_a_task_is_kept_for_a_day(age_s: float, since: str) -> None:
    """A fleet that has just started has run none: nothing is 86,400 s old."""
    found = ALERT["HushgateTasksNotRun"].check(situation(stream={"tasks_age_s": age_s}))

    assert list(found) == [f"beat sends tasks, but no worker has run one {since}"]


def test_blocks_are_compared_for_each_account_and_rule() -> None:
    """A rule that blocks more is named, although its account blocks as before."""
    found = list(
        ALERT["HushgateFrequentBlocks"].check(
            situation(
                counts=(
                    *count("FLAGGED_RULE", 5, 900, matched_rule="flagged_keyword:old"),
                    *count("FLAGGED_RULE", 40, 20, matched_rule="flagged_keyword:new"),
                )
            )
        )
    )

    assert found == [
        "account shop, rule flagged_keyword:new: 40 of 145 events blocked,"
        " 20 of 3720 in the same hours of the past week"
    ]


@pytest.mark.parametrize(
    ("recent", "past", "expected"),
    [
        ((19, 19), (0, 2800), False),
        ((20, 100), (0, 2800), True),
        ((29, 100), (280, 2800), False),
        ((31, 100), (280, 2800), True),
        ((20, 200), (0, 0), False),
        ((20, 100), (0, 0), True),
        ((85, 100), (2240, 2800), False),
        ((95, 100), (2240, 2800), True),
    ],
)
def test_a_share_is_compared_with_its_own_past(
    recent: tuple[int, int], past: tuple[int, int], expected: bool
) -> None:
    """Few decisions never fire; more traffic at the same share does not; a high usual share still can."""
    assert is_unusual(*(EventShare(matched=each[0], events=each[1]) for each in (recent, past))) == expected


def test_every_rule_has_a_condition_and_the_file_is_where_operators_look() -> None:
    """The tables are total."""
    assert [each.name for each in ALERTS] == list(CHECKS)
    assert (ROOT / "deploy" / "alerts" / "hushgate.yml").read_text() == rules_file(workers=1)


@pytest.mark.parametrize(
    ("name", "reasons"), [("HushgateModelErrors", MODEL_FAILED), ("HushgateSilentFailures", SILENT)]
)
def test_a_rule_names_the_reasons_of_its_condition(name: str, reasons: tuple[str, ...]) -> None:
    """A further reason must be added to the rules file."""
    (group,) = yaml.safe_load(rules_file(workers=1))["groups"]
    (rule,) = (each for each in group["rules"] if each["alert"] == name)
    found = set(re.findall(r'reason_code=~"([^"]+)"', rule["expr"]))

    assert found == {"|".join(sorted(reasons))}


def test_every_expression_is_promql_over_declared_metrics() -> None:
    """Parsed by the parser of GreptimeDB; the names are those of `tasks.metrics.names`."""
    served = {each.name for each in METRICS}
    (group,) = yaml.safe_load(rules_file(workers=4))["groups"]
    for rule in group["rules"]:
        promql_parser.parse(rule["expr"])
        assert set(re.findall(r"hushgate_\w+", rule["expr"])) <= served
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
    assert "hushgate_workers_alive < 4" in {rule["expr"] for rule in group["rules"]}


def test_every_alert_has_a_section_for_the_engineer() -> None:
    """The annotation of each rule links to it."""
    headings = re.findall(r"^## (.+)$", (ROOT / "docs" / "alerts.md").read_text(), re.MULTILINE)

    assert headings == [each.name for each in ALERTS]


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAME = "HushgateOutboxLate"
"""Two minutes must pass before it begins."""
AWAY = "HushgateServerAway"
FOUND = {NAME: ("late",)}
WAITS = {NAME: AlertState(since=NOW - timedelta(seconds=119))}
DUE = {NAME: AlertState(since=NOW - timedelta(seconds=120))}
POSTED = {NAME: AlertState(since=NOW - timedelta(hours=1), posted=True)}


@pytest.mark.parametrize(
    ("known", "found", "whole", "changes"),
    [
        pytest.param({}, FOUND, True, [], id="found for the first time"),
        pytest.param(WAITS, FOUND, True, [], id="not long enough"),
        pytest.param(DUE, FOUND, True, [(NAME, True)], id="long enough"),
        pytest.param(POSTED, FOUND, True, [], id="posted before"),
        pytest.param(POSTED, {}, True, [(NAME, False)], id="over"),
        pytest.param(DUE, {}, True, [], id="over before it was posted"),
        pytest.param(POSTED, {}, False, [], id="a server is away, so it may still hold"),
        pytest.param(None, {AWAY: ("x",)}, False, [(AWAY, True)], id="nothing is known, as Redis is away"),
    ],
)
def test_an_alert_is_posted_once_when_it_begins_and_once_when_it_ends(
    known: dict[str, AlertState] | None,
    found: dict[str, tuple[str, ...]],
    whole: bool,
    changes: list[tuple[str, bool]],
) -> None:
    """It begins when its condition has held for its minutes."""
    checked = checked_alerts(known, found, NOW, whole=whole)

    assert [(each.alert.name, each.firing) for each in checked.changes] == changes


def test_a_repeated_check_posts_nothing_new() -> None:
    """The states that a check leaves are the past of the next one."""
    checked = checked_alerts(DUE, FOUND, NOW, whole=True)
    kept = checked.after(frozenset(), DUE)

    assert kept == {NAME: AlertState(since=DUE[NAME].since, posted=True)}
    assert checked_alerts(kept, FOUND, NOW, whole=True).changes == ()


@pytest.mark.parametrize(("known", "found"), [(DUE, FOUND), (POSTED, {})])
def test_a_change_that_was_not_posted_is_a_change_again(
    known: dict[str, AlertState], found: dict[str, tuple[str, ...]]
) -> None:
    """Both at its begin and at its end."""
    checked = checked_alerts(known, found, NOW, whole=True)
    kept = checked.after(frozenset({NAME}), known)

    assert kept == known
    assert checked_alerts(kept, found, NOW, whole=True).changes == checked.changes
