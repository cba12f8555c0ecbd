"""One measure of a decision against one threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from review.languages import gettext
from review.languages.numbers import localized

SMALLEST_SHOWN: Final = 0.01
"""A score below it is not shown when it has no threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """One measure against one threshold.

    Attributes:
        subject: what was measured: the message, the draft, the passages.
        effect: what happens from the threshold on.
        threshold: None when the API's own flag decides.
        sends: the policy requires it of a draft before it is sent.
        is_category: ``measure`` is a category of moderation; otherwise a marked text.
    """

    subject: str
    measure: str
    score: float
    threshold: float | None
    effect: str
    sends: bool = False
    is_category: bool = False

    @property
    def reached(self) -> bool:
        """Whether the score is at or above the threshold."""
        return self.threshold is not None and self.score >= self.threshold

    @property
    def shown(self) -> bool:
        """Whether the page shows it: every score with a threshold, and others that are not close to 0."""
        return self.threshold is not None or self.score >= SMALLEST_SHOWN

    def comparison(self) -> str:
        """``0.62 of 0.70, 0.08 short``; three decimals where two would hide the difference."""
        if self.threshold is None:
            return localized(f"{self.score:.2f}")
        score, threshold, off = self._figures(self.threshold)
        values = {"score": score, "threshold": threshold, "off": off}
        if self.reached:
            return gettext("%(score)s of %(threshold)s, %(off)s over") % values
        return gettext("%(score)s of %(threshold)s, %(off)s short") % values

    def requirement(self) -> str:
        """``0.62 where 0.70 is needed``; the score alone without a threshold."""
        if self.threshold is None:
            return localized(f"{self.score:.2f}")
        score, threshold, _off = self._figures(self.threshold)
        text = gettext("%(score)s where %(threshold)s is needed")
        return text % {"score": score, "threshold": threshold}

    def rounded(self) -> tuple[str, str]:
        """Score and threshold with enough decimals to show a difference; an empty threshold for none."""
        if self.threshold is None:
            return localized(f"{self.score:.2f}"), ""
        return self._figures(self.threshold)[:2]

    def _figures(self, threshold: float) -> tuple[str, str, str]:
        """Score, threshold and their distance, with enough decimals to show a difference."""
        gap = self.score - threshold
        places = 2 if abs(gap) >= 0.005 or gap == 0 else 3 if abs(gap) >= 0.0005 else 6
        figures = (self.score, threshold, abs(gap))
        score, needed, off = (localized(f"{each:.{places}f}") for each in figures)
        return score, needed, off
