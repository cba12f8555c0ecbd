"""A draft that promises an action escalates; a rule quoted from the passages and plain facts do not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.readings import reading, said
from tests.unit.assessment.samples import Answer, assessed, calls_for, evidence
from worker.assessment import Evidence, ReplyKind, default_policy, parse_policy
from worker.assessment.policies.designs import DESIGNS
from worker.assessment.promises import promises_of
from worker.assessment.text.grammars import grammars
from worker.assessment.values import DraftCase
from worker.errors import ModelUnavailable
from worker.model import Action, Json, Passage, Tier

ROWS = Path(__file__).parents[2] / "fixtures" / "assessment" / "promises.jsonl"
RAGTRUTH = ROWS.with_name("ragtruth_sample.jsonl")
RELATED = "We refund tickets within two days."
SCORES: Json = {"grounding": 0.9, "certainty": 0.9, "confidence": 0.9}
"""For the designs whose scores come in the same call."""


@cache
def rows() -> tuple[dict[str, Any], ...]:
    """The labelled drafts."""
    return tuple(json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines())


def promises(draft: str, *passages: str) -> bool:
    """Whether a draft promises something, given its passages."""
    found = tuple(Passage(passage_id="p", title="", text=text, similarity=1.0) for text in passages)
    return bool(promises_of(DraftCase(query="", evidence=Evidence(passages=found), draft=draft)))


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
    assert all(counts[lang, 0] == counts[lang, 1] for lang in grammars("promises"))


@pytest.mark.slow
def test_promises_are_found_with_few_false_alarms() -> None:
    """On the rows of the grammars all are found; rules in other words go to the judge."""
    assert wrong(held_out=False, label=1) == []
    assert len(wrong(held_out=False, label=0)) <= 6
    assert {bool(row["passages"]) for row in rows() if row["draft"] in wrong(held_out=False, label=0)} == {
        True
    }


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
    answer = reading(said("promise", probability=0.0), scores=SCORES)
    found = assessed("I have refunded you. [1]", default_policy(name), answer=answer)

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


QUOTE = "We refund tickets within two days"
RULE = "We will refund your ticket within two days."


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize(
    ("answer", "promised"),
    [
        (reading(said("supported", QUOTE, probability=0.9), scores=SCORES), False),
        (reading(said("supported", QUOTE, probability=0.5), scores=SCORES), False),
        (reading(said("supported", QUOTE, probability=0.49)), True),
        (reading(said("supported", "We refund everything at once")), True),
        (reading(said("supported")), True),
        (reading(said("promise", QUOTE)), True),
        (reading(said("no_claim")), True),
        (reading(said("not_mentioned")), True),
    ],
)
def test_a_judge_decides_whether_a_sentence_is_a_promise(name: str, answer: str, *, promised: bool) -> None:
    """Under every policy; it counts as one unless it is supported with a quote that stands."""
    found = assessed(
        RULE,
        default_policy(name),
        evidence(0.9, text=RELATED),
        query="How do I get my money back?",
        answer=answer,
    )

    assert (found.category == ReplyKind.PROMISE) is promised
    assert found.action is Action.ESCALATE or not promised


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("answer", [None, ModelUnavailable("down"), "yes"])
def test_an_unread_sentence_like_a_promise_waits_for_a_person(name: str, answer: Answer | None) -> None:
    """Under the policy that holds unread drafts the draft is held; under the others people take over."""
    found = assessed(RULE, default_policy(name), evidence(0.9, text=RELATED), answer=answer)

    assert (found.action, found.category == ReplyKind.PROMISE) == (
        (Action.HOLD, False) if name == "calibrated" else (Action.ESCALATE, True)
    )


def test_a_rule_that_the_judge_supports_is_sent() -> None:
    """One call for promise, support and relevance together."""
    found = evidence(0.9, text=RELATED)
    answer = reading(said("supported", QUOTE))

    assert assessed(RULE, default_policy("calibrated"), found, answer=answer).action is Action.SEND
    assert calls_for(RULE, default_policy("calibrated"), found) == 1
    assert calls_for(RULE, default_policy("safety"), found) == 1


@pytest.mark.parametrize("name", DESIGNS)
def test_one_supported_sentence_vouches_for_no_other(name: str) -> None:
    """Each sentence like a promise must be supported itself."""
    answer = reading(said("supported", QUOTE), said("promise"), scores=SCORES)
    found = assessed(
        f"{RULE} I have cancelled your order.",
        default_policy(name),
        evidence(0.9, text=RELATED),
        answer=answer,
    )

    assert found.category == ReplyKind.PROMISE
    assert "I have cancelled your order" in found.reasons[0] or name == "calibrated"


@pytest.mark.parametrize(
    "draft",
    [
        "I've refunded your ticket within two days.",
        "We have refunded your ticket within two days.",
        "Ich habe Ihr Ticket erstattet.",
        "Nous avons annulé votre billet.",
        "He cancelado su billete.",
        "Tôi đã hủy vé cho bạn.",
        "已经为您退款。",
    ],
)
def test_what_the_speaker_has_done_is_no_rule(draft: str) -> None:
    """No document says it, so no quote that a judge names can bear it out."""
    answer = reading(said("supported", QUOTE, probability=1.0), relevance=1.0)
    found = assessed(draft, default_policy("calibrated"), evidence(0.9, text=RELATED), answer=answer)

    assert (found.action, found.category) == (Action.ESCALATE, ReplyKind.PROMISE)


def test_a_quoted_rule_needs_no_judge() -> None:
    """Word for word in a passage it is no promise."""
    given = evidence(0.9, text=RELATED)

    assert calls_for(RELATED, default_policy("safety"), given) == 0
    assert assessed(RELATED, default_policy("safety"), given).category != ReplyKind.PROMISE


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
