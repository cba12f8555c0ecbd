"""Which reasons of a ruling fit a decision, and which decision would have been right instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from db.reviews.rulings import ReviewRejected, Ruling, RulingReason
from worker.model import DecisionKind
from worker.reasons import BLOCKED

_IGNORE, _RESPOND, _ESCALATE = DecisionKind.IGNORE, DecisionKind.RESPOND, DecisionKind.ESCALATE


class Outcome(StrEnum):
    """What a reviewer judges: the same reasons fit every decision of one outcome."""

    REPLY = "reply"
    BLOCK = "block"
    WITHHELD = "withheld"
    HANDOFF = "handoff"


@dataclass(frozen=True, slots=True, kw_only=True)
class FittingReason:
    """A reason that may overturn a decision.

    Attributes:
        proposes: the right decision that the form proposes with it.
        certain: no other decision goes with the reason, so that it can be left out.
    """

    reason: RulingReason
    proposes: DecisionKind
    certain: bool = False


def _fits(reason: RulingReason, proposes: DecisionKind, *, certain: bool = False) -> FittingReason:
    return FittingReason(reason=reason, proposes=proposes, certain=certain)


FITTING: Final[Mapping[Outcome, tuple[FittingReason, ...]]] = {
    Outcome.REPLY: (
        _fits(RulingReason.WRONG_FACTS, _ESCALATE),
        _fits(RulingReason.MISSING_KNOWLEDGE, _ESCALATE),
        _fits(RulingReason.OFF_TOPIC, _ESCALATE),
        _fits(RulingReason.BAD_TONE, _ESCALATE),
        _fits(RulingReason.RULE_MISSED, _IGNORE, certain=True),
        _fits(RulingReason.MODERATION_MISSED, _IGNORE, certain=True),
        _fits(RulingReason.SHOULD_ESCALATE, _ESCALATE, certain=True),
        _fits(RulingReason.CONTEXT_MATTERS, _ESCALATE),
        _fits(RulingReason.POLICY_CHANGED, _IGNORE),
        _fits(RulingReason.OTHER, _ESCALATE),
    ),
    Outcome.BLOCK: (
        _fits(RulingReason.RULE_TOO_BROAD, _RESPOND, certain=True),
        _fits(RulingReason.MODERATION_TOO_STRICT, _RESPOND, certain=True),
        _fits(RulingReason.SHOULD_ESCALATE, _ESCALATE, certain=True),
        _fits(RulingReason.CONTEXT_MATTERS, _RESPOND),
        _fits(RulingReason.POLICY_CHANGED, _RESPOND),
        _fits(RulingReason.OTHER, _RESPOND),
    ),
    Outcome.WITHHELD: (
        _fits(RulingReason.SHOULD_ANSWER, _RESPOND, certain=True),
        _fits(RulingReason.SHOULD_ESCALATE, _ESCALATE, certain=True),
        _fits(RulingReason.MISSING_KNOWLEDGE, _ESCALATE),
        _fits(RulingReason.CONTEXT_MATTERS, _RESPOND),
        _fits(RulingReason.POLICY_CHANGED, _RESPOND),
        _fits(RulingReason.OTHER, _RESPOND),
    ),
    Outcome.HANDOFF: (
        _fits(RulingReason.SHOULD_ANSWER, _RESPOND, certain=True),
        _fits(RulingReason.RULE_MISSED, _IGNORE, certain=True),
        _fits(RulingReason.MODERATION_MISSED, _IGNORE, certain=True),
        _fits(RulingReason.CONTEXT_MATTERS, _RESPOND),
        _fits(RulingReason.POLICY_CHANGED, _RESPOND),
        _fits(RulingReason.OTHER, _RESPOND),
    ),
}
"""Total; in the order of the form. Other reasons can still be sent by the API and the command line."""
_IMPLIED: Final[Mapping[RulingReason, DecisionKind]] = {
    each.reason: each.proposes for reasons in FITTING.values() for each in reasons if each.certain
}


def outcome_of(decision: DecisionKind, reason_code: str) -> Outcome:
    """What a decision is to its reviewer; a reason code of another release counts as withheld."""
    if decision is DecisionKind.RESPOND:
        return Outcome.REPLY
    if decision is DecisionKind.ESCALATE:
        return Outcome.HANDOFF
    return Outcome.BLOCK if reason_code in BLOCKED else Outcome.WITHHELD


def implied_correction(decision: DecisionKind, reason: RulingReason | None) -> DecisionKind | None:
    """The right decision that a reason alone names; None when several are possible."""
    implied = _IMPLIED.get(reason) if reason else None
    return None if implied is decision else implied


def proposed_correction(
    decision: DecisionKind, reason_code: str, reason: RulingReason | None
) -> DecisionKind | None:
    """The right decision that the form proposes with a reason; None when the reason does not fit."""
    fitting = FITTING[outcome_of(decision, reason_code)]
    return next((each.proposes for each in fitting if each.reason is reason), None)


def required_correction(
    decision: DecisionKind, ruling: Ruling, reason: RulingReason | None, given: DecisionKind | None
) -> DecisionKind | None:
    """The right decision of an overturn, given or implied by its reason; None with other rulings.

    Raises:
        ReviewRejected: an overturn without one, or one that names the stored decision or belongs to no
            overturn.
    """
    if ruling is not Ruling.OVERTURN:
        if given is not None:
            raise ReviewRejected(f"corrected decision: expected only with overturn, got it with {ruling}")
        return None
    if given is decision:
        raise ReviewRejected(f"corrected decision: expected another than {decision}, the stored one")
    found = given or implied_correction(decision, reason)
    if found is None:
        others = " or ".join(each for each in DecisionKind if each is not decision)
        raise ReviewRejected(f"corrected decision: expected {others}, as you overturn it, got nothing")
    return found
