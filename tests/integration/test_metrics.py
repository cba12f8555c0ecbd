"""Garbage in cycles leaves a worker within its interval; metrics and traces of a running one."""

from __future__ import annotations

import re
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from features import jobs
from sandbox.server import SandboxHandle
from tests.support.garbage import old_garbage
from tests.support.otlp_receiver import Received, attributes, otlp_receiver
from tests.support.running import Running, eventually, running
from tests.support.terminal import HUSHGATE, Shell
from worker.model import TraceContext


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


def test_the_command_prints_how_full_redis_is(engine: Running, shell: Shell) -> None:
    """Publishers are refused at 1."""
    engine.redis.config_set("maxmemory", 4 * engine.redis.info("memory")["used_memory"])
    try:
        share = value(shell.run("metrics").out, "hushgate_redis_memory_share")
    finally:
        engine.redis.config_set("maxmemory", 0)

    assert share is not None
    assert 0.15 < share < 0.35


def test_the_command_names_the_server_that_is_away(shell: Shell) -> None:
    """Its figures are missing; the other server's are there."""
    ended = shell.run("metrics", env={"REDIS_URL": "redis://127.0.0.1:1/0"})

    assert value(ended.out, 'hushgate_server_up{server="redis"}') == 0
    assert value(ended.out, "hushgate_stream_entries") is None
    assert value(ended.out, "hushgate_outbox_waiting") is not None
    assert ended.code == 1


def test_the_exporter_leaves_the_ports_of_the_other_processes_to_them(shell: Shell) -> None:
    """With the variables of a worker it serves at its own port, which the scrape configuration names."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        free = taken.getsockname()[1]
    words = [HUSHGATE, "metrics", "--serve", "--port", str(free)]
    environment = shell.env({"HUSHGATE_METRICS_PORT": "9110"})
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as exporter:
        assert exporter.stderr is not None
        served = orjson.loads(next(line for line in exporter.stderr if "metrics_served" in line))
        exporter.terminate()

    assert served["port"] == free


TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
DOCUMENTS = {"Hours": ["We are open from nine to six on weekdays."]}
QUESTION = "When are you open on weekdays?"


@pytest.fixture
def receiver() -> Iterator[Received]:
    """A receiver of OTLP on loopback."""
    with otlp_receiver() as found:
        yield found


def entry(engine: Running, event_id: str) -> dict[str, str]:
    """The fields of a reply's entry."""

    def look() -> dict[str, str] | None:
        stored = cast("list[tuple[bytes, dict[bytes, bytes]]]", engine.redis.xrange("hushgate:replies"))
        for _, fields in stored:
            found = {name.decode(): value.decode() for name, value in fields.items()}
            if found["key"].endswith(f"/{event_id}"):
                return found
        return None

    return cast("dict[str, str]", eventually(look, "the reply"))


def ask(engine: Running, **metadata: Any) -> str:
    """An answered question; its event id."""
    user_id = engine.account(documents=DOCUMENTS)
    event_id = engine.publish(user_id, QUESTION, metadata=metadata)
    assert engine.decided(user_id, event_id)["reason_code"] == "REPLIED"
    return event_id


def test_a_trace_goes_through_a_worker_to_the_reply(
    database_url: str, redis_url: str, sandbox: SandboxHandle, receiver: Received
) -> None:
    """The reply continues the worker's span; the receiver has spans, metrics and the evaluation."""
    with running(database_url, redis_url, sandbox, HUSHGATE_TRACES_URL=receiver.url) as engine:
        fields = entry(engine, ask(engine, traceparent=PARENT, tracestate="v=1"))
        own = entry(engine, ask(engine))
    roots = {each.trace_id.hex(): each for each in receiver.spans if each.name == "process hushgate:events"}
    names = {each.name.split()[0] for each in receiver.spans}
    searches = [each for each in receiver.spans if each.name == "retrieval"]
    body = orjson.loads(fields["data"])
    context = TraceContext.of(body)
    assert context is not None

    assert (context.trace_id, context.sampled, context.state) == (TRACE, True, "v=1")
    assert roots[TRACE].span_id.hex() == context.span_id
    assert roots[TRACE].parent_span_id.hex() == SPAN
    assert (fields["ce_traceparent"], fields["ce_tracestate"]) == (body["traceparent"], "v=1")
    assert TraceContext.of(orjson.loads(own["data"])) is not None
    assert len(roots) == 2
    assert {"process", "chat", "moderation", "retrieval", "assessment"} <= names
    assert all(attributes(each)["hushgate.passages"] == 1 for each in searches)
    assert {"gen_ai.client.operation.duration", "gen_ai.client.token.usage"} <= receiver.metrics.keys()
    assert {each.event_name for each in receiver.events} == {"gen_ai.evaluation.result"}
    assert all(each.start_time_unix_nano <= each.end_time_unix_nano for each in receiver.spans)
    assert QUESTION.encode() not in b"".join(receiver.raw)


def test_without_traces_the_publishers_context_is_passed_on(
    database_url: str, redis_url: str, sandbox: SandboxHandle, tmp_path: Path
) -> None:
    """Unchanged, as W3C asks of a service that takes no part; nothing is made up where none came.

    The worker's heartbeat files are there meanwhile, and gone afterwards.
    """
    with running(
        database_url, redis_url, sandbox, HUSHGATE_HEARTBEAT_FILE=str(tmp_path / "worker")
    ) as engine:
        eventually((tmp_path / "worker.ready").exists, "the worker to be ready")
        assert (tmp_path / "worker").exists()
        traced = entry(engine, ask(engine, traceparent=PARENT, tracestate="v=1"))
        plain = entry(engine, ask(engine))

    assert list(tmp_path.iterdir()) == []
    assert (traced["ce_traceparent"], traced["ce_tracestate"]) == (PARENT, "v=1")
    assert orjson.loads(plain["data"])["traceparent"] is None
    assert not {"ce_traceparent", "ce_tracestate"} & plain.keys()


def test_a_worker_collects_what_has_grown_old(
    monkeypatch: pytest.MonkeyPatch, database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Errors leave cycles with their tracebacks; the collector's own runs come too seldom."""
    often = (replace(job, every_s=0.05) if job.name == "garbage" else job for job in jobs.JOBS)
    monkeypatch.setattr(jobs, "JOBS", tuple(often))
    with running(database_url, redis_url, sandbox):
        found = old_garbage()
        deadline = time.monotonic() + 10
        while found() is not None and time.monotonic() < deadline:
            time.sleep(0.01)

    assert found() is None
