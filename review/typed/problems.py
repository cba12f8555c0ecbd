"""What is wrong with a field of a form, in a person's words: the texts of every form and of every setting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from review.languages import gettext as _
from review.languages import mark
from review.languages.numbers import localized

SHOWN: Final = 40
"""Characters of a wrong text that are repeated."""
BOUNDS: Final[Mapping[str, str]] = {
    "greater than or equal to": mark("Write at least %(bound)s, not %(got)s."),
    "less than or equal to": mark("Write at most %(bound)s, not %(got)s."),
    "greater than": mark("Write more than %(bound)s, not %(got)s."),
    "less than": mark("Write less than %(bound)s, not %(got)s."),
}
BOUND: Final = re.compile(rf"expected ({'|'.join(BOUNDS)}) (-?[\d.e+]+), got (-?[\d.e+]+)")
"""A bound of a number as ``worker.account_settings`` words it."""
LANGUAGE: Final = mark("Write a language code such as en or de, not %(got)s.")
FORMS: Final[Mapping[str, str]] = {
    "^[a-z]{2,3}$": LANGUAGE,
    "^[a-z]{2}$": mark("Write a country code such as de or vn, not %(got)s."),
    "^[a-z][a-z0-9_-]{0,39}$": mark(
        "Write a name of small letters, digits, - and _ that starts with a letter, not %(got)s."
    ),
}
"""Pattern of a text -> what to write."""
PATTERNS: Final[Mapping[re.Pattern[str], str]] = {
    re.compile(r"expected ranges such as (.+); past midnight is the next day's"): mark(
        "Write hours such as %(what)s, not %(got)s; hours past midnight belong to the next day."
    ),
    re.compile(r"expected an IANA time zone such as (.+)"): mark(
        "Write a time zone such as %(what)s, not %(got)s."
    ),
    re.compile(r"expected a date such as (.+)"): mark("Write a date such as %(what)s, not %(got)s."),
    re.compile(r"expected a language code such as (.+)"): LANGUAGE,
    re.compile(r"expected a country code such as (.+)"): mark(
        "Write a country code such as %(what)s, not %(got)s."
    ),
    re.compile(r"expected matched rules such as flagged_keyword:lawyer, or of (.+)"): mark(
        "Write a matched rule such as flagged_keyword:lawyer, or one of %(what)s, not %(got)s."
    ),
    re.compile(r"expected reason codes, matched rules such as (\S+), labels such as (?:\S+), or \*"): mark(
        "Write a reason code, a matched rule such as %(what)s, a label such as label:language=de, or *,"
        " not %(got)s."
    ),
    re.compile(r"expected a (?:valid|finite) (?:number|integer)()"): mark("Write a number, not %(got)s."),
    re.compile(r"expected a number from (.+)"): mark("Write a number from %(what)s, not %(got)s."),
    re.compile(r"expected at most (.+)"): mark("Write at most %(what)s, not %(got)s."),
    re.compile(r"expected (?:one of )?('?[\w.-]+'?(?:(?:, | or )'?[\w.-]+'?)+)"): mark(
        "Choose one of %(what)s, not %(got)s."
    ),
}
"""Other expectations, the narrowest first; a text without a pattern stays unchanged."""
FORM: Final = re.compile(r"expected a text of the pattern '(.+)'")
UNKNOWN: Final = re.compile(r"there is no such (?:field|setting)\b.*", re.DOTALL)
PLACE: Final = re.compile(r"([\w.]+): (expected .+)", re.DOTALL)


def problem_wording(text: str, number: Callable[[float], str] | None = None) -> str:
    """An expectation with the value that came; ``number`` writes the numbers of a bound."""
    if (placed := PLACE.fullmatch(text)) is not None:
        return f"{placed[1]}: {problem_wording(placed[2], number)}"
    shown = number or _plain
    if (found := BOUND.fullmatch(text)) is not None:
        return _(BOUNDS[found[1]]) % {"bound": shown(float(found[2])), "got": shown(float(found[3]))}
    if UNKNOWN.fullmatch(text):
        return _("There is no such setting.")
    expected, _sign, got = text.rpartition(", got ")
    if (found := FORM.fullmatch(expected)) is not None:
        wording = FORMS.get(found[1], mark("Write another text: %(got)s cannot be used here."))
        return _(wording) % {"got": got}
    for pattern, wording in PATTERNS.items():
        if (found := pattern.fullmatch(expected)) is not None:
            what = found[1].replace("'", "").replace(" or ", ", ")
            return _(wording) % {"what": what, "most": what, "got": got}
    return text


def number_problem(got: str) -> str:
    """No number was typed."""
    return _("Write a number, not “%(got)s”.") % {"got": got[:SHOWN]} if got.strip() else _("Write a number.")


def range_problem(least: str, most: str) -> str:
    """No number within bounds was typed."""
    return _("Write a number from %(least)s to %(most)s.") % {"least": least, "most": most}


def share_problem(got: str) -> str:
    """No percentage was typed."""
    return _("Write a percentage from 0 to 100, not “%(got)s”.") % {"got": got[:SHOWN]}


def choice_problem(known: Iterable[str], got: str) -> str:
    """No value of a closed set was sent."""
    return _("Choose one of %(known)s, not “%(got)s”.") % {"known": ", ".join(known), "got": got[:SHOWN]}


def length_problem(most: int) -> str:
    """No text, or one that is too long or cannot be printed."""
    return _("Write 1 to %(most)s characters.") % {"most": most}


def button_problem() -> str:
    """No button of the page was pressed, such as by a program."""
    return _("Press one of the buttons of the page.")


def lines_problem(example: str, got: str) -> str:
    """A line is no pair."""
    return _("Write lines such as %(example)s, not “%(got)s”.") % {"example": example, "got": got[:SHOWN]}


def twice_problem(got: str) -> str:
    """A name comes twice."""
    return _("Write each name once: “%(got)s” comes twice.") % {"got": got[:SHOWN]}


def _plain(number: float) -> str:
    return localized(f"{number:,.15g}")
