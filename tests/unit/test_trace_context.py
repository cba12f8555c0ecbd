"""W3C Trace Context: what is accepted of a publisher and how it is passed on."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.support.samples import NOW, body_of
from worker.model import Event, TraceContext, trace_headers
from worker.payload import Arrival, parse

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
