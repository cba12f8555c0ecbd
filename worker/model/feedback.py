"""What a customer says about a reply."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LOW_RATING: Final = 2
"""The highest rating that calls a reply wrong; the next higher rating is neither wrong nor right."""


class Thumb(StrEnum):
    """A customer's thumb."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """A customer's marks for a reply; a text of the customer is the event's ``text``.

    Attributes:
        rating: 1 (worst) to 5.
        resolved: whether the reply solved the customer's problem.
        about: event id or decision id of the rated reply; None: the reply to the event's ``message_id``.
    """

    thumb: Thumb | None = None
    rating: int | None = None
    resolved: bool | None = None
    about: str | None = None

    @property
    def is_mark(self) -> bool:
        """Whether there is a mark beside the text."""
        return any(each is not None for each in (self.thumb, self.rating, self.resolved))

    @property
    def wrong(self) -> bool | None:
        """Whether a mark calls the reply wrong, or else right; None: neither."""
        rating = self.rating or LOW_RATING + 1
        if rating <= LOW_RATING or self.thumb is Thumb.DOWN or self.resolved is False:
            return True
        return False if rating > LOW_RATING + 1 or self.thumb or self.resolved else None

    @property
    def marks(self) -> str:
        """The marks in words, for the decision's reason."""
        resolved = None if self.resolved is None else "yes" if self.resolved else "no"
        given = (("thumb", self.thumb), ("rating", self.rating), ("resolved", resolved))
        return ", ".join(f"{name} {mark}" for name, mark in given if mark is not None) or "a text"
