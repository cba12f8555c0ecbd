"""Thresholds that reviews support, and the settings they change."""

from __future__ import annotations

import random
from typing import Any

import pytest

from trials.pure.threshold_proposals import (
    ReviewedMeasure,
    ThresholdTarget,
    category_observations,
    category_proposals,
    confidence_proposal,
    current_threshold,
    draft_observations,
    proposal_changes,
    threshold_changes,
    threshold_value,
)
from worker.account_settings import AccountRejected
from worker.model import Account


def reading(**changes: Any) -> ReviewedMeasure:
    """A sent reply with which the reviewer agrees."""
    values: dict[str, Any] = {
        "decision": "respond", "reason_code": "REPLIED", "matched_rule": None, "agrees": True, "weight": 1.0,
        "policy": "guardrail", "confidence": 0.9,
    }  # fmt: skip
    return ReviewedMeasure(**values | changes)


def account(**policy: Any) -> Account:
    """An account with this policy."""
    return Account(user_id="shop", version=3, assessment_policy=policy)


@pytest.mark.parametrize(
    ("changes", "hits"),
    [
        ({}, [True]),
        ({"agrees": False}, [False]),
        ({"decision": "ignore", "reason_code": "LOW_CONFIDENCE", "agrees": True}, [False]),
        ({"decision": "escalate", "reason_code": "LOW_CONFIDENCE_ESCALATED", "agrees": False}, [True]),
        ({"decision": "ignore", "reason_code": "REPLY_FLAGGED_RULE"}, []),
        ({"confidence": None}, []),
        ({"policy": "safety"}, []),
        ({"labels": {"subject": "tax"}}, [True]),
    ],
)
def test_a_draft_is_right_as_the_ruling_says(changes: dict[str, Any], hits: list[bool]) -> None:
    """A sent one where it agrees, one of low confidence where it does not; other endings say nothing."""
    assert [each.hit for each in draft_observations([reading(**changes)], policy="guardrail")] == hits


def test_drafts_are_chosen_by_label() -> None:
    """With its value."""
    held = [reading(labels={"subject": "tax"}), reading(labels={"subject": "travel"}), reading()]

    assert len(draft_observations(held, label="subject=tax")) == 1
    assert len(draft_observations(held)) == 3


def test_a_category_is_right_where_it_stopped_harmful_messages() -> None:
    """What other rules stopped says nothing, nor does a reply that was wrong for another reason."""
    scores = {"hate": 0.7}
    stopped = {"decision": "ignore", "reason_code": "MODERATION_FLAGGED", "scores": scores}
    held = [
        reading(**stopped, matched_rule="openai_moderation:hate"),
        reading(**stopped, matched_rule="openai_moderation:hate", agrees=False),
        reading(**stopped, matched_rule="openai_moderation:violence"),
        reading(scores=scores),
        reading(scores=scores, agrees=False),
        reading(scores=scores, agrees=False, harmful=True),
        reading(),
    ]

    assert [each.hit for each in category_observations(held, "hate")] == [True, False, False, True]


def readings(number: int, **changes: Any) -> list[ReviewedMeasure]:
    """Replies that are right with the probability of their confidence."""
    draws = random.Random(2)
    found = []
    for _ in range(number):
        score = draws.random()
        found.append(reading(confidence=score, agrees=draws.random() < score, **changes))
    return found


def test_a_proposal_is_a_change_of_the_policy() -> None:
    """In the field that the design compares with the measure; other fields stay, the published name goes."""
    current = account(name="guardrail", highThreshold=0.95, mediumThreshold=0.2)
    found = confidence_proposal(current, readings(800), 0.8)

    assert found is not None
    assert (found.target, found.name, found.current) == (ThresholdTarget.CONFIDENCE, "high_threshold", 0.95)
    assert found.changes_anything
    assert proposal_changes(current, found) == {
        "assessment_policy": {
            "name": "guardrail", "mediumThreshold": 0.2, "high_threshold": threshold_value(found)
        }
    }  # fmt: skip
    assert found.certified is not None
    assert 0 <= found.certified.threshold - threshold_value(found) < 0.001


def test_calibrated_is_proposed_by_its_confidence() -> None:
    """Drafts that no judge read have none, and are no readings."""
    held = [*readings(800, policy="calibrated"), *[reading(policy="calibrated", confidence=None)] * 50]
    found = confidence_proposal(account(), held, 0.8)

    assert found is not None
    assert (found.name, found.reviews) == ("send_at", 800)
    assert current_threshold(account(send_at=0.4)) == 0.4
    assert current_threshold(account()) == 0.5


def test_a_policy_without_a_single_threshold_has_no_proposal() -> None:
    """Its account is not changed."""
    assert confidence_proposal(account(name="safety"), readings(500), 0.8) is None
    assert current_threshold(account(name="safety")) is None


def test_categories_have_thresholds_of_their_own() -> None:
    """Each that stopped something or has a threshold; too few reviews propose nothing and say how many."""
    flagged = {"decision": "ignore", "reason_code": "MODERATION_FLAGGED"}
    held = [
        reading(**flagged, matched_rule="openai_moderation:hate", scores={"hate": 0.5 + number / 400})
        for number in range(150)
    ]
    current = Account(user_id="shop", version=1, moderation_thresholds={"violence": 0.4})
    hate, violence = category_proposals(current, held, 0.9)

    assert (hate.name, hate.current, violence.name, violence.current) == ("hate", None, "violence", 0.4)
    assert dict(proposal_changes(current, hate)) == {
        "moderation_thresholds": {"violence": 0.4, "hate": threshold_value(hate)}
    }
    assert (violence.certified, violence.reviews, violence.needed) == (None, 0, 49)
    with pytest.raises(ValueError, match="certified"):
        proposal_changes(current, violence)


def test_a_threshold_that_the_account_cannot_have_is_refused() -> None:
    """By the field, when it is made a change."""
    current = account(name="guardrail", high_threshold=0.9, medium_threshold=0.85)
    found = confidence_proposal(current, readings(800), 0.7)

    assert found is not None
    assert threshold_value(found) < 0.85
    with pytest.raises(AccountRejected, match="assessment_policy"):
        proposal_changes(current, found)
    assert threshold_changes(current, ThresholdTarget.CONFIDENCE, "high_threshold", 0.9)
