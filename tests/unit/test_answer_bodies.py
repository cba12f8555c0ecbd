"""Bodies of answers that are not plain JSON: frames of events, and what looks like them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.adapters.answer_bodies import answer_value

DELTAS = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "delta", "index", "content", "tool_calls", "function", "arguments"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def event(value: Any) -> bytes:
    """One event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def piece(text: str, **more: Any) -> bytes:
    """A chunk of a completion."""
    return event({"model": "m", "choices": [{"delta": {"content": text}, **more}]})


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1}\n\ndata: [DONE]\n\n',
        b': waiting\r\n\r\n{"a": 1}',
        b'event: message\nid: 7\nretry: 10\ndata: {"a": 1}\n\ndata: [DONE]\n',
        b'data:{"a": 1}\rdata:[DONE]',
        b'\xef\xbb\xbf{"a": 1}',
    ],
)
def test_a_frame_around_a_value_is_removed(body: bytes) -> None:
    """The value is as it would be without the frame."""
    assert answer_value(body) == {"a": 1}


def test_pieces_are_joined_in_order() -> None:
    """A separator of lines inside a text ends no event; the first choice counts."""
    other = event({"choices": [{"index": 1, "delta": {"content": "Other."}}]})
    found = answer_value(
        piece("Open\u2028") + other + piece("today.", finish_reason="stop") + event({"choices": []})
    )

    assert (found["model"], found["choices"][0]["finish_reason"]) == ("m", "stop")
    assert found["choices"][0]["message"]["content"] == "Open\u2028today."


@pytest.mark.parametrize(("end", "reason"), [(b"", "incomplete"), (b"data: [DONE]\n\n", None)])
def test_a_stream_without_reason_and_end_is_cut(end: bytes, reason: str | None) -> None:
    """A connection that broke off would otherwise look like a whole answer."""
    assert answer_value(piece("We are open.") + end)["choices"][0]["finish_reason"] == reason


def call(arguments: str, call_id: str | None = None, name: str | None = None) -> dict[str, Any]:
    """A piece of a call at the first index."""
    return {"index": 0, "id": call_id, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        # litellm#21331, dynamo#4723
        ([call('{"a":', "x", "f"), call("1}"), call('{"b"', "y", "g"), call(":2}")], ['{"a":1}', '{"b":2}']),
        ([call('{"a":1}', None, "f"), call('{"b":2}', None, "f")], ['{"a":1}', '{"b":2}']),  # unsloth#9807
        ([call("", "x", "f"), call("", "y", "g"), call('{"b":2}', "y")], ["", '{"b":2}']),
        ([call('{"a"', "x", "f"), call(":1}", "y"), call("", "z")], ['{"a":1}']),  # vllm: an id each piece
        ([call('{"a"', None, "f"), call(":1}", None, "f")], ['{"a":1}']),
        ([call('{"a":1}', "x", "f"), call('{"a":1}', "x", "f")], ['{"a":1}{"a":1}']),
    ],
)
def test_calls_at_one_index_are_apart(pieces: list[Any], expected: list[str]) -> None:
    """A piece with a name or a new object begins another call where the one before it is whole."""
    body = b"".join(event({"choices": [{"delta": {"tool_calls": [each]}}]}) for each in pieces)
    calls = answer_value(body)["choices"][0]["message"]["tool_calls"]

    assert [each["arguments"] for each in calls] == expected


@pytest.mark.parametrize("body", [b"", b" \n\n ", b"Hello", b"data: Hello", b"data: [DONE]", b": waiting"])
def test_what_holds_no_value_is_refused(body: bytes) -> None:
    """It is a failed attempt."""
    with pytest.raises(ValueError):  # of several readers
        answer_value(body)


@given(st.lists(DELTAS, min_size=1, max_size=4))
def test_any_events_are_a_value_or_refused(values: list[Any]) -> None:
    """No shape of an event is a defect."""
    try:
        answer_value(b"".join(event(each) for each in values) + b"data: [DONE]\n\n")
    except ValueError:
        return
