"""The policy ``consensus``: agreement of drafts, the central one, and what stops it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.assessment.samples import evidence
from worker.assessment import Evidence, early_refusal, parse_policy
from worker.assessment.policies.agreement import agreement, most_central
from worker.assessment.policies.consensus import ConsensusPolicy, assess_draft
from worker.assessment.values import DraftCase
from worker.errors import PolicyRejected
from worker.model import Action, Assessment

POLICY = ConsensusPolicy()
TEXT = "You can return any item within 30 days of delivery. Refunds take 5 working days."
QUERY = "Can I return an item?"
RIGHT = "You can return any item within 30 days [1]."
SAME = "Any item can be returned within 30 days of delivery [1]."
WRONG = "You can return any item within 90 days [1]."
UNKNOWN = "I do not know."


def assessed(draft: str, *others: str, policy: ConsensusPolicy = POLICY, query: str = QUERY) -> Assessment:
    found = replace(evidence(0.9, text=TEXT), other_drafts=others)
    return assess_draft(DraftCase(query=query, evidence=found, draft=draft), policy)


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


def test_a_draft_that_another_confirms_is_sent() -> None:
    """The confidence is agreement times support, and the audit counts the drafts."""
    found = assessed(RIGHT, SAME)

    assert (found.action, found.failed_checks) == (Action.SEND, ())
    assert found.confidence == pytest.approx(found.signals["agreement"] * found.signals["support"])
    assert found.diagnostics == {"agreement": 1.0, "drafts": 2}
    assert "2 of 3 models gave a draft" in found.explanation


@pytest.mark.parametrize(
    ("draft", "others", "category"),
    [
        (RIGHT, (), "too_few_drafts"),
        (WRONG, (RIGHT, SAME), "disagreement"),
        ("Unicorns graze on moonbeams nightly.", ("Unicorns graze nightly on moonbeams.",), "ungrounded"),
        ("You can return any item within 30 days [7].", (RIGHT,), "invalid_citation"),
        (UNKNOWN, (UNKNOWN,), "refusal"),
    ],
)
def test_what_stops_a_draft(draft: str, others: tuple[str, ...], category: str) -> None:
    """Agreement alone is not enough: models may agree on what no passage says."""
    found = assessed(draft, *others)

    assert (found.category, found.action) == (category, Action.ESCALATE)


def test_an_answer_to_another_question_is_not_sent() -> None:
    """However many models give it."""
    found = assessed(RIGHT, RIGHT, query="Who is the chief executive of the bakery in Lyon?")

    assert found.failed_checks == ("irrelevant",)


def test_the_thresholds_are_the_accounts() -> None:
    """Both bounds, and the fewest drafts."""
    lenient = ConsensusPolicy(min_agreement=0.0)

    assert assessed(WRONG, RIGHT, SAME, policy=lenient).category != "disagreement"
    assert assessed(RIGHT, SAME, policy=ConsensusPolicy(min_drafts=3)).category == "too_few_drafts"
    assert assessed(RIGHT, SAME, policy=ConsensusPolicy(min_support=1.0)).category == "ungrounded"
    assert assessed(RIGHT, policy=ConsensusPolicy(low_action=Action.FALLBACK)).fallback_text is not None


def test_evidence_that_cannot_answer_is_refused_before_several_models_are_paid() -> None:
    """As under ``calibrated``, under the policy's own name."""
    found = early_refusal(query="Can I return it?", evidence=Evidence(), policy=POLICY)

    assert found is not None
    assert (found.policy, found.category) == ("consensus@1", "no_evidence")


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
