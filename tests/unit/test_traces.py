"""W3C Trace Context of publishers, and traces as a receiver gets them: no text unless wanted, no waiting."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from tasks.tracing import otlp
from tasks.tracing.otlp import OtlpTraces
from tasks.tracing.start import IMPLEMENTATION, start_traces
from tests.support.otlp_receiver import Received, attributes, otlp_receiver
from tests.support.samples import NOW, body_of, event
from tests.unit.test_pipeline import ANSWER, World
from worker.errors import ConfigurationError, ModelUnavailable
from worker.model import Decision, Event, TraceContext, trace_headers
from worker.payload import Arrival, parse
from worker.settings import Settings

BASE = {
    "DATABASE_URL": "postgresql://h/d",
    "REDIS_URL": "redis://h",
    "OPENAI_API_KEY": "k",
    "OPENROUTER_API_KEY": "k",
    "HUSHGATE_MODEL": "asked-model",
}
TEXT = "When are you open?"
IDS = ("acme", "c1-id", "e1-id", "a1-id", "m1-id")


@pytest.fixture
def receiver() -> Iterator[Received]:
    """A receiver of OTLP on loopback."""
    with otlp_receiver() as found:
        yield found


def settings(url: str, **more: str) -> Settings:
    """Settings of a worker that sends traces."""
    return Settings.model_validate({**BASE, "HUSHGATE_TRACES_URL": url, **more})


def asked(**metadata: Any) -> Any:
    """A message with ids that can be searched for."""
    ids = {"event_id": "e1-id", "conversation_id": "c1-id", "author_id": "a1-id", "message_id": "m1-id"}
    return event(text=TEXT, metadata=metadata, **ids)


def sent(url: str, *decisions: Decision, **more: str) -> list[Decision]:
    """Send decisions as a handler does; the decisions with their contexts."""
    traces = OtlpTraces(settings(url, **more))
    made = [replace(each, trace=traces.context(each)) for each in decisions]
    for each in made:
        traces.decided(each)
    traces.close()
    return made


def named(receiver: Received, name: str) -> list[Any]:
    """The spans of a name, as they began."""
    found = [each for each in receiver.spans if each.name == name]
    return sorted(found, key=lambda each: each.start_time_unix_nano)


async def test_a_decision_is_a_span_below_the_publishers_with_its_stages_and_calls(
    receiver: Received,
) -> None:
    """Names and parents as the conventions have them."""
    (made,) = sent(receiver.url, await World().decide(asked(traceparent=PARENT, tracestate="v=1")))
    (root,) = named(receiver, "process hushgate:events")
    (generation,) = named(receiver, "generation")
    (chat,) = named(receiver, "chat m")
    (retrieval,) = named(receiver, "retrieval")
    moderation = named(receiver, "moderation fake")
    found = attributes(chat)

    assert root.trace_id.hex() == TRACE
    assert root.parent_span_id.hex() == SPAN
    assert made.trace is not None
    assert (made.trace.span_id, made.trace.flags, made.trace.state) == (root.span_id.hex(), 1, "v=1")
    assert attributes(root)["hushgate.reason_code"] == "REPLIED"
    assert generation.parent_span_id == root.span_id
    assert chat.parent_span_id == generation.span_id
    assert attributes(retrieval)["gen_ai.operation.name"] == "retrieval"
    assert len(moderation) == 2
    assert {each.parent_span_id for each in moderation} == {
        named(receiver, name)[0].span_id for name in ("moderation", "moderation_reply")
    }
    assert found["gen_ai.operation.name"] == "chat"
    assert found["gen_ai.provider.name"] == "openrouter"
    assert (found["gen_ai.request.model"], found["gen_ai.response.model"]) == ("asked-model", "m")
    assert (found["server.address"], found["server.port"]) == ("openrouter.ai", 443)
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (7, 3)
    assert found["gen_ai.response.finish_reasons"] == ["stop"]
    assert len({each.span_id for each in receiver.spans}) == len(receiver.spans)


async def test_an_assessment_is_an_evaluation_of_the_completion(receiver: Received) -> None:
    """An event with the policy's name, score and tier, in the trace of the call that it judges."""
    (made,) = sent(receiver.url, await World().decide(asked()))
    (record,) = receiver.events
    (chat,) = named(receiver, "chat m")
    assert made.assessment is not None

    assert record.event_name == "gen_ai.evaluation.result"
    assert (record.trace_id, record.span_id) == (chat.trace_id, chat.span_id)
    assert attributes(record) == {
        "gen_ai.evaluation.name": made.assessment.policy,
        "gen_ai.evaluation.score.value": made.assessment.confidence,
        "gen_ai.evaluation.score.label": made.assessment.tier.value,
    }


async def test_failed_calls_have_their_time_and_their_error(receiver: Received) -> None:
    """A retry waits two seconds: the second call begins after it."""
    down = ModelUnavailable("down", kind="rate_limited")
    sent(receiver.url, await World(model=[down, ANSWER]).decide(asked()))
    (failed,) = named(receiver, "chat")
    (answered,) = named(receiver, "chat m")

    assert attributes(failed)["error.type"] == "rate_limited"
    assert "gen_ai.response.model" not in attributes(failed)
    assert failed.status.code == 2
    assert answered.status.code == 0
    assert (answered.start_time_unix_nano - failed.end_time_unix_nano) / 1e9 == pytest.approx(2.0, abs=0.001)


async def test_metrics_of_the_conventions_count_every_call(receiver: Received) -> None:
    """Also those of decisions that are not sampled."""
    sent(receiver.url, await World().decide(asked()), HUSHGATE_TRACES_RATIO="0")
    durations = receiver.metrics["gen_ai.client.operation.duration"]
    usage = receiver.metrics["gen_ai.client.token.usage"]
    by_type = {
        attributes(each)["gen_ai.token.type"]: (each.count, each.sum) for each in usage.histogram.data_points
    }
    calls = {
        attributes(each)["gen_ai.operation.name"]: each.count for each in durations.histogram.data_points
    }

    assert receiver.spans == []
    assert receiver.events == []
    assert (durations.unit, usage.unit) == ("s", "{token}")
    assert calls == {"chat": 1, "moderation": 2}
    assert by_type == {"input": (1, 7), "output": (1, 3)}


async def test_the_publishers_sampling_decides(receiver: Received) -> None:
    """Whatever the ratio says: it counts only where no context came."""
    quiet = asked(traceparent=PARENT[:-1] + "0")
    loud = asked(traceparent=PARENT)
    (unsampled,) = sent(receiver.url, await World().decide(quiet), HUSHGATE_TRACES_RATIO="1")
    before = len(receiver.spans)
    (sampled,) = sent(receiver.url, await World().decide(loud), HUSHGATE_TRACES_RATIO="0")
    assert unsampled.trace is not None
    assert sampled.trace is not None

    assert (before, unsampled.trace.flags, unsampled.trace.trace_id) == (0, 0, TRACE)
    assert sampled.trace.flags == 1
    assert receiver.spans != []


async def test_neither_texts_nor_ids_are_sent_unless_wanted(receiver: Received) -> None:
    """By default nothing of the message, the reply, the passages or the ids is in any byte."""
    decision = await World().decide(asked())
    sent(receiver.url, decision)
    plain = b"".join(receiver.raw)
    sent(receiver.url, decision, HUSHGATE_TRACES_CONTENT="ids")
    with_ids = b"".join(receiver.raw)[len(plain) :]
    sent(receiver.url, decision, HUSHGATE_TRACES_CONTENT="texts")
    (*_, root) = named(receiver, "process hushgate:events")

    assert not [each for each in (*IDS, "When are you", "nine to six") if each.encode() in plain]
    assert b"c1-id" in with_ids
    assert b"When are you" not in with_ids
    assert b"nine to six" not in with_ids
    assert TEXT in attributes(root)["gen_ai.input.messages"]
    assert decision.reply is not None
    assert decision.reply in attributes(root)["gen_ai.output.messages"]
    assert "gen_ai.evaluation.explanation" in attributes(receiver.events[-1])


async def test_ids_follow_from_the_decision(receiver: Received) -> None:
    """A commit that is repeated after a crash names the same span."""
    decision = await World().decide(asked())
    first, again = sent(receiver.url, decision, decision)
    (other,) = sent(receiver.url, replace(decision, decision_id=type(decision.decision_id)(int=99)))

    assert first.trace == again.trace != other.trace


async def test_a_receiver_that_hangs_does_not_keep_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connections are accepted and never answered; closing gives up."""
    monkeypatch.setattr(otlp, "CLOSE_S", 0.2)
    decision = await World().decide(asked())
    with socket.create_server(("127.0.0.1", 0)) as server:
        started = time.monotonic()
        sent(f"http://127.0.0.1:{server.getsockname()[1]}", decision)
        took_s = time.monotonic() - started

    assert took_s < 2.0


@pytest.mark.slow
def test_nothing_of_it_is_imported_unless_wanted() -> None:
    """A worker without a receiver runs where the extra is not installed."""
    script = (
        "import sys\n"
        "for name in ('opentelemetry', 'google.protobuf', 'requests'): sys.modules[name] = None\n"
        "import tasks.runtime\n"
        "from tasks.tracing.start import start_traces\n"
        "from worker.settings import Settings\n"
        f"base = {BASE!r}\n"
        "assert start_traces(Settings.model_validate(base)) is None\n"
        "try: start_traces(Settings.model_validate({**base, 'HUSHGATE_TRACES_URL': 'http://h'}))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.stderr == ""
    assert done.stdout.startswith(
        "ConfigurationError HUSHGATE_TRACES_URL: expected the extra hushgate[traces] (pip install"
    )


def test_an_error_inside_the_modules_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the module that is missing."""
    for name in (IMPLEMENTATION, "tasks.tracing.names"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(ConfigurationError, match="opentelemetry"):
        start_traces(settings("http://127.0.0.1:1"))


TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    ("parent", "flags"),
    [
        (PARENT, 1),
        (f"00-{TRACE}-{SPAN}-00", 0),
        (f"00-{TRACE}-{SPAN}-03", 3),
        (f"00-{TRACE}-{SPAN}-fd", 1),
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later", 1),
    ],
)
def test_a_valid_context_is_read(parent: str, flags: int) -> None:
    """Versions to come may have more parts; unknown flags are not passed on."""
    found = TraceContext.of({"traceparent": parent})

    assert found == TraceContext(trace_id=TRACE, span_id=SPAN, flags=flags)


@pytest.mark.parametrize(
    "parent",
    [
        None,
        7,
        "",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"{PARENT}-more",
        f"{PARENT}\r\nX-Injected: 1",
        f" {PARENT}",
    ],
)
def test_an_invalid_context_is_none(parent: Any) -> None:
    """Nothing of it reaches a header or a span."""
    assert TraceContext.of({"traceparent": parent, "tracestate": "a=b"}) is None
    assert trace_headers({"traceparent": parent, "tracestate": "a=b"}) == {}


@pytest.mark.parametrize(
    ("state", "kept"),
    [
        ("vendor=x1,other@tenant=y", "vendor=x1,other@tenant=y"),
        ("vendor=a\r\nX-Injected: 1", ""),
        ("vendor", ""),
        ("v=" + "x" * 600, ""),
        ({"a": "b"}, ""),
    ],
)
def test_an_invalid_tracestate_is_dropped_alone(state: Any, kept: str) -> None:
    """The trace goes on without it."""
    headers = trace_headers({"traceparent": PARENT, "tracestate": state})

    assert headers == {"traceparent": PARENT} | ({"tracestate": kept} if kept else {})


def read(envelope: dict[str, Any], **metadata: Any) -> Event:
    """The event of a CloudEvents envelope."""
    body = body_of("e1", created_at=NOW.isoformat(), **({"metadata": metadata} if metadata else {}))
    cloud = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "message", "data": body}
    arrival = Arrival(entry_id="1-0", size_bytes=1, received_at=NOW)
    return parse(orjson.dumps(cloud | envelope), arrival)


def test_attributes_of_a_cloudevent_are_the_context_unless_its_metadata_has_one() -> None:
    """The extension Distributed Tracing; the other metadata stays."""
    attributes = {"traceparent": PARENT, "tracestate": "v=1"}
    other = f"00-{'1' * 32}-{SPAN}-01"
    taken = read(attributes, shelf="7").metadata
    own = read(attributes, traceparent=other).metadata

    assert taken == {"shelf": "7", **attributes}
    assert own == {"traceparent": other}
    assert read({"tracestate": "v=1"}).metadata == {}
    assert read({"traceparent": 7}).metadata == {}
