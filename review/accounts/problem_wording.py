"""Why a setting was refused, in the reader's language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from review.languages import gettext as _
from review.languages import mark
from review.languages.numbers import localized

BOUNDS: Final[Mapping[str, str]] = {
    "greater than or equal to": mark("expected at least %(bound)s, got %(got)s"),
    "less than or equal to": mark("expected at most %(bound)s, got %(got)s"),
    "greater than": mark("expected more than %(bound)s, got %(got)s"),
    "less than": mark("expected less than %(bound)s, got %(got)s"),
}
BOUND: Final = re.compile(rf"expected ({'|'.join(BOUNDS)}) (-?[\d.e+]+), got (-?[\d.e+]+)")
"""A bound of a number as ``worker.account_settings`` words it."""
OTHERS: Final[Mapping[str, str]] = {
    "expected ranges such as 09:00-12:00, 13:00-17:00; past midnight is the next day's": mark(
        "expected hours such as 09:00-12:00, 13:00-17:00, got %(got)s; hours past midnight belong to the"
        " next day"
    ),
    "expected an IANA time zone such as Europe/Berlin": mark(
        "expected a time zone such as Europe/Berlin or Asia/Ho_Chi_Minh, got %(got)s"
    ),
}
"""Other expectations of the form with sentences; texts of the advanced form stay as they are."""


def problem_wording(text: str, number: Callable[[float], str] | None = None) -> str:
    """An expectation with the value that came; ``number`` writes the numbers of a bound."""
    shown = number or _plain
    if (found := BOUND.fullmatch(text)) is not None:
        return _(BOUNDS[found[1]]) % {"bound": shown(float(found[2])), "got": shown(float(found[3]))}
    expected, _sign, got = text.rpartition(", got ")
    return _(OTHERS[expected]) % {"got": got} if expected in OTHERS else text


def _plain(number: float) -> str:
    return localized(f"{number:,.15g}")
