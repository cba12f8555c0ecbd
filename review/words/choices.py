"""Rulings and the values of filters, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from db.figures.figure_sql import RunEvent
from db.reviews.rulings import Effect, Ruling, RulingReason
from review.languages import gettext, mark, worded
from review.words import decisions, states

RUN_EVENTS: Final[Mapping[str, str]] = {
    RunEvent.RETRIED: mark("a call was retried"),
    RunEvent.RECHECKED: mark("the draft was rechecked"),
    RunEvent.IMPROVED: mark("the recheck improved the draft"),
}
"""Total over ``RunEvent``."""
SOURCES: Final[Mapping[str, str]] = {"stream": mark("the stream"), "check": mark("check by a program")}
YES_OR_NO: Final[Mapping[str, str]] = {"yes": mark("yes"), "no": mark("no")}
FEEDBACK: Final[Mapping[str, str]] = {
    "wrong": mark("a customer calls the reply wrong"),
    "right": mark("customers call the reply right"),
    **YES_OR_NO,
}
WORDINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "decision": decisions.decision_label,
    "review": worded(states.REVIEW_STATES),
    "answered": worded({**YES_OR_NO, **states.ANSWER_STATES}),
    "scope": worded(states.SCOPES),
    "source": worded(SOURCES),
    "tier": decisions.tier_wording,
    "feedback": worded(FEEDBACK),
    "ran": worded(RUN_EVENTS),
    "degraded": worded(YES_OR_NO),
}
"""How the choices of a filter are shown, by its name."""


def choice_label(choice: str, field: str) -> str:
    """A choice of a filter in words; an unknown value unchanged."""
    return WORDINGS[field](choice.lower()) if field in WORDINGS else choice


RULINGS: Final[Mapping[Ruling, str]] = {
    Ruling.AGREE: mark("Agree"),
    Ruling.OVERTURN: mark("Overturn"),
    Ruling.UNSURE: mark("Unsure"),
    Ruling.WITHDRAWN: mark("Withdrawn"),
}
"""Total; buttons and radio fields show them."""
EFFECTS: Final[Mapping[Effect, str]] = {
    Effect.NONE: "",
    Effect.RESTORED: mark("The exchange was restored."),
    Effect.REMOVED: mark("The exchange was removed."),
}
"""Total: what a review changed."""
SEALED_AGAIN: Final = mark("The exchange was sealed again.")


def ruling_reason(code: str) -> str:
    """The reason of a ruling in words."""
    return gettext(RulingReason(code).label)


def ruling_effect(effect: Effect, *, withdraws: bool = False) -> str:
    """What a review, or its withdrawal, changed; empty when nothing."""
    is_sealed_again = withdraws and effect is Effect.REMOVED
    return gettext(SEALED_AGAIN if is_sealed_again else EFFECTS[effect])
