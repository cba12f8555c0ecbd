"""A draft that promises an action escalates; a rule quoted from the passages and plain facts do not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.unit.assessment.samples import ScriptedJudge, asked, assessed, evidence
from worker.assessment import Evidence, ReplyKind, default_policy, parse_policy
from worker.assessment.policies.designs import DESIGNS
from worker.assessment.promises.recogniser import GRAMMARS, promise_of
from worker.assessment.values import DraftCase
from worker.model import Action, Passage, Tier

ROWS = Path(__file__).parents[2] / "fixtures" / "assessment" / "promises.jsonl"
RAGTRUTH = ROWS.with_name("ragtruth_sample.jsonl")
TEAM = "We will refund your ticket, your hotel and your dinner."
RELATED = "We refund tickets within two days."


@cache
def rows() -> tuple[dict[str, Any], ...]:
    """The labelled drafts."""
    return tuple(json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines())


def promises(draft: str, *passages: str) -> bool:
    """Whether a draft promises something, given its passages."""
    found = tuple(Passage(passage_id="p", title="", text=text, similarity=1.0) for text in passages)
    return promise_of(DraftCase(query="", evidence=Evidence(passages=found), draft=draft)) is not None


def wrong(*, held_out: bool, label: int) -> list[str]:
    """The drafts of this label that are recognised wrongly."""
    return [
        row["draft"]
        for row in rows()
        if row.get("held_out", False) is held_out
        and row["label"] == label
        and promises(row["draft"], *row["passages"]) != bool(label)
    ]


def test_the_rows_are_balanced_in_every_language() -> None:
    """As many promises as other drafts, at least 200 rows."""
    counts = {(row["lang"], row["label"]): 0 for row in rows()}
    for row in rows():
        counts[row["lang"], row["label"]] += 1

    assert len(rows()) >= 200
    assert all(counts[lang, 0] == counts[lang, 1] for lang in GRAMMARS)


def test_promises_are_found_without_false_alarms() -> None:
    """On the rows that the grammars were corrected with, all are right."""
    assert wrong(held_out=False, label=1) == []
    assert wrong(held_out=False, label=0) == []


def test_promises_are_found_in_rows_that_no_grammar_was_corrected_with() -> None:
    """On held-out rows no false alarm, and at most 5 of 32 promises are missed."""
    assert wrong(held_out=True, label=0) == []
    assert len(wrong(held_out=True, label=1)) <= 5


def test_real_answers_promise_nothing() -> None:
    """No alarm on RAGTruth's answers to questions."""
    answers = [json.loads(line) for line in RAGTRUTH.read_text(encoding="utf-8").splitlines()]

    assert [row["id"] for row in answers if promises(row["response"], row["context"])] == []


@pytest.mark.parametrize("name", DESIGNS)
def test_a_promise_escalates_under_every_policy(name: str) -> None:
    """Also where a draft of low confidence would be answered by a fallback text."""
    found = assessed("I have refunded you. [1]", default_policy(name))

    assert (found.action, found.category, found.tier) == (Action.ESCALATE, ReplyKind.PROMISE, Tier.LOW)
    assert found.failed_checks == (ReplyKind.PROMISE,)
    assert found.confidence == 0.0


def test_a_policy_that_is_off_sends_promises_too() -> None:
    """Nothing is checked then."""
    found = assessed("I have refunded you.", parse_policy({"enabled": False}))

    assert found.action is Action.SEND


def test_an_offer_is_a_question_and_passes() -> None:
    """The author's yes reaches the model, which can ask for a person."""
    found = assessed("Would you like me to connect you with a colleague?", default_policy("calibrated"))

    assert (found.action, found.category) == (Action.SEND, ReplyKind.CLARIFYING_QUESTION)


@pytest.mark.parametrize(
    ("answer", "promised"),
    [(0.9, False), (0.5, False), (0.49, True), ("yes", True), (None, True)],
)
async def test_a_judge_decides_whether_a_promise_is_a_quotation(
    answer: float | str | None, promised: bool
) -> None:
    """Asked only in doubt; without a usable score the promise counts."""
    judge = ScriptedJudge(answer)
    found = await asked(
        query="How do I get my money back?",
        evidence=evidence(0.9, text=RELATED),
        draft=TEAM,
        policy=default_policy("calibrated"),
        judge=judge,
    )

    assert judge.asked[0].claim == TEAM
    assert (found.category == ReplyKind.PROMISE) is promised


async def test_a_certain_promise_is_not_judged() -> None:
    """No call is paid for what is known."""
    judge = ScriptedJudge(1.0)
    found = await asked(
        query="Refund me",
        evidence=evidence(0.9),
        draft="I have refunded you.",
        policy=default_policy("calibrated"),
        judge=judge,
    )

    assert (found.category, judge.asked) == (ReplyKind.PROMISE, [])


@pytest.mark.parametrize(
    ("draft", "promised"),
    [
        ("You keep your number by transferring your contract to us.", False),
        ("Costs depend on connecting your device first.", False),
        ("Transferring you to a colleague.", True),
        ("One moment, connecting you.", True),
        ("A parcel may still be accepted if it has been opened and closed again.", False),
        ("Once the order was shipped, the address stays as it is.", False),
        ("The order has been cancelled.", True),
    ],
)
def test_a_condition_or_a_way_to_do_it_is_no_promise(draft: str, promised: bool) -> None:
    """The draft does not say that it was done or is being done."""
    assert promises(draft) is promised


@pytest.mark.parametrize(
    ("draft", "promised"),
    [
        ("If you come from another provider, they will tell you when the transfer is due.", False),
        ("They will tell you when the transfer is due.", True),
        ("The staff was noted as friendly.", False),
        ("It has been noted that the shop is small.", False),
        ("Your request has been noted.", True),
        ("He received profits that were then shipped to California.", False),
    ],
)
def test_acts_of_others_and_plain_reports_are_no_promise(draft: str, promised: bool) -> None:
    """A third party's act, and a relative clause or a remark in the passive."""
    assert promises(draft) is promised
