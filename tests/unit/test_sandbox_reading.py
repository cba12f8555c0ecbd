"""The sandbox as a judge that reads a whole draft."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sandbox.cases import CaseFile, DraftKind, parse_case
from sandbox.faults import FaultKind, SandboxFault
from sandbox.replies.answers import chat_answer
from sandbox.replies.chat_request import parse_chat
from sandbox.replies.known_conversations import KnownConversations
from sandbox.replies.known_readings import parse_judge
from sandbox.replies.reading import reading_request

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


def test_without_cases_a_row_with_its_column_names_is_supported() -> None:
    """Its quotes are the head of the table and the row."""
    prompt = asked("What does the lamp cost?", ["Product Lamp: price 12 EUR.", "Product Rug: price 12 EUR."])
    table = "> product | price\n> Rug | 90 EUR\n> Lamp | 12 EUR\nREPLY:"
    found = read(prompt.replace("REPLY:", table, 1))

    assert [(each["verdict"], each["quotes"]) for each in found["sentences"]] == [
        ("supported", ["product | price", "Lamp | 12 EUR"]),
        ("not_mentioned", []),
    ]


def test_without_cases_a_reply_to_another_question_is_not_relevant() -> None:
    """No word of the question stands in the reply or in the title of its passage."""
    found = read(asked("How many days to return goods?", ["The shop opens at nine."]))

    assert found["sentences"][0]["verdict"] == "supported"
    assert found["relevance"] < 0.5


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


def test_a_perfect_judge_supports_no_sentence_that_the_right_answer_lacks() -> None:
    """A sentence added to the right answer is not mentioned by the passages."""
    added = [*sentences(DraftKind.RIGHT), "The shop has a private jet."]
    found = read(asked(CASE.query, added), known())

    assert [each["verdict"] for each in found["sentences"]] == ["no_claim", "supported", "not_mentioned"]


@pytest.mark.parametrize("kind", [DraftKind.RIGHT, DraftKind.INVENTED, DraftKind.WRONG])
def test_a_judge_that_is_always_wrong_says_the_opposite(kind: DraftKind) -> None:
    """A right draft is refused; a bad one is approved with a quote that stands in the passages."""
    found = read(asked(CASE.query, sentences(kind)), known("noisy:1"))
    approved = all(each["verdict"] in ("supported", "no_claim") for each in found["sentences"])
    evidence = " ".join(text for _, text in PASSAGES)

    assert (approved and found["relevance"] > 0.5) is (kind is not DraftKind.RIGHT)
    assert all(quote in evidence for each in found["sentences"] for quote in each["quotes"])


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


def test_aspects_of_a_known_draft_have_scores_of_their_own() -> None:
    """A supported answer to another question is grounded and not relevant."""
    prompt = asked(
        CASE.query, sentences(DraftKind.WRONG), "ASPECTS:", "> grounding: 0 to 1", "> relevance: 0 to 1"
    )

    assert read(prompt, known())["scores"] == {"grounding": 0.97, "relevance": 0.02}


@pytest.mark.parametrize(
    ("question", "relevance"),
    [
        ("2 BILLION!!!", 0.1),
        ("This video is so cool, again and again!", 0.1),
        ("I found out this song now", 0.1),
        ("My goods came broken!!!", 0.9),
        ("I want my money back!", 0.9),
        ("goods returned", 0.9),
    ],
)
def test_a_remark_is_not_answered_with_a_fact(question: str, relevance: float) -> None:
    """A complaint and a question in two words are."""
    prompt = asked(
        question, ["Unused goods may be returned, for 2 billion, again, now, this money, it came."]
    )

    assert read(prompt)["relevance"] == relevance
