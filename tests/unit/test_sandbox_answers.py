"""The sandbox as a model: what it answers from passages, writes about known cases, and reads as a judge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.cases import CaseFile, DraftKind, Writes, load_cases, parse_case
from sandbox.faults import FaultKind, SandboxFault
from sandbox.replies.answers import SandboxAnswer, chat_answer
from sandbox.replies.chat_request import parse_chat
from sandbox.replies.extractive import best_extract, numbered_passages
from sandbox.replies.known_conversations import KnownConversations
from sandbox.replies.known_readings import parse_judge
from sandbox.replies.reading import reading_request

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


PASSAGES = (
    ("Returns", "Unused goods may be returned within thirty days. Keep the receipt."),
    ("Hours", "The shop opens at nine."),
)
CASE = parse_case(
    {
        "id": "returns",
        "domain": "shop",
        "query": "my husband hates it, too late?",
        "doc": "shop/returns",
        "probe": "Unused goods may be returned within thirty days.",
        "answer": "I am really sorry. You have thirty days if it is unused.",
        "wrong_answer": "We open at nine.",
        "wrong_probe": "The shop opens at nine.",
        "invented": "I am really sorry. You have ninety days if it is unused.",
    }
)


def asked(question: str, reply: list[str], *more: str, history: tuple[str, ...] = ()) -> str:
    """A judge prompt as the worker writes it."""
    lines = ["HUSHGATE-JUDGE: reading", "QUESTION:", *(f"> {line}" for line in question.splitlines())]
    if history:
        lines += ["CONVERSATION:", *(f"> {line}" for line in history)]
    lines.append("PASSAGES:")
    for number, (title, text) in enumerate(PASSAGES, start=1):
        lines += [f"> [{number}] {title}", f"> {text}"]
    lines += ["REPLY:", *(f"> {number}. {text}" for number, text in enumerate(reply, start=1))]
    return "\n".join((*lines, *more, "END:"))


def read(prompt: str, known: KnownConversations | None = None, score: str = "") -> dict[str, Any]:
    """The sandbox's answer to a judge prompt; ``score`` is that of the fault ``score``."""
    request = parse_chat({"model": "any", "messages": [{"role": "user", "content": prompt}]})
    fault = SandboxFault(kind=FaultKind.SCORE, value=score) if score else None
    found: dict[str, Any] = json.loads(chat_answer(request, fault, known).text)
    return found


def known(judge: str = "perfect") -> KnownConversations:
    """Conversations of the one case."""
    return KnownConversations(cases=CaseFile([CASE]), judge=parse_judge(judge))


def sentences(kind: DraftKind) -> list[str]:
    return [f"{part.strip('.')}." for part in CASE.text_of(kind).split(". ")]


def test_no_line_of_a_text_passes_for_a_section() -> None:
    """A question with the words of a section stays one question."""
    found = reading_request(asked("hi\nREPLY:\n1. fine", ["One.", "Two."]))

    assert found.question == "hi\nREPLY:\n1. fine"
    assert found.sentences == ((1, "One."), (2, "Two."))
    assert [(each.title, each.text) for each in found.passages] == list(PASSAGES)


def test_without_cases_a_copied_sentence_is_supported_and_a_changed_one_is_not_mentioned() -> None:
    """All content words must stand in one sentence of a passage, which is the quote."""
    found = read(
        asked(
            "How many days to return goods?",
            ["Unused goods may be returned within thirty days.", "Goods may be returned within ninety days."],
        )
    )

    assert [(each["verdict"], each["quotes"]) for each in found["sentences"]] == [
        ("supported", ["Unused goods may be returned within thirty days."]),
        ("not_mentioned", []),
    ]
    assert found["relevance"] > 0.5


@pytest.mark.parametrize(("score", "verdict"), [("0.9", "supported"), ("0.2", "not_mentioned")])
def test_a_forced_score_is_every_number_of_the_reading(score: str, verdict: str) -> None:
    """Probability, relevance and scores of aspects are all the fault's value."""
    prompt = asked("When?", ["Never."], "ASPECTS:", "> grounding: 0 to 1")
    found = read(prompt, score=score)

    assert (found["sentences"][0]["verdict"], found["sentences"][0]["probability"]) == (verdict, float(score))
    assert (found["relevance"], found["scores"]) == (float(score), {"grounding": float(score)})


@pytest.mark.parametrize(
    ("kind", "verdicts", "relevant"),
    [
        (DraftKind.RIGHT, ["no_claim", "supported"], True),
        (DraftKind.INVENTED, ["no_claim", "contradicted"], True),
        (DraftKind.WRONG, ["supported"], False),
    ],
)
def test_a_perfect_judge_knows_each_draft(kind: DraftKind, verdicts: list[str], *, relevant: bool) -> None:
    """A supported sentence has the probe of its text as quote."""
    found = read(asked(CASE.query, sentences(kind)), known())
    quotes = [quote for each in found["sentences"] for quote in each["quotes"]]

    assert [each["verdict"] for each in found["sentences"]] == verdicts
    assert (found["relevance"] > 0.5) is relevant
    assert (
        quotes
        == {
            DraftKind.RIGHT: [CASE.probe],
            DraftKind.WRONG: [CASE.wrong_probe],
            DraftKind.INVENTED: [],
        }[kind]
    )


def test_a_noisy_judge_is_wrong_in_its_share_and_always_in_the_same_drafts() -> None:
    """Of 400 cases the share that it refuses is the chosen one, and its probabilities vary."""
    cases = CaseFile([replace(CASE, case_id=f"c{n}", query=f"{CASE.query} order {n}") for n in range(400)])
    noisy = KnownConversations(cases=cases, judge=parse_judge("noisy:0.2"))
    prompts = [asked(case.query, sentences(DraftKind.INVENTED)) for case in cases.cases]
    found = [read(prompt, noisy) for prompt in prompts]
    wrong = [each for each in found if each["sentences"][1]["verdict"] == "supported"]

    assert 0.14 < len(wrong) / len(found) < 0.26
    assert found == [read(prompt, noisy) for prompt in prompts]
    assert len({each["sentences"][1]["probability"] for each in found}) > 100
