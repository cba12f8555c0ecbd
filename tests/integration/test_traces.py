"""A trace through a running worker: from the event's metadata to the reply, the webhook and the receiver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from sandbox.server import SandboxHandle
from tests.support.otlp_receiver import Received, attributes, otlp_receiver
from tests.support.running import Running, eventually, running
from worker.model import TraceContext

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
