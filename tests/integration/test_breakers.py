"""Breakers and places of a running worker, on a model server that fails or hangs."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from cli.events import publish
from sandbox.server import SandboxHandle
from tasks.limits import guards
from tasks.limits.upstream_limits import UpstreamLimits
from tasks.limits.upstream_reports import UpstreamReporter
from tasks.shards.clients import connect
from tests.support.running import Running, eventually, running
from tests.support.samples import body_of
from tests.support.terminal import shell_at
from worker.adapters.call_guard import CallGuard, Trouble, Upstream
from worker.adapters.circuit_breaker import BreakerLimits, CircuitBreaker
from worker.adapters.system_clock import SystemClock
from worker.adapters.vendor_failures import trouble_of
from worker.model import AttemptOutcome
from worker.places import Places

QUESTION = "When are you open on weekdays?"
HOURS = {"Hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
JUDGED = {"name": "guardrail", "initial_similarity": 0.0}


@pytest.fixture
def engine(
    database_url: str, redis_url: str, sandbox: SandboxHandle, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Running]:
    """A worker whose breakers open soon and whose judge may take one place."""
    short = BreakerLimits(failures=3, first_pause_s=0.3, longest_pause_s=0.3)
    monkeypatch.setattr(guards, "BREAKER", short)
    with running(
        database_url,
        redis_url,
        sandbox,
        HUSHGATE_METRICS_PORT="0",
        HUSHGATE_IN_FLIGHT="6",
        HUSHGATE_CONCURRENT_CALLS='{"judge": 1}',
        HUSHGATE_MODEL_ATTEMPTS="1",
        HUSHGATE_MODEL_TIMEOUT_S="3",
    ) as found:
        yield found


@pytest.fixture
def long_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first failure opens a breaker for longer than a test waits."""
    long = BreakerLimits(failures=1, first_pause_s=8.0, longest_pause_s=8.0)
    monkeypatch.setattr(guards, "BREAKER", long)


def series(engine: Running, name: str) -> float:
    """A figure that the worker serves now; 0 for none."""
    url = f"http://127.0.0.1:{engine.runtime.metrics_port}/metrics"
    with urllib.request.urlopen(url) as answer:
        found = re.search(rf"^{re.escape(name)} (\S+)$", answer.read().decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


def outcomes(row: dict[str, Any]) -> list[str]:
    """How the attempts of a decision ended."""
    return [each["outcome"] for each in row["snapshot_json"]["attempts"]]


def test_an_open_breaker_spares_the_model_and_closes_after_a_probe(engine: Running, tmp_path: Path) -> None:
    """Events end as in an outage, without a call; doctor and metrics name the upstream; then it recovers."""
    user_id = engine.account(documents=HOURS)
    engine.sandbox.add_rule("chat", "503")
    failed = [engine.decide(user_id, QUESTION) for _ in range(3)]
    open_state = series(engine, 'hushgate_breaker_state{upstream="model"}')
    spared = eventually(  # on a slow machine the pause may be over, and a probe is made
        lambda: (row := engine.decide(user_id, QUESTION)) and outcomes(row) == ["circuit_open"] and row,
        "an event that spares the model",
    )
    keys = {"OPENAI_API_KEY": "sandbox", "OPENROUTER_API_KEY": "sandbox"}
    shell = shell_at(tmp_path, DATABASE_URL=engine.url, REDIS_URL=engine.redis_url, **keys)
    told = eventually(
        lambda: (
            [
                each
                for each in shell.run("doctor", "--offline").rows
                if each["check"] == "upstream model" and each["state"] == "warn"
            ]
        ),
        "doctor's warning",
    )
    engine.sandbox.reset()
    answered = eventually(
        lambda: (row := engine.decide(user_id, QUESTION)) and row["reason_code"] == "REPLIED" and row,
        "a reply after the probe",
    )

    assert {row["reason_code"] for row in (*failed, spared)} == {"LLM_ERROR"}
    assert open_state in {1.0, 2.0}
    assert "breaker open in 1" in told[0]["found"]
    assert series(engine, 'hushgate_breaker_state{upstream="model"}') == 0
    assert series(engine, 'hushgate_upstream_not_called_total{upstream="model",why="circuit_open"}') >= 1
    assert answered["decision"] == "respond"


def test_a_held_event_is_explained_by_the_server_that_holds_it(
    engine: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server without a moderation API: publish, explain and doctor name the status and both remedies."""
    monkeypatch.setattr(publish, "QUIET_S", 0.5)
    user_id = engine.account(documents=HOURS)
    engine.sandbox.add_rule("moderations", "404")
    keys = {"OPENAI_API_KEY": "sandbox", "OPENROUTER_API_KEY": "sandbox"}
    shell = shell_at(tmp_path, DATABASE_URL=engine.url, REDIS_URL=engine.redis_url, **keys)
    engine.publish(user_id, QUESTION, event_id="held")
    explained = eventually(
        lambda: (row := shell.run("explain", "held").rows[0]) and row["problem"] and row,
        "the worker's report",
    )
    line = json.dumps(body_of("second", user_id=user_id, text=QUESTION, conversation_id="c2"))
    waited = shell.run("publish", "-", "--wait", "--timeout", "1", stdin=line.encode())
    ended = shell.run("doctor", "--offline")
    (checked,) = [each for each in ended.rows if each["check"] == "upstream moderation"]
    engine.sandbox.reset()
    answered = engine.decided(user_id, "held")
    (later,) = shell.run("explain", "held").rows
    again = json.dumps(body_of("answered", user_id=user_id, text=QUESTION))
    decided = shell.run("publish", "-", "--wait", "--raw", stdin=f"{again}\nnonsense".encode())

    assert (waited.code, waited.rows[0]["unfinished"]) == (1, 1)
    for shown in (waited.err, explained["problem"]):
        assert "moderation: misconfigured, HTTP 404; " in shown
        assert "HUSHGATE_MODERATION_URL" in shown
        assert "HUSHGATE_MODERATION=off" in shown
    assert waited.err.count("moderation: misconfigured") == 1
    assert (ended.code, checked["state"]) == (1, "fail")
    assert "misconfigured, HTTP 404; " in checked["found"]
    assert checked["found"].endswith(" events wait in workers")
    assert "HUSHGATE_MODERATION=off" in checked["fix"]
    assert (answered["reason_code"], later["problem"]) == ("REPLIED", "")
    assert (decided.code, decided.rows) == (0, [{"published": 2, "skipped": 0, "unfinished": 0}])
    assert "answered: respond because REPLIED: " in decided.err
    assert "nine to six on weekdays" in decided.err.split("  sent: ")[1]
    assert ": dead letter, not_json: " in decided.err


async def test_the_cause_of_a_hold_is_logged_each_minute(redis_url: str) -> None:
    """With the number of held events; never without one, and no more when the server answers."""
    upstream = Upstream(name="moderation", url="http://127.0.0.1", key_id="none", model="m")
    guard = CallGuard(
        upstream=upstream,
        breaker=CircuitBreaker(BreakerLimits()),
        places=Places(1),
        trouble_of=trouble_of,
        limits=UpstreamLimits(SystemClock(lambda: datetime.now(UTC)), {}, longest_pause_s=1.0),
    )
    trouble, now_s, held = Trouble(AttemptOutcome.MISCONFIGURED, 404), 0.0, 0
    async with connect(redis_url) as redis:
        reporter = UpstreamReporter(
            redis=redis,
            stream="s",
            worker="w",
            guards=(guard,),
            ahead_s=lambda: 0.0,
            held=lambda: held,
            now_s=lambda: now_s,
        )
        lines = []
        for now_s, held, guard.trouble in (  # noqa: B007  # read by the lambdas
            (0.0, 0, trouble),
            (2.0, 3, trouble),
            (60.0, 3, trouble),
            (62.0, 4, trouble),
            (64.0, 0, None),
            (66.0, 1, trouble),
        ):
            with capture_logs() as logged:
                await reporter.report()
            lines.append([each["held"] for each in logged if each["event"] == "events_held"])

    assert lines == [[], [3], [], [4], [], [1]]


def test_a_judge_that_hangs_takes_no_places_from_moderation_and_completions(engine: Running) -> None:
    """Six events may run, eight wait for the judge: others are answered long before its time limit."""
    judged = engine.account(documents=HOURS, assessment_policy=JUDGED)
    plain = engine.account(documents=HOURS, assessment_policy={"name": "validators"})
    engine.sandbox.add_rule("judge", "hang")
    waiting = [engine.publish(judged, QUESTION) for _ in range(8)]
    eventually(lambda: series(engine, 'hushgate_upstream_calls{upstream="judge"}') == 1, "the judge's call")
    answered = [engine.decide(plain, QUESTION) for _ in range(6)]
    still_hangs = series(engine, 'hushgate_upstream_calls{upstream="judge"}') == 1
    engine.sandbox.reset()
    ended = [engine.decided(judged, each) for each in waiting]

    assert {row["reason_code"] for row in answered} == {"REPLIED"}
    assert still_hangs
    assert len(ended) == 8
    assert series(engine, 'hushgate_upstream_not_called_total{upstream="judge",why="busy"}') >= 1


@pytest.mark.usefixtures("long_pause")
@pytest.mark.parametrize(("policy", "reason"), [("allow", "REPLIED"), ("block", "MODERATION_UNAVAILABLE")])
def test_behind_an_open_breaker_no_event_waits_for_moderation(
    database_url: str,
    redis_url: str,
    sandbox: SandboxHandle,
    policy: str,
    reason: str,
) -> None:
    """The pause until the next probe is long; the account's failure policy decides at once."""
    with running(database_url, redis_url, sandbox) as engine:
        user_id = engine.account(documents=HOURS, moderation_failure=policy)
        engine.sandbox.add_rule("moderations", "503")
        engine.decide(user_id, QUESTION)
        spared = engine.decide(user_id, QUESTION)
        engine.sandbox.reset()
    waits = [each["waited_s"] for each in spared["snapshot_json"]["attempts"]]

    assert spared["reason_code"] == reason
    assert set(outcomes(spared)) - {"completed"} == {"circuit_open"}
    assert sum(waits) == 0


@pytest.mark.usefixtures("long_pause")
def test_behind_an_open_breaker_the_model_has_its_own_pauses(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """Its retries do not wait for the next probe."""
    with running(database_url, redis_url, sandbox) as engine:
        user_id = engine.account(documents=HOURS)
        engine.sandbox.add_rule("chat", "503")
        engine.decide(user_id, QUESTION)
        spared = engine.decide(user_id, QUESTION)
        engine.sandbox.reset()

    assert spared["reason_code"] == "LLM_ERROR"
    assert set(outcomes(spared)) == {"circuit_open"}
    assert sum(each["waited_s"] for each in spared["snapshot_json"]["attempts"]) < 1
