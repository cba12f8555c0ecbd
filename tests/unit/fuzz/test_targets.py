"""Every fuzz target on its stored inputs, on inputs that hypothesis makes, and on what fuzzing found."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.target import CORPUS, Broken, Target, require
from fuzz.targets import BY_NAME, TARGETS
from fuzz.targets.payloads import EVENT
from fuzz.targets.receiver import NOW

MOST_BYTES: Final = 200_000
"""All stored inputs together."""


def completion(**more: Any) -> bytes:
    """A model server's answer."""
    return orjson.dumps({"model": "m", "choices": [{"message": {"content": "hi"}}], **more})


def intercom(body: str) -> bytes:
    """A customer's message in Intercom."""
    part = {"id": 2, "body": body, "created_at": NOW, "author": {"type": "user", "id": "3"}}
    item = {"id": "1", "conversation_parts": {"conversation_parts": [part]}}
    return b"\2\n" + orjson.dumps({"topic": "conversation.user.replied", "data": {"item": item}})


FINDINGS: Final = (
    ("tool_calls", b"[" * 5000),
    ("tool_calls", completion(usage={"prompt_tokens": "x"})),
    (
        "tool_calls",
        orjson.dumps(
            {
                "model": "m",
                "choices": [
                    {
                        "message": {
                            "tool_calls": [
                                {"id": "\0001", "function": {"name": "escalate", "arguments": "{}"}}
                            ]
                        }
                    }
                ],
            }
        ),
    ),
    ("receiver", b'\0\n{"challenge": 1}'),
    ("receiver", intercom("hi <![ there")),
    ("http_door", b"\n" + orjson.dumps(EVENT)[:-1] + b', "metadata": {"n": 1e999}}'),
    ("http_door", b"\n" + orjson.dumps(EVENT)[:-1] + b', "metadata": {"n": NaN}}'),
    ("http_door", b"\n" + orjson.dumps(EVENT)[:-1] + b', "other": 18446744073709551616}'),
    ("http_door", b"\n" + orjson.dumps(EVENT | {"created_at": datetime.now(UTC).isoformat()})),
    ("rule_files", b"\0{allow}"),
    ("rule_files", b'\2{"keywords": [" spam"]}'),
    ("rule_files", b'\2{"keywords": [""]}'),
    ("rule_files", b'\2{"phrases": ["free money\\rnow"]}'),
    ("rule_files", b"\1" + b"a" * 140_000),
    ("rule_files", b"\2" + b"[" * 5000),
    (
        "rule_files",
        b"\3---\na: &a [x, x, x, x, x, x, x, x, x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (c + 1, c + 1, b", ".join([b"*%c" % c] * 9)) for c in b"abcdefgh")
        + b"body: *i\n",
    ),
)
"""Inputs that broke a property once."""


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    """Valid pieces in any order, and valid inputs with a part replaced."""
    piece = st.one_of(
        st.sampled_from(target.words).map(lambda word: word.encode("utf-8", "surrogatepass")),
        st.binary(max_size=6),
        st.text(max_size=6).map(str.encode),
    )
    part = st.lists(piece, max_size=12).map(b"".join)
    places = st.tuples(st.integers(0, 300), st.integers(0, 8))
    changed = st.builds(
        lambda seed, place, new: seed[: place[0]] + new + seed[place[0] + place[1] :],
        st.sampled_from(target.seeds),
        places,
        part,
    )
    return st.one_of(changed, part)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_input_breaks_the_property_of_a_target(target: Target) -> None:
    """Only the declared error is raised, within the time, and what can be written is read as the same."""

    @settings(derandomize=True, max_examples=80, database=None)
    @given(data=inputs(target))
    def check(data: bytes) -> None:
        target.run(data)

    check()


@pytest.mark.slow
def test_no_stored_input_breaks_the_property_of_its_target() -> None:
    """The corpus is a regression test too, and stays small."""
    sizes = 0
    for target in TARGETS:
        for path in target.corpus.iterdir():
            data = path.read_bytes()
            sizes += len(data)
            target.run(data)

    assert sizes <= MOST_BYTES


@pytest.mark.parametrize(("name", "data"), FINDINGS, ids=lambda value: str(value)[:40])
def test_what_fuzzing_found_is_corrected(name: str, data: bytes) -> None:
    """An input that broke a property once keeps it now."""
    BY_NAME[name].check(data)


def test_the_folders_of_the_corpus_are_those_of_the_targets() -> None:
    """A renamed target takes its inputs along."""
    assert {path.name for path in CORPUS.iterdir()} == set(BY_NAME)


def test_a_broken_property_and_a_slow_check_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that finds nothing can find something."""
    clock = iter([0.0, 3.0])
    monkeypatch.setattr("fuzz.target.time.thread_time", lambda: next(clock, 0.0))
    slow = Target(name="slow", about="", check=lambda _: None, words=(), seeds=())

    with pytest.raises(Broken, match=r"slow: expected at most 2 s of CPU, got 3\.0 s"):
        slow.run(b"")
    with pytest.raises(Broken, match="not the same: 1, 2"):
        require(False, "not the same", 1, 2)
