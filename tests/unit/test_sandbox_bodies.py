"""The sandbox answers any JSON body or rejects it as a bad request."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.faults import CallPlan
from sandbox.replies.answers import chat_answer
from sandbox.replies.chat_request import parse_chat
from sandbox.replies.completions import completion_body
from sandbox.replies.embeddings import embedding_texts, embeddings_body
from sandbox.replies.extractive import best_extract, numbered_passages
from sandbox.replies.moderation import moderation_body, moderation_inputs
from sandbox.routes import BadRequest

TEXT = st.sampled_from(
    [
        "",
        "hi",
        "agent",
        "HUSHGATE-JUDGE: x\nREPLY: a",
        "HUSHGATE-JUDGE: reading\nPASSAGES:\n> [2]\n>x\nREPLY:\n> 1. a\nASPECTS:\n> :",
        "[1] A: when open",
        "when open?",
        "名前は何ですか",
    ]
) | st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
TOOL = st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": TEXT | JSON})}) | JSON
ROLE = st.sampled_from(["system", "developer", "user", "assistant", "tool"]) | JSON
MESSAGE = st.fixed_dictionaries(
    {"role": ROLE}, optional={"content": TEXT | JSON, "tool_calls": st.lists(TOOL, max_size=2) | JSON}
)
FORMAT = st.fixed_dictionaries(
    {"type": TEXT, "json_schema": st.fixed_dictionaries({"schema": JSON | st.dictionaries(TEXT, JSON)})}
)
CHAT = st.fixed_dictionaries(
    {"model": st.just("any") | JSON, "messages": st.lists(MESSAGE, max_size=4) | JSON},
    optional={
        "tools": st.lists(TOOL, max_size=2) | JSON,
        "tool_choice": JSON,
        "response_format": FORMAT | JSON,
    },
)
PARTS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "image_url"]) | JSON}, optional={"text": JSON, "image_url": JSON}
    ),
    max_size=3,
)
INPUT = st.fixed_dictionaries({"input": PARTS | JSON}, optional={"dimensions": JSON, "encoding_format": JSON})


def answer_choices(body: Mapping[str, object]) -> object:
    request = parse_chat(body)
    return completion_body(request, chat_answer(request, None), 1)["choices"]


def moderation_answer(body: Mapping[str, object]) -> object:
    return moderation_body(moderation_inputs(body), CallPlan(), 1)["results"]


def embedding_answer(body: Mapping[str, object]) -> object:
    return embeddings_body(body, embedding_texts(body), None)["data"]


def answered_or_refused(
    respond: Callable[[Mapping[str, object]], object], body: Mapping[str, object]
) -> bool:
    """Whether the answer is non-empty JSON, or the body was refused; anything else rises."""
    try:
        return orjson.dumps(respond(body)) not in (b"", b"[]", b"null")
    except BadRequest:
        return True


@given(body=CHAT)
def test_any_chat_body_is_answered_or_refused(body: Mapping[str, object]) -> None:
    """No chat request breaks the sandbox."""
    assert answered_or_refused(answer_choices, body)


@given(body=INPUT)
def test_any_moderation_body_is_answered_or_refused(body: Mapping[str, object]) -> None:
    """No moderation request breaks the sandbox."""
    assert answered_or_refused(moderation_answer, body)


@given(body=INPUT)
def test_any_embedding_body_is_answered_or_refused(body: Mapping[str, object]) -> None:
    """No embedding request breaks the sandbox."""
    assert answered_or_refused(embedding_answer, body)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Intro\n\n[1] A: one\n\n[2] B: two", [(1, "A", "one"), (2, "B", "two")]),
        ("[1] A: one\n[2] B: two", [(1, "A", "one"), (2, "B", "two")]),
        ("[7] no title here\n\nBe brief.", [(7, "", "no title here")]),
        ("[1] A: first line\nsecond line\n\nnot a passage", [(1, "A", "first line\nsecond line")]),
        ("cite as [1] like this", []),
    ],
)
def test_passages_are_read_from_a_prompt(prompt: str, expected: list[tuple[int, str, str]]) -> None:
    """``[n] title: text`` at the start of a line, up to a blank line or the next passage."""
    found = [(passage.number, passage.title, passage.text) for passage in numbered_passages(prompt)]

    assert found == expected


def test_a_rare_word_outweighs_a_common_one() -> None:
    """A word that all passages hold says little about which of them answers."""
    passages = numbered_passages("[1] A: Our shop ships shoes.\n\n[2] B: Our shop repairs boots.")
    extract = best_extract("Does the shop repair things?", passages)

    assert extract is not None
    assert extract.number == 2


HOURS = "[1] Opening hours: Opening hours\n  The shop is open Monday to Friday from 9:30 to 18:00."
TABLE = "[1] prices: product | price | in stock\n  Lamp | 12 EUR | yes\n  Oak table | 420 EUR | no"
FAQ = "[1] Faq: Q: Do you ship abroad?\n  A: Yes, for 12 EUR.\n  Can I pay by card?\n  We take Visa."
WRAPPED = (
    "[1] Hours: The shop in Long Street is open every day from Monday to\n  Friday from 9 a.m. to 6 p.m.\n"
    "  Returns are free within 30 days if the\n  item is unused."
)
LIST = "[1] Hours: Monday 9 to 18\n  Tuesday 10 to 16\n  - Sunday: closed"


@pytest.mark.parametrize(
    ("prompt", "question", "answer"),
    [
        (HOURS, "When are you open?", "The shop is open Monday to Friday from 9:30 to 18:00."),
        (HOURS, "What are your opening hours?", "The shop is open Monday to Friday from 9:30 to 18:00."),
        (HOURS, "Are you open on Friday?", "The shop is open Monday to Friday from 9:30 to 18:00."),
        (TABLE, "What is the price of the oak table?", "Product Oak table: price 420 EUR, in stock no."),
        (TABLE, "Is the lamp in stock?", "Product Lamp: price 12 EUR, in stock yes."),
        (LIST, "Are you open on Monday?", "Monday 9 to 18"),
        (LIST, "And on Sunday?", "Sunday: closed"),
        (FAQ, "Do you ship abroad?", "Yes, for 12 EUR."),
        (FAQ, "May I pay by card?", "We take Visa."),
        (
            WRAPPED,
            "When is the shop open?",
            "The shop in Long Street is open every day from Monday to Friday from 9 a.m. to 6 p.m.",
        ),
        (WRAPPED, "Can I return an item?", "Returns are free within 30 days if the item is unused."),
        ("[1] Days: Monday | 9-18\n  Tuesday | 10-16", "Open on Tuesday?", "Tuesday: 10-16."),
    ],
)
def test_a_heading_is_no_part_of_an_answer_and_a_row_is_one_sentence(
    prompt: str, question: str, answer: str
) -> None:
    """Its words, or those of a question, count for the text below; a row is said with its columns' names."""
    extract = best_extract(question, numbered_passages(prompt))

    assert extract is not None
    assert extract.text == answer
