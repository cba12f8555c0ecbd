"""The policy ``consensus``: agreement of drafts, the central one, and what stops it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.readings import reading, said
from tests.unit.assessment.samples import Answer, assessed, calls_for, evidence
from worker.assessment import Evidence, early_refusal, parse_policy
from worker.assessment.policies.agreement import agreement, most_central
from worker.assessment.policies.consensus import ConsensusPolicy
from worker.errors import ModelUnavailable, PolicyRejected
from worker.model import Action, Assessment

POLICY = ConsensusPolicy()
TEXT = "You can return any item within 30 days of delivery. Refunds take 5 working days."
QUERY = "Can I return an item?"
RIGHT = "You can return any item within 30 days [1]."
SAME = "Any item can be returned within 30 days of delivery [1]."
WRONG = "You can return any item within 90 days [1]."
UNKNOWN = "I do not know."


QUOTE = "You can return any item within 30 days of delivery"
SUPPORTED = reading(said("supported", QUOTE))


def consensus(
    draft: str, *others: str, policy: ConsensusPolicy = POLICY, answer: Answer | None = SUPPORTED
) -> Assessment:
    """The assessment of the central draft; a judge supports it."""
    found = replace(evidence(0.9, text=TEXT), other_drafts=others)
    return assessed(draft, policy, found, query=QUERY, answer=answer)


@pytest.mark.parametrize(
    ("draft", "others", "expected"),
    [
        (RIGHT, (SAME,), 1.0),
        (RIGHT, (WRONG, SAME), 1.0),
        (WRONG, (RIGHT, SAME), 0.0),
        ("The shop is open at 6 pm.", ("At 18:00 the shop is open.",), 1.0),
        (RIGHT, ("Parcels are sent from Hamburg by rail.",), 0.0),
        (RIGHT, (UNKNOWN,), 0.0),
        (UNKNOWN, (RIGHT,), 0.0),
        (RIGHT, (), 0.0),
        ("您可以在30天内退货。", ("商品可以在30天内退货。",), 1.0),
    ],
)
def test_agreement_is_the_share_of_facts_that_another_draft_states(
    draft: str, others: tuple[str, ...], expected: float
) -> None:
    """A wrong figure among right words is no agreement; the order of words does not matter."""
    assert agreement(draft, others) == pytest.approx(expected, abs=0.34 if "退货" in draft else 1e-9)


@pytest.mark.parametrize(
    ("drafts", "central"),
    [
        ((WRONG, RIGHT, SAME), {1, 2}),
        ((RIGHT, UNKNOWN, SAME), {0, 2}),
        ((UNKNOWN, RIGHT, UNKNOWN), {0}),
        ((UNKNOWN, RIGHT, SAME), {1, 2}),
        ((RIGHT, RIGHT), {0}),
    ],
)
def test_the_central_draft_is_the_one_that_the_others_state(
    drafts: tuple[str, ...], central: set[int]
) -> None:
    """Two drafts without an answer outvote one with an answer."""
    assert most_central(drafts) in central


def test_a_draft_that_another_confirms_and_the_judge_supports_is_sent() -> None:
    """The confidence is agreement times that of the reading, and the audit counts the drafts."""
    found = consensus(RIGHT, SAME)

    assert (found.action, found.failed_checks) == (Action.SEND, ())
    assert found.confidence == pytest.approx(found.signals["agreement"] * 0.97 * 0.95)
    assert found.diagnostics == {"agreement": 1.0, "drafts": 2, "send_at": 0.5}
    assert "2 of 3 models gave a draft" in found.explanation


@pytest.mark.parametrize(
    ("draft", "others", "category"),
    [
        (RIGHT, (), "too_few_drafts"),
        (WRONG, (RIGHT, SAME), "disagreement"),
        (UNKNOWN, (UNKNOWN,), "refusal"),
        ("You can return any item within 30 days [7].", (RIGHT,), "invalid_citation"),
    ],
)
def test_what_stops_a_draft_before_it_is_read(draft: str, others: tuple[str, ...], category: str) -> None:
    """Without consensus no reading is paid."""
    found = replace(evidence(0.9, text=TEXT), other_drafts=others)

    assert (consensus(draft, *others).category, consensus(draft, *others).action) == (
        category,
        Action.ESCALATE,
    )
    assert calls_for(draft, POLICY, found, query=QUERY) == 0


@pytest.mark.parametrize(
    ("draft", "answer", "category", "action"),
    [
        ("Unicorns graze nightly.", reading(said("not_mentioned")), "ungrounded", Action.ESCALATE),
        (RIGHT, reading(said("supported", QUOTE), relevance=0.0), "irrelevant", Action.ESCALATE),
        (WRONG, SUPPORTED, "contested", Action.ESCALATE),
        (RIGHT, ModelUnavailable("down"), "judge_unavailable", Action.HOLD),
        (RIGHT, None, "judge_off", Action.HOLD),
    ],
)
def test_agreement_alone_sends_nothing(
    draft: str, answer: Answer | None, category: str, action: Action
) -> None:
    """Models may agree on what no passage says, or on an answer to another question."""
    found = consensus(draft, draft, answer=answer)

    assert (found.category, found.action, found.policy) == (category, action, "consensus@2")


def test_a_draft_is_read_once() -> None:
    """The other drafts are compared, not read."""
    found = replace(evidence(0.9, text=TEXT), other_drafts=(SAME, RIGHT))

    assert calls_for(RIGHT, POLICY, found, query=QUERY) == 1


def test_the_thresholds_are_the_accounts() -> None:
    """Both bounds, and the fewest drafts."""
    lenient = ConsensusPolicy(min_agreement=0.0)

    assert consensus(WRONG, RIGHT, SAME, policy=lenient).category != "disagreement"
    assert consensus(RIGHT, SAME, policy=ConsensusPolicy(min_drafts=3)).category == "too_few_drafts"
    assert consensus(RIGHT, SAME, policy=ConsensusPolicy(send_at=1.0)).action is Action.ESCALATE
    assert consensus(RIGHT, policy=ConsensusPolicy(low_action=Action.FALLBACK)).fallback_text is not None


def test_evidence_that_cannot_answer_is_refused_before_several_models_are_paid() -> None:
    """As under ``calibrated``, under the policy's own name."""
    found = early_refusal(query="Can I return it?", evidence=Evidence(documents_stored=False), policy=POLICY)

    assert found is not None
    assert (found.policy, found.category) == ("consensus@2", "no_evidence")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"models": ["strong"]}, "models: expected 2 to 4 names, got 1"),
        ({"models": ["a", "b", "c", "d", "e"]}, "models: expected 2 to 4 names, got 5"),
        ({"models": ["a", "b"], "min_drafts": 3}, "min_drafts: expected a number from 2 to 2, got 3"),
        ({"min_agreement": 1.5}, "min_agreement: expected a number from 0 to 1, got 1.5"),
    ],
)
def test_a_wrong_field_is_named(options: dict[str, object], problem: str) -> None:
    """Before it is stored."""
    with pytest.raises(PolicyRejected) as refused:
        parse_policy({"name": "consensus", **options})  # type: ignore[dict-item]

    assert refused.value.problems == (problem,)
