"""What the page of a decision says of a draft that a policy assessed: the comparison that decided."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import orjson
import pytest

from review.decision import margins
from review.decision.clauses import ExplanationFacts
from review.decision.explanation import explain
from tests.support.readings import reading, said
from tests.unit.assessment.samples import Answer, assessed, evidence, passage
from tests.unit.test_sentences import row, stage
from worker.assessment import Evidence, early_refusal, in_test_mode, parse_policy
from worker.errors import ModelUnavailable
from worker.model import Action, Assessment, Json, Tier
from worker.snapshot import Snapshot

QUOTE = "You can return any item within 30 days of delivery"
GROUNDED = "You can return any item within 30 days of delivery [1]."


def explained(reason: str, found: Assessment, settings: dict[str, Json], *stages: str) -> str:
    """The sentence of a decision that ended for a reason with this assessment."""
    decided = row(
        reason,
        confidence=found.confidence,
        assessment=asdict(found),
        stages=[stage(name) for name in stages],
        passages=[{"similarity": 0.9}],
    )
    snapshot = Snapshot.from_json(orjson.loads(orjson.dumps(decided["snapshot_json"])))
    shown = margins.assessment_margins(snapshot, settings)
    return explain(ExplanationFacts(row=decided, snapshot=snapshot, margins=shown))


@pytest.mark.parametrize(
    ("settings", "found", "expected"),
    [
        pytest.param(
            {},
            Evidence(passages=(passage(similarity=1.0, grade="8"),), expected_metadata={"grade": "9"}),
            "no passage has the labels of the message (grade)",
            id="labels",
        ),
        pytest.param(
            {}, evidence(1.0, text="Too short."), "10 characters in all passages, required 100", id="short"
        ),
        pytest.param(
            {},
            Evidence(passages=(passage(rerank="0.20"),)),
            "best rerank score 0.20, required 0.50",
            id="rerank",
        ),
        pytest.param(
            {"min_similarity_score": 0.95},
            evidence(0.9),
            "best similarity 0.90, required 0.95",
            id="best similarity",
        ),
        pytest.param({}, evidence(0.9, 0.2), "mean similarity 0.55, required 0.60", id="mean similarity"),
    ],
)
def test_an_early_refusal_of_safety_names_the_comparison_that_failed(
    settings: dict[str, Json], found: Evidence, expected: str
) -> None:
    """With its own threshold, and without a word about nearness when the passages are near enough."""
    policy = parse_policy({"name": "safety", **settings})
    refused = early_refusal(query="What is the return policy?", evidence=found, policy=policy)
    assert refused is not None
    text = explained("NO_EVIDENCE", refused, {"name": "safety", **settings})

    assert f"the passages found are not enough to answer from ({expected})" in text
    assert expected in refused.explanation
    assert "near enough" not in text
    assert text.count("required") <= 1


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ("You can return any item within 30 days.", "share of sentences cited 0.00, required 0.80"),
        ("You can return any item within 30 days of delivery [7].", "no passage has the cited number 7"),
        ("The moon is made of basalt and dust [1].", "share of sentences that overlap 0.00, required 0.70"),
        (f"As an AI, {GROUNDED}", "it says 'as an ai'"),
    ],
)
def test_a_draft_that_safety_stopped_names_what_failed(draft: str, expected: str) -> None:
    """No measure that passed is named."""
    found = assessed(draft, parse_policy({"name": "safety"}), evidence(0.9, 0.9))
    text = explained("LOW_CONFIDENCE", found, {"name": "safety"}, "generation")

    assert expected in text
    assert "mean similarity" not in text


@pytest.mark.parametrize(
    ("draft", "category"),
    [
        ("The question is ambiguous, so the return takes thirty days or sixty days.", "AMBIGUOUS_QUERY"),
        ("An error occurred while the return policy was looked up in the documents.", "TOOL_FAILURE"),
        ("Maybe it is possibly thirty days, but I think it might be sixty days.", "UNCERTAINTY"),
    ],
)
def test_failsafe_names_its_category(draft: str, category: str) -> None:
    """Whether the score or the category alone stopped the draft."""
    found = assessed(draft, parse_policy({"name": "failsafe"}), answer=1.0)
    text = explained("LOW_CONFIDENCE", found, {"name": "failsafe"}, "generation")

    assert found.category == category
    assert f"({category})" in text
    assert ("where 0.70 is needed" in text) == (found.confidence < 0.7)


@pytest.mark.parametrize(
    ("reason", "confidence", "expected"),
    [
        ("LOW_CONFIDENCE", 0.2, "0.20 where 0.50 is needed"),
        ("REPLIED", 0.52, "0.52 where 0.50 is needed"),
        ("REPLIED", 0.85, "0.85 where 0.50 is needed"),
        ("LOW_CONFIDENCE", 0.498, "0.498 where 0.500 is needed"),
    ],
)
def test_one_policy_quotes_one_threshold(reason: str, confidence: float, expected: str) -> None:
    """A draft of ``guardrail`` is sent from the middle threshold on, and stopped below it."""
    settings: dict[str, Any] = {"name": "guardrail"}
    found = replace(assessed(GROUNDED, parse_policy(settings), answer=0.0), confidence=confidence)

    assert expected in explained(reason, found, settings, "generation")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            reading(said("not_mentioned", probability=0.2)),
            "its support is 0.00 where 0.50 is needed: the passages do not support every sentence",
        ),
        (
            reading(said("supported", QUOTE, probability=0.4)),
            "its support is 0.40 where 0.50 is needed: the passages do not support every sentence",
        ),
        (
            reading(said("supported", QUOTE), relevance=0.1),
            "its relevance is 0.10 where 0.50 is needed: it does not answer the question",
        ),
        (reading(said("supported", "no such words here")), "a sentence has no quote from the passages"),
    ],
)
def test_calibrated_names_what_the_judge_found(answer: str, expected: str) -> None:
    """The half that fell short, and what it lacks."""
    found = assessed("It can go back for 30 days.", parse_policy({}), answer=answer)

    assert expected in explained("LOW_CONFIDENCE", found, {}, "generation")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "the judge is switched off"),
        (ModelUnavailable("down"), "the judge did not answer"),
        ("?", "the judge's answer could not be read"),
    ],
)
def test_a_draft_without_a_reading_says_what_became_of_the_call(answer: Answer | None, expected: str) -> None:
    """No figure is shown for it."""
    stored = asdict(assessed("It can go back for 30 days.", parse_policy({}), answer=answer))
    look = Snapshot.from_json(orjson.loads(orjson.dumps({"assessment": stored}))).assessment
    assert look is not None

    assert margins.trust_wording(look, (), sent=False) == expected


def test_a_veto_is_explained_without_a_figure_that_did_not_decide() -> None:
    """A draft in the wrong language is stopped by that fact, however well its words are supported."""
    found = Assessment(
        policy="calibrated@3",
        confidence=0.0,
        tier=Tier.LOW,
        action=Action.SILENCE,
        category="wrong_language",
        failed_checks=("wrong_language",),
        diagnostics={"send_at": 0.5},
    )
    text = explained("LOW_CONFIDENCE", found, {}, "generation")

    assert text.endswith("not trusted; it is in the wrong language.")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (0.0, "handed to a person; its confidence is 0.27 where 0.50 is needed"),
        (1.0, "too; its confidence is 0.97 where 0.50 is"),
    ],
)
def test_test_mode_is_explained_with_the_action_it_held_back(answer: float, expected: str) -> None:
    """A reply sent in test mode is not called trusted."""
    settings: dict[str, Any] = {"name": "guardrail", "test_mode": True}
    found = in_test_mode(assessed(GROUNDED, parse_policy(settings), answer=answer))
    text = explained("REPLIED", found, settings, "generation")

    assert "the account's policy is in test mode and changes nothing" in text
    assert expected in text
