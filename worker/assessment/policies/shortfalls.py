"""What a judge's reading finds missing in a draft, as named in its checks."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from worker.assessment.reading.checked import CheckedReading


class Shortfall(StrEnum):
    """Why a draft is not sent."""

    PROMISE = "promised_action"
    UNGROUNDED = "ungrounded"
    UNQUOTED = "unquoted"
    CONTESTED = "contested"
    IRRELEVANT = "irrelevant"
    UNSURE = "unsure"
    UNCITED = "uncited"

    @classmethod
    def of_readings(cls) -> tuple[Shortfall, ...]:
        """The shortfalls that a reading looks for."""
        return (cls.PROMISE, cls.UNGROUNDED, cls.UNQUOTED, cls.CONTESTED, cls.IRRELEVANT)


def found_shortfalls(
    checked: CheckedReading, *, send_at: float, check_relevance: bool
) -> tuple[Shortfall, ...]:
    """The shortfalls of a reading, the deciding shortfall first."""
    named = checked.contested or checked.unquoted
    found = {
        Shortfall.PROMISE: checked.promises,
        Shortfall.CONTESTED: checked.contested,
        Shortfall.UNQUOTED: checked.unquoted,
        Shortfall.IRRELEVANT: check_relevance and checked.relevance < send_at,
        Shortfall.UNGROUNDED: not named and checked.support < send_at,
    }
    return tuple(name for name, noticed in found.items() if noticed)


def shortfall_reasons(checked: CheckedReading, failed: Sequence[str]) -> tuple[str, ...]:
    """One sentence for each shortfall, without words of the draft: not every reviewer may read it."""
    kinds = sorted({fact.partition(":")[0] for each in checked.sentences for fact in each.disagreements})
    said = {
        Shortfall.PROMISE: "the draft promises an action that is not performed",
        Shortfall.UNGROUNDED: "the passages do not support every sentence",
        Shortfall.UNQUOTED: "a sentence has no quote that stands in the passages",
        Shortfall.CONTESTED: f"the quotes do not bear out: {', '.join(kinds)}",
        Shortfall.IRRELEVANT: "the draft does not answer what was asked",
        Shortfall.UNSURE: "the judge is not sure enough",
        Shortfall.UNCITED: "the draft cites no passage",
    }
    return tuple(text for name, text in said.items() if name in failed)
