"""What a worker counts, and what is declared about it."""

from __future__ import annotations

import re
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from cli.deployment.metrics import HEAD
from db.fleet.figures import StoredFigures
from db.health.conservation import Balance
from tasks.fleet.state import FleetState, ShardState, StreamState
from tasks.limits.guards import Guards
from tasks.metrics import names
from tasks.metrics.endpoint import serve_metrics
from tasks.metrics.fleet import COUNTED_S, FRESH_S, FleetCollector, fleet_metrics
from tasks.metrics.names import METRICS, MetricKind, MetricSource, metrics_table
from tasks.metrics.process import ProcessMetrics, WorkerMetrics
from tasks.metrics.web import measured
from tests.support.samples import event
from worker.model import Decision, DecisionKind, Stage, StageOutcome, StageRecord, Tokens, Usage
from worker.reasons import Reason
from worker.settings import Settings
from worker.settings.calls import UpstreamKind
from worker.settings.metrics import MetricsSettings

ROOT = Path(__file__).parents[2]
AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def decision(user_id: str, reason: Reason = Reason.REPLIED, **more: object) -> Decision:
    """A decision that took one stage of 250 ms, two seconds after its entry."""
    return Decision(
        **{  # type: ignore[arg-type]  # a test's keywords
            "decision_id": None,
            "decided_at": AT + timedelta(seconds=2),
            "event": event(user_id=user_id, received_at=AT),
            "kind": DecisionKind.RESPOND,
            "reason_code": reason,
            "reason": "words of the author",
            "confidence": 1.0,
            "rules_version": 1,
            "stages": (StageRecord(stage=Stage.RULES, outcome=StageOutcome.PASSED, duration_ms=250.0),),
            **more,
        }
    )


def counted(*, accounts: int = 0) -> WorkerMetrics:
    return WorkerMetrics(ProcessMetrics("worker"), accounts=accounts)


def test_a_server_that_is_no_longer_used_has_no_breaker() -> None:
    """Its open breaker would stay open, and the alert with it: no call would close it."""
    metrics = counted()
    settings = Settings.model_validate(
        {"DATABASE_URL": "postgresql://h/d", "REDIS_URL": "redis://h", "HUSHGATE_MODEL_URL": "http://h"}
    )
    guards = Guards(settings, metrics)
    for kind, name in ((UpstreamKind.MODEL, "model"), (UpstreamKind.JUDGE, "judge")):
        guards.guard(kind, name, "m")
    guards.begin(settings)
    guards.guard(UpstreamKind.MODEL, "model", "m")
    shown = generate_latest(metrics.registry).decode()

    assert 'hushgate_breaker_state{upstream="model"} 0.0' in shown
    assert 'upstream="judge"' not in shown


def value(metrics: WorkerMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_a_decision_is_counted_with_its_reason_stages_age_and_tokens() -> None:
    """Each figure has base units and no id."""
    metrics = counted()
    spent = (("completion", Tokens(prompt=7, completion=3)), ("judge", Tokens(prompt=2, completion=1)))
    usage = tuple(Usage(purpose=name, model="m", tokens=tokens) for name, tokens in spent)
    metrics.decided(decision("shop-7", degraded=True, usage=usage))

    labels = {"decision": "respond", "reason_code": "REPLIED", "scope": "chat"}
    assert value(metrics, "hushgate_events_decided_total", **labels) == 1
    stage = {"stage": "rules", "outcome": "passed"}
    assert value(metrics, "hushgate_stage_duration_seconds_sum", **stage) == 0.25
    assert value(metrics, "hushgate_event_age_seconds_sum") == 2.0
    assert value(metrics, "hushgate_tokens_total", purpose="judge", type="prompt") == 2
    assert value(metrics, "hushgate_tokens_total", purpose="completion", type="completion") == 3
    assert value(metrics, "hushgate_degraded_total") == 1
    shown = generate_latest(metrics.registry).decode()
    assert "shop-7" not in shown
    assert "words of the author" not in shown


def test_accounts_are_named_only_when_asked_for_and_up_to_the_cap() -> None:
    """Accounts beyond the cap share one label; an account that has a label keeps it."""
    metrics = counted(accounts=2)
    for user_id in ("a", "b", "c", "d", "a"):
        metrics.decided(decision(user_id, Reason.FLAGGED_RULE))

    found = {
        name: value(metrics, "hushgate_account_events_decided_total", account=name, blocked="true")
        for name in ("a", "b", "c", "other")
    }
    assert found == {"a": 2, "b": 1, "c": None, "other": 2}


def test_requests_to_model_servers_are_counted_by_outcome() -> None:
    """Duration has no outcome: fewer series."""
    metrics = counted()
    metrics.requested("moderation", "answered", 0.2)
    metrics.requested("moderation", "timeout", 5.0)

    assert value(metrics, "hushgate_upstream_requests_total", upstream="moderation", outcome="timeout") == 1
    assert value(metrics, "hushgate_upstream_request_duration_seconds_sum", upstream="moderation") == 5.2


def test_names_follow_the_conventions_of_prometheus() -> None:
    """Counters end in _total, times are in seconds, labels hold no id."""
    for each in METRICS:
        assert re.fullmatch(r"hushgate_[a-z_]+", each.name)
        assert each.name.endswith("_total") == (each.kind is MetricKind.COUNTER)
        assert not re.search(r"_(ms|minutes|milliseconds)\b", each.name)
        assert not {"id", "event_id", "user_id", "conversation_id", "author_id"} & set(each.labels)
        assert bool(each.buckets) == (each.kind is MetricKind.HISTOGRAM)
    assert len({each.name for each in METRICS}) == len(METRICS)


def test_the_document_lists_every_metric() -> None:
    """`make schema` writes it."""
    assert (ROOT / "docs" / "metrics.md").read_text() == HEAD + metrics_table() + "\n"


def test_processes_with_one_setting_listen_on_consecutive_ports() -> None:
    """The second process of a machine takes the next free port."""
    registry = ProcessMetrics("worker").registry
    first = serve_metrics(registry, MetricsSettings(HUSHGATE_METRICS_PORT=0))
    assert first is not None
    second = serve_metrics(registry, MetricsSettings(HUSHGATE_METRICS_PORT=first.port))
    assert second is not None
    try:
        assert second.port > first.port
        with urllib.request.urlopen(f"http://127.0.0.1:{second.port}/metrics") as answer:
            assert b'hushgate_build_info{process="worker"' in answer.read()
    finally:
        first.close()
        second.close()


def test_without_a_port_nothing_is_served() -> None:
    """Metrics are off by default."""
    assert serve_metrics(ProcessMetrics("worker").registry, MetricsSettings()) is None


def test_an_address_of_another_machine_is_no_reason_to_stop() -> None:
    """The process runs without its metrics."""
    settings = MetricsSettings(HUSHGATE_METRICS_PORT=0, HUSHGATE_METRICS_HOST="192.0.2.1")

    assert serve_metrics(ProcessMetrics("worker").registry, settings) is None


def test_requests_of_pages_are_counted_by_class_of_status() -> None:
    """A path is no label: it holds ids."""
    registry = ProcessMetrics("review").registry
    pages = Starlette(routes=[Route("/one", lambda _: PlainTextResponse("one"))])
    with TestClient(measured(pages, registry)) as client:
        client.get("/one")
        client.get("/decisions/0193")

    assert registry.get_sample_value("hushgate_http_requests_total", {"status": "2xx"}) == 1
    assert registry.get_sample_value("hushgate_http_requests_total", {"status": "4xx"}) == 1
    assert b"0193" not in generate_latest(registry)


SHARDS = (ShardState(name="s:0/2", up=True, entries=3, oldest_age_s=12.5), ShardState(name="s:1/2"))
STREAM = StreamState(
    accepted=10, entries=3, oldest_age_s=12.5, beat_age_s=4.0, tasks_age_s=4.0, workers=2, shards=SHARDS
)
STORED = StoredFigures(
    outbox_waiting=4,
    outbox_oldest=AT - timedelta(seconds=90),
    webhooks_waiting=0,
    webhooks_oldest=None,
    endpoints_failing=1,
    escalations_open=2,
    escalations_oldest=AT - timedelta(hours=1),
    last_decision=AT - timedelta(seconds=5),
    longest_hold_s=3600.0,
    partitions_ahead=3,
    queue_oldest={"escalations": AT - timedelta(hours=2)},
)


def state(**changes: object) -> FleetState:
    return FleetState(**{"at": AT, "stream": STREAM, "stored": STORED, "imbalance": 0, **changes})  # type: ignore[arg-type]


def samples(found: FleetState) -> dict[str, float]:
    every = [each for metric in fleet_metrics(found) for each in metric.samples]
    return {each.name: each.value for each in every if not each.labels}


def test_the_exporter_shows_every_fleet_metric() -> None:
    """Each declared one, and no other."""
    served = {metric.name for metric in fleet_metrics(state())}

    assert served == {each.name for each in METRICS if each.source is MetricSource.FLEET}
    up = next(each for each in fleet_metrics(state()) if each.name == names.SHARD_UP.name)
    assert [(each.labels["shard"], each.value) for each in up.samples] == [("s:0/2", 1.0), ("s:1/2", 0.0)]
    assert samples(state())["hushgate_outbox_oldest_age_seconds"] == 90.0
    assert samples(state())["hushgate_webhooks_oldest_age_seconds"] == 0.0


@pytest.mark.parametrize(
    ("missing", "name"), [("stream", names.STREAM_ENTRIES), ("stored", names.OUTBOX_WAITING)]
)
def test_a_server_that_did_not_answer_shows_no_figures(missing: str, name: names.MetricSpec) -> None:
    """A missing figure is not 0."""
    assert name.name in samples(state())
    assert name.name not in samples(state(**{missing: None, "imbalance": None}))


def test_whole_tables_are_counted_at_most_once_in_five_minutes() -> None:
    """Scrapes in between repeat the count; scrapes at the same time read nothing."""
    now, loads = [0.0], []

    def load(count_all: bool) -> FleetState:
        loads.append(count_all)
        return state(imbalance=5 if count_all else None)

    collector = FleetCollector(load, lambda: now[0])
    shown = []
    for at_s in (0.0, FRESH_S / 2, FRESH_S + 1, COUNTED_S + 1):
        now[0] = at_s
        shown += [each.samples[0].value for each in collector.collect() if "imbalance" in each.name]

    assert loads == [True, False, True]
    assert shown == [5.0, 5.0, 5.0, 5.0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 0),
        ({"accepted": 12}, 2),
        ({"decided": 6, "audited": 6, "unfinished": 5}, 0),
        ({"audited": 6}, 1),
        ({"audited": 8, "checks": 3}, 0),
        ({"audited": 7, "checks": 3}, 1),
    ],
)
def test_imbalance_counts_lost_and_repeated_entries_only(changes: dict[str, int], expected: int) -> None:
    """An entry between its commit and its FINISH is neither, and a check has no entry."""
    zeros = dict.fromkeys(("checks", "purged", "purged_keys", "purged_audit", "replies"), 0)
    found = {"accepted": 10, "unfinished": 4, "decided": 5, "audited": 5, "duplicates": 1, "buried": 0}

    assert Balance(**{**zeros, **found, **changes}).imbalance == expected
