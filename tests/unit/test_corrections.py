"""Which reasons fit a decision, and what an overturn names as right."""

from __future__ import annotations

import re
from typing import Final

import pytest

from db.reviews.corrections import FITTING, Outcome, implied_correction, outcome_of, required_correction
from db.reviews.rulings import ReviewRejected, Ruling, RulingReason
from review.decision.review_panel import KEYS, REASON_KEYS
from review.http.static_files import STATIC
from worker.model import DecisionKind

KINDS: Final = {
    Outcome.REPLY: DecisionKind.RESPOND,
    Outcome.BLOCK: DecisionKind.IGNORE,
    Outcome.WITHHELD: DecisionKind.IGNORE,
    Outcome.HANDOFF: DecisionKind.ESCALATE,
}
ACTS: Final = re.compile(r'^    "(.)": \(?|, "(.)": ', re.MULTILINE)


@pytest.mark.parametrize("outcome", Outcome)
def test_every_fitting_reason_proposes_another_decision(outcome: Outcome) -> None:
    """A proposal that names the stored decision would be refused; each reason has a key of its own."""
    fitting = FITTING[outcome]
    keys = [REASON_KEYS[each.reason] for each in fitting]

    assert all(each.proposes is not KINDS[outcome] for each in fitting)
    assert len(set(keys)) == len(keys)
    assert RulingReason.CORRECT not in {each.reason for each in fitting}


def test_no_key_of_a_reason_is_a_key_of_every_page() -> None:
    """Such a key would move in a list or go to another page instead."""
    script = (STATIC / "keys.js").read_text()
    taken = {each for found in ACTS.findall(script[script.index("ACTS = {") :]) for each in found if each}

    assert taken.isdisjoint(REASON_KEYS.values())
    assert {"j", "n", *KEYS.values()} <= taken


@pytest.mark.parametrize(
    ("decision", "code", "outcome"),
    [
        (DecisionKind.RESPOND, "REPLIED", Outcome.REPLY),
        (DecisionKind.IGNORE, "FLAGGED_RULE", Outcome.BLOCK),
        (DecisionKind.IGNORE, "NO_EVIDENCE", Outcome.WITHHELD),
        (DecisionKind.IGNORE, "OF_ANOTHER_RELEASE", Outcome.WITHHELD),
        (DecisionKind.ESCALATE, "MODEL_ESCALATED", Outcome.HANDOFF),
    ],
)
def test_a_reply_and_a_block_have_different_reasons(
    decision: DecisionKind, code: str, outcome: Outcome
) -> None:
    """An unknown reason code of another release counts as withheld."""
    assert outcome_of(decision, code) is outcome


def test_a_correction_is_derived_only_where_one_is_possible() -> None:
    """By the reason alone; a reply that should have been answered makes no sense."""
    assert implied_correction(DecisionKind.IGNORE, RulingReason.SHOULD_ANSWER) is DecisionKind.RESPOND
    assert implied_correction(DecisionKind.RESPOND, RulingReason.SHOULD_ANSWER) is None
    assert implied_correction(DecisionKind.RESPOND, RulingReason.WRONG_FACTS) is None
    assert implied_correction(DecisionKind.RESPOND, None) is None


def test_an_overturn_without_a_correction_is_refused_by_name() -> None:
    """The message names both decisions that are possible; other rulings take none."""
    with pytest.raises(ReviewRejected, match="corrected decision: expected ignore or escalate"):
        required_correction(DecisionKind.RESPOND, Ruling.OVERTURN, RulingReason.WRONG_FACTS, None)
    with pytest.raises(ReviewRejected, match="expected only with overturn"):
        required_correction(DecisionKind.RESPOND, Ruling.AGREE, None, DecisionKind.IGNORE)
    given = required_correction(
        DecisionKind.RESPOND, Ruling.OVERTURN, RulingReason.WRONG_FACTS, DecisionKind.IGNORE
    )

    assert given is DecisionKind.IGNORE
    assert required_correction(DecisionKind.RESPOND, Ruling.AGREE, None, None) is None
