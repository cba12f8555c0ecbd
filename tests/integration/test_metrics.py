"""Metrics of a running worker, and the exporter on real servers."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator

import pytest

from sandbox.server import SandboxHandle
from tests.support.running import Running, eventually, running
from tests.support.terminal import Shell


@pytest.fixture
def engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A worker that serves its metrics at a free port."""
    with running(database_url, redis_url, sandbox, HUSHGATE_METRICS_PORT="0") as found:
        yield found


def scraped(engine: Running) -> str:
    url = f"http://127.0.0.1:{engine.runtime.metrics_port}/metrics"
    with urllib.request.urlopen(url) as answer:
        return str(answer.read().decode())


def value(text: str, series: str) -> float | None:
    found = re.search(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else None


def test_a_worker_serves_what_it_decided_and_asked(engine: Running) -> None:
    """Decisions, requests to model servers, tokens, replies and dead letters; no text and no id."""
    user_id = engine.account(documents={"Hours": ["We are open from nine to six on weekdays."]})
    engine.decide(user_id, "When are you open on weekdays, zanzibar?")
    engine.redis.xadd("hushgate:events", {"data": "not json"})
    eventually(lambda: engine.row("SELECT 1 FROM dead_letters"), "the dead letter")
    text = eventually(
        lambda: (
            (found := scraped(engine))
            and value(found, 'hushgate_dead_letters_total{reason_code="not_json"}')
            and "hushgate_replies_delivered_total 1.0" in found
            and found
        ),
        "the figures",
    )

    decided = 'hushgate_events_decided_total{decision="respond",reason_code="REPLIED",scope="chat"}'
    assert value(text, decided) == 1
    assert value(text, 'hushgate_upstream_requests_total{outcome="answered",upstream="model"}') == 2
    assert value(text, 'hushgate_upstream_requests_total{outcome="answered",upstream="moderation"}') == 2
    assert (value(text, 'hushgate_tokens_total{purpose="completion",type="prompt"}') or 0) > 0
    assert value(text, 'hushgate_stage_duration_seconds_count{outcome="passed",stage="generation"}') == 1
    assert value(text, "hushgate_in_flight_limit") == 1000
    assert value(text, "hushgate_storage_open") == 1
    assert user_id not in text
    assert "zanzibar" not in text


def test_a_held_event_and_its_failed_calls_are_visible_before_it_is_decided(engine: Running) -> None:
    """During an outage nothing is decided; the metrics show why."""
    user_id = engine.account()
    engine.sandbox.add_rule("moderations", "503")
    event_id = engine.publish(user_id, "Hello")
    held = eventually(
        lambda: "hushgate_moderation_held 1.0" in (found := scraped(engine)) and found, "the held event"
    )
    engine.sandbox.reset()
    engine.decided(user_id, event_id)

    series = 'hushgate_upstream_requests_total{outcome="server_error",upstream="moderation"}'
    assert (value(held, series) or 0) >= 1
    eventually(lambda: "hushgate_moderation_held 0.0" in scraped(engine), "the end of the hold")


def test_the_command_prints_the_figures_of_the_fleet(engine: Running, shell: Shell) -> None:
    """One worker; the endings of other streams, which this Redis has never had, are an imbalance."""
    others = engine.row("SELECT (SELECT count(*) FROM event_keys) + (SELECT count(*) FROM dead_letters) AS n")
    engine.decide(engine.account(), "Hello")
    eventually(lambda: engine.redis.xlen("hushgate:events") == 0, "the end of the entry")
    ended = shell.run("metrics")

    assert value(ended.out, "hushgate_workers_alive") == 1
    assert others is not None
    assert value(ended.out, "hushgate_conservation_imbalance") == others["n"]
    assert value(ended.out, 'hushgate_server_up{server="postgres"}') == 1
    assert ended.code == 0


def test_the_command_names_the_server_that_is_away(shell: Shell) -> None:
    """Its figures are missing; the other server's are there."""
    ended = shell.run("metrics", env={"REDIS_URL": "redis://127.0.0.1:1/0"})

    assert value(ended.out, 'hushgate_server_up{server="redis"}') == 0
    assert value(ended.out, "hushgate_stream_entries") is None
    assert value(ended.out, "hushgate_outbox_waiting") is not None
    assert ended.code == 1
