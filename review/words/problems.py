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
PATTERNS: Final[Mapping[re.Pattern[str], str]] = {
    re.compile(r"expected ranges such as (.+); past midnight is the next day's"): mark(
        "expected hours such as %(what)s, got %(got)s; hours past midnight belong to the next day"
    ),
    re.compile(r"expected an IANA time zone such as (.+)"): mark(
        "expected a time zone such as %(what)s, got %(got)s"
    ),
    re.compile(r"expected a date such as (.+)"): mark("expected a date such as %(what)s, got %(got)s"),
    re.compile(r"expected matched rules such as flagged_keyword:lawyer, or of (.+)"): mark(
        "expected matched rules such as flagged_keyword:lawyer, or of %(what)s; got %(got)s"
    ),
    re.compile(r"expected reason codes, matched rules such as (\S+), labels such as (?:\S+), or \*"): mark(
        "expected reason codes, matched rules such as %(what)s, labels such as label:language=de, or *;"
        " got %(got)s"
    ),
    re.compile(r"expected a (?:valid|finite) number()"): mark("expected a number, got %(got)s"),
    re.compile(r"expected (?:to match|a) pattern '(.+)'"): mark("expected the form %(what)s, got %(got)s"),
    re.compile(r"expected to have at most (\d+) characters?"): mark(
        "expected at most %(most)s characters, got %(got)s"
    ),
    re.compile(r"expected (?:one of )?('?[\w.-]+'?(?:(?:, | or )'?[\w.-]+'?)+)"): mark(
        "expected one of %(what)s, got %(got)s"
    ),
}
"""Other expectations, the narrowest first; a text of no pattern stays as it is."""
PLACE: Final = re.compile(r"([\w.]+): (expected .+)", re.DOTALL)


def problem_wording(text: str, number: Callable[[float], str] | None = None) -> str:
    """An expectation with the value that came; ``number`` writes the numbers of a bound."""
    if (placed := PLACE.fullmatch(text)) is not None:
        return f"{placed[1]}: {problem_wording(placed[2], number)}"
    shown = number or _plain
    if (found := BOUND.fullmatch(text)) is not None:
        return _(BOUNDS[found[1]]) % {"bound": shown(float(found[2])), "got": shown(float(found[3]))}
    expected, _sign, got = text.rpartition(", got ")
    for pattern, wording in PATTERNS.items():
        if (found := pattern.fullmatch(expected)) is not None:
            what = found[1].replace("'", "").replace(" or ", ", ")
            return _(wording) % {"what": what, "most": what, "got": got}
    return text


def _plain(number: float) -> str:
    return localized(f"{number:,.15g}")
