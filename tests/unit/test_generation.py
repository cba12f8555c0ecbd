"""Prompts, tools and when an attempt is repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.samples import account, event, passage
from worker import generation
from worker.generation import RetryPolicy
from worker.model import Message, ToolCall


@pytest.mark.parametrize(
    ("policy", "attempt", "retry_after_s", "wait_s"),
    [
        (RetryPolicy(), 1, None, 2.0),
        (RetryPolicy(), 2, None, 4.0),
        (RetryPolicy(), 3, None, None),
        (RetryPolicy(attempts=4), 3, None, 8.0),
        (RetryPolicy(), 1, 0.0, 2.0),
        (RetryPolicy(), 1, 1.5, 2.0),
        (RetryPolicy(), 1, 7.0, 7.0),
        (RetryPolicy(), 2, 60.0, 60.0),
        (RetryPolicy(), 1, 60.1, None),
        (RetryPolicy(), 3, 1.0, None),
        (RetryPolicy(attempts=1), 1, None, None),
        (RetryPolicy(attempts=10), 9, None, 60.0),
        (RetryPolicy(first_wait_s=0.0), 2, None, 0.0),
        (RetryPolicy(first_wait_s=5.0, longest_wait_s=1.0), 2, None, 5.0),
    ],
)
def test_a_failed_attempt_waits_or_is_the_last(
    policy: RetryPolicy, attempt: int, retry_after_s: float | None, wait_s: float | None
) -> None:
    """2, 4, 8 s (seed 004), never less than the server asked for, never longer than the limit."""
    assert policy.wait_s(attempt, retry_after_s) == wait_s


@given(st.integers(1, 10), st.integers(1, 10), st.none() | st.floats(0, 1e6), st.floats(0, 600))
def test_waits_are_bounded_and_the_attempts_end(
    attempts: int, attempt: int, retry_after_s: float | None, longest_wait_s: float
) -> None:
    """Whatever a server asks for."""
    wait_s = RetryPolicy(attempts=attempts, longest_wait_s=longest_wait_s).wait_s(attempt, retry_after_s)

    assert wait_s is None or (attempt < attempts and (retry_after_s or 0) <= wait_s <= max(2, longest_wait_s))
    assert wait_s is None or attempt < attempts


def test_passages_are_numbered_one_a_line() -> None:
    """A passage cannot pass for the next one, whatever its text holds."""
    shown = generation.numbered(
        (passage(1), passage(2, title="a\nb", text="one\n[9] two\t\x0bthree")), first=4
    )

    assert shown.splitlines() == [
        "[4] Opening hours: We are open from nine to six on weekdays.",
        "[5] a b: one [9] two three",
    ]
    assert generation.numbered(()) == "No passages were found."


def test_the_prompt_holds_instructions_passages_history_and_question() -> None:
    """The account's own instructions take the place of ours."""
    history = (Message(role="user", text="Hi"),)
    ours = generation.prompt(event(), account(), history, (passage(),))
    own = generation.prompt(event(), account(prompt="Be a pirate."), history, ())

    assert ours.system.startswith(generation.INSTRUCTIONS)
    assert ours.system.endswith("[1] Opening hours: We are open from nine to six on weekdays.")
    assert own.system == "Be a pirate.\n\nPassages:\n\nNo passages were found."
    assert (own.history, own.question, own.tools_allowed) == (history, "When are you open?", True)


def test_equal_prompts_have_equal_hashes_and_others_do_not() -> None:
    """The audit tells whether two answers came from the same question."""
    one, same = (generation.prompt(event(), account(), (), (passage(),)) for _ in range(2))
    others = [
        generation.prompt(event(text="?"), account(), (), (passage(),)),
        generation.prompt(event(), account(prompt="x"), (), (passage(),)),
        generation.prompt(event(), account(), (Message(role="user", text="x"),), (passage(),)),
        generation.prompt(event(), account(), (), ()),
    ]
    hashes = {generation.prompt_hash(each) for each in (one, *others)}

    assert generation.prompt_hash(one) == generation.prompt_hash(same)
    assert len(hashes) == 5
    assert {len(each) for each in hashes} == {64}


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        ({"query": " opening hours "}, "opening hours"),
        ({}, "When are you open?"),
        ({"query": "  "}, "When are you open?"),
        ({"query": 7}, "When are you open?"),
        ({"query": None}, "When are you open?"),
    ],
)
def test_a_search_without_words_uses_the_message(arguments: dict[str, object], query: str) -> None:
    """A model may call its tool with anything."""
    call = ToolCall(call_id="1", name=generation.SEARCH_TOOL, arguments=arguments)  # type: ignore[arg-type]

    assert generation.search_query(call, event()) == query


def test_the_reason_of_an_escalation_is_bounded() -> None:
    """At most 300 characters of a model's words reach the audit."""
    long, none = (
        ToolCall(call_id="1", name=generation.ESCALATE_TOOL, arguments=arguments)
        for arguments in ({"reason": "x" * 1000}, {})
    )

    assert len(generation.escalation_reason(long)) == 300
    assert generation.escalation_reason(none) == "the model asked for a person"
