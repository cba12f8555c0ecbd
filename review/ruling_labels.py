"""Rulings and their reasons in the language of the reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from db.reviews.rulings import Ruling, RulingReason
from review.languages import gettext, mark

RULINGS: Final[Mapping[Ruling, str]] = {
    Ruling.AGREE: mark("Agree"),
    Ruling.OVERTURN: mark("Overturn"),
    Ruling.UNSURE: mark("Unsure"),
    Ruling.WITHDRAWN: mark("Withdrawn"),
}
"""Total; buttons and radio fields show them."""


def ruling_label(ruling: Ruling) -> str:
    """A ruling as a choice."""
    return gettext(RULINGS[ruling])


def ruling_reason(reason: RulingReason) -> str:
    """The reason of a ruling in words."""
    return gettext(reason.label)
