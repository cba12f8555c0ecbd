"""Cases of a set of conversations: how they are read, found and written about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox.cases import CaseFile, DraftKind, Writes, load_cases, parse_case
from sandbox.replies.answers import SandboxAnswer, chat_answer
from sandbox.replies.chat_request import parse_chat
from sandbox.replies.known_conversations import KnownConversations, load_conversations

GOOD: Mapping[str, Any] = {
    "id": "hours",
    "domain": "shop",
    "query": "and on Sunday?",
    "doc": "shop/hours",
    "probe": "On Sunday we are closed.",
    "answer": "We are closed then.",
    "wrong_answer": "Parking is free.",
    "wrong_probe": "Parking is free.",
    "invented": "We open at ten then.",
    "rewrite": "opening hours Sunday",
    "history": [{"role": "user", "text": "When do you open on Saturday?"}],
}
TOOLS = [{"function": {"name": name}} for name in ("search_documents", "escalate")]


def written(
    messages: list[dict[str, Any]],
    writes: Writes = Writes.RIGHT,
    more: Mapping[str, Any] = {},  # never changed
) -> SandboxAnswer:
    """What the model writes to these messages about the case with ``more`` fields."""
    known = KnownConversations(cases=CaseFile([parse_case({**GOOD, **more})]), writes=writes)
    request = parse_chat({"model": "any", "messages": messages, "tools": TOOLS})
    return chat_answer(request, None, known)


def prompt(passage: str) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": f"[1] Parking: Parking is free.\n\n[2] Hours: {passage}"},
        {"role": "user", "content": "And on Sunday??"},
    ]


def test_the_right_answer_needs_its_passage_and_else_searches_once() -> None:
    """With the probe it is cited; without it comes one search with good words, then a person."""
    without = prompt("We are open.")
    searched = [
        *without,
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "search_documents"}}]},
        {"role": "tool", "content": "nothing", "tool_call_id": "1"},
    ]

    assert written(prompt("On sunday\nwe are closed.")).text == "We are closed then. [2]"
    assert json.loads(written(without).arguments) == {"query": "opening hours Sunday"}
    assert written(searched).tool == "escalate"


@pytest.mark.parametrize(
    ("writes", "more", "text"),
    [
        (Writes.WRONG, {}, "Parking is free. [1]"),
        (Writes.INVENTED, {}, "We open at ten then. [2]"),
        (Writes.INVENTED, {"writes": "wrong"}, "Parking is free. [1]"),
        (Writes.WRONG, {"wrong_answer": None}, "We are closed then. [2]"),
    ],
)
def test_a_case_is_written_about_as_the_run_or_the_case_says(
    writes: Writes, more: dict[str, Any], text: str
) -> None:
    """The case's own word comes first; without such a text the right answer is written."""
    assert written(prompt("On Sunday we are closed."), writes, more).text == text


def test_of_two_cases_with_one_question_the_conversation_decides() -> None:
    """The history of the case must have been said; without any, the case without history is meant."""
    follow_up = parse_case(GOOD)
    other = parse_case({**GOOD, "id": "bus", "history": [{"role": "user", "text": "When does the bus run?"}]})
    alone = parse_case({**GOOD, "id": "alone", "history": []})
    cases = CaseFile([follow_up, other, alone])

    assert cases.find("And on Sunday?", ["user: when does the bus run"]) is other
    assert cases.find("And on Sunday?", ["When do you open on Saturday?"]) is follow_up
    assert cases.find("And on Sunday?") is alone


def test_a_draft_is_the_text_that_has_most_of_its_sentences() -> None:
    """Citations, case and punctuation do not count; a foreign text is none of them."""
    case = parse_case({**GOOD, "answer": "Sorry. We are closed then.", "invented": "Sorry. We open at ten."})

    assert case.kind_of(["Sorry.", "we are closed then! [3]"]) is DraftKind.RIGHT
    assert case.kind_of(["Sorry.", "We open at ten."]) is DraftKind.INVENTED
    assert case.kind_of(["Hello!"]) is DraftKind.OTHER


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": " "}, "line 1: answer: expected a text, got ' '"),
        ({"query": None}, "line 1: query: expected a text, got None"),
        ({"probe": None}, "line 1: doc, probe: expected both or none"),
        ({"scope": "mail"}, "line 1: scope: expected chat or comment, got 'mail'"),
        ({"writes": "lies"}, "line 1: writes: expected one of right, wrong, invented, got 'lies'"),
        ({"history": "hi"}, "line 1: history: expected a list of lines, got 'hi'"),
        ({"history": [{"role": "dog", "text": "hi"}]}, r"line 1: history\[0\]: expected role"),
    ],
)
def test_a_bad_case_is_refused_by_line_and_field(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    """The message says what was expected and what came."""
    (tmp_path / "cases.jsonl").write_text(json.dumps({**GOOD, **change}))

    with pytest.raises(ValueError, match=message):
        load_cases(tmp_path)


def test_ids_are_unique_and_a_file_has_cases(tmp_path: Path) -> None:
    """The same id twice, an empty file and no file are refused."""
    file = tmp_path / "cases.jsonl"
    for content, message in (
        (f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}", "expected every id once, got 'hours' twice"),
        ("\n", "expected at least one case, got none"),
        ("{", "line 1: "),
    ):
        file.write_text(content)
        with pytest.raises(ValueError, match=message):
            load_cases(tmp_path)
    with pytest.raises(ValueError, match="expected a readable file"):
        load_cases(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("writes", "judge", "message"),
    [
        ("lies", None, "writes: expected one of right, wrong, invented, got 'lies'"),
        (None, "noisy", "judge: expected perfect, noisy:SHARE"),
        (None, "noisy:2", "judge: expected perfect, noisy:SHARE"),
    ],
)
def test_an_unknown_behaviour_is_refused(
    tmp_path: Path, writes: str | None, judge: str | None, message: str
) -> None:
    """The message names the known ones."""
    (tmp_path / "cases.jsonl").write_text(json.dumps(GOOD))

    with pytest.raises(ValueError, match=message):
        load_conversations(tmp_path, writes, judge)
