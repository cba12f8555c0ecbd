"""Rulings and their reasons in the language of the reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from db.reviews.rulings import Effect, Ruling, RulingReason
from review.languages import gettext, mark

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


def ruling_label(ruling: Ruling) -> str:
    """A ruling as a choice."""
    return gettext(RULINGS[ruling])


def ruling_reason(reason: RulingReason) -> str:
    """The reason of a ruling in words."""
    return gettext(reason.label)


def ruling_effect(effect: Effect, *, withdraws: bool = False) -> str:
    """What a review, or its withdrawal, changed; empty when nothing."""
    is_sealed_again = withdraws and effect is Effect.REMOVED
    return gettext(SEALED_AGAIN if is_sealed_again else EFFECTS[effect])
