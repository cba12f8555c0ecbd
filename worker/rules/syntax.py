"""Rule syntax: from a string in ``flagged_keywords`` or ``flagged_phrases`` to a rule."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

from worker.displayed import without_flags
from worker.displayed.flags import BLANKS
from worker.errors import RuleRejected
from worker.rules.conditions import AuthorCondition, parse_condition
from worker.rules.folding.fold import Fold, script_code
from worker.rules.folding.forms import folded_words
from worker.rules.model import Rule, RuleKind, Switch

MAX_RULE_CHARS = 200
"""Longest plain rule; a longer string is a pasted text, not a rule."""

MAX_REGEX_CHARS = 500
"""Longest ``/regex/``; RE2 is linear, but its program grows with the pattern."""

MIN_FUZZY = 6
"""Fewest letters of a fuzzy rule. Of 350 comments, 67 keywords of five letters match 58 more when they are
fuzzy, 184 longer keywords two more (docs/rules.md)."""

MAX_FUZZY = 40
"""Most letters of a fuzzy rule; no word is longer, and each letter costs memory."""

FUZZY_SIGN = "~"
FUZZY_SWITCHES = frozenset(
    {Switch.EXACT_ACCENTS, Switch.NO_LEET, Switch.NO_SPACING, Switch.FULL, Switch.FULL_EXACT}
)
"""Switches that a fuzzy rule takes; the others ask for an exact match or for a part of a word."""

FUZZY_SCRIPTS = frozenset([
    "Latn", "Grek", "Cyrl", "Armn", "Geor", "Arab", "Hebr", "Deva", "Beng", "Guru", "Gujr", "Orya", "Taml",
    "Telu", "Knda", "Mlym", "Sinh", "Zyyy", "Zinh",
])  # fmt: skip
"""Alphabets with spaces between words, and common signs; one other Han character or Hangul syllable makes
another word."""

_SWITCHES = re.compile(r"\s*\{([A-Za-z_,\s]*|[^{}]*(?:\bauthor\.|[<>=])[^{}]*)\}\s*$")
_REGEX = re.compile(r"/(.*)/", re.DOTALL)
_LEET_EDGE = frozenset("@$+")


def parse_rule(written: str, kind: RuleKind) -> Rule:
    """The rule of a stored string.

    Raises:
        RuleRejected: the string is empty, too long, has an unknown switch or nothing to find.
    """
    body, switches, conditions = _split_switches(written)
    return replace(
        _rule(written, body, kind, switches, has_conditions=bool(conditions)), conditions=conditions
    )


def _rule(
    written: str, body: str, kind: RuleKind, switches: frozenset[Switch], *, has_conditions: bool
) -> Rule:
    """The rule without its conditions."""
    if has_conditions and not body:
        return Rule(written=written, core="", kind=RuleKind.AUTHOR, switches=switches)
    regex = _REGEX.fullmatch(body)
    if regex:
        return Rule(
            written=written, core=_regex_body(written, regex[1]), kind=RuleKind.REGEX, switches=switches
        )
    if body.startswith("/") and len(body) > 1 and _looks_unterminated(body):
        raise RuleRejected(written, "unterminated regex: expected a closing /")
    if len(body) > MAX_RULE_CHARS:
        raise RuleRejected(written, f"expected at most {MAX_RULE_CHARS} characters, got {len(body)}")
    if body.startswith(FUZZY_SIGN) and any(map(str.isalnum, body)):
        return _fuzzy_rule(written, body[1:].strip(), kind, switches)
    return _plain_rule(written, body, kind, switches)


def _split_switches(written: str) -> tuple[str, frozenset[Switch], tuple[AuthorCondition, ...]]:
    """The rule's text, its switches and its conditions."""
    found = _SWITCHES.search(written[-MAX_REGEX_CHARS:])
    if found is None:
        return written.strip(), frozenset(), ()
    parts = found[1].split(",")
    conditions = tuple(parse_condition(each, written) for each in parts if _is_condition(each))
    names = [name for part in parts if not _is_condition(part) for name in part.split()]
    unknown = [name for name in names if name not in set(Switch)]
    if unknown or not (names or conditions):
        expected = ", ".join(Switch)
        raise RuleRejected(written, f"unknown switch {unknown[0] if unknown else '{}'}; expected {expected}")
    body = written[: len(written) - len(found[0])]
    return body.strip(), frozenset(Switch(name) for name in names), conditions


def _is_condition(part: str) -> bool:
    return "author." in part or any(sign in part for sign in "<>=")


def without_switches(written: str) -> str:
    """The rule without the switches in braces at its end.

    Raises:
        RuleRejected: a switch is unknown.
    """
    return _split_switches(written)[0]


def _looks_unterminated(body: str) -> bool:
    return any(sign in body for sign in ("\\", "[", "(", "|", "^", ".*", ".+"))


def _regex_body(written: str, pattern: str) -> str:
    if not pattern:
        raise RuleRejected(written, "empty regex: it would match every message")
    if len(pattern) > MAX_REGEX_CHARS:
        raise RuleRejected(
            written, f"expected a regex of at most {MAX_REGEX_CHARS} characters, got {len(pattern)}"
        )
    return pattern


def _plain_rule(written: str, body: str, kind: RuleKind, switches: frozenset[Switch]) -> Rule:
    if any("\ud800" <= char <= "\udfff" for char in body):
        raise RuleRejected(
            written.encode("utf-8", "replace").decode(), "holds a lone surrogate, which is no character"
        )
    core = body
    open_start = core.startswith("*") or Switch.SUBSTRING in switches or Switch.ENDS in switches
    open_end = core.endswith("*") or Switch.SUBSTRING in switches or Switch.STARTS in switches
    core = core.strip("*").strip()
    start, end = _core_edges(core)
    if start >= end or not without_flags(core).strip(BLANKS):
        if not core or not _is_pictogram(core):
            raise RuleRejected(written, "nothing to look for: expected a letter, a digit or an emoji")
        return Rule(written=written, core=core, kind=kind, switches=switches, open_start=True, open_end=True)
    return Rule(
        written=written, core=core[start:end], kind=kind, switches=switches,
        open_start=open_start, open_end=open_end, prefix=core[:start].strip(), suffix=core[end:].strip(),
    )  # fmt: skip


def _fuzzy_rule(written: str, body: str, kind: RuleKind, switches: frozenset[Switch]) -> Rule:
    """The rule of ``~word``.

    Raises:
        RuleRejected: it is not one word of ``MIN_FUZZY`` to ``MAX_FUZZY`` letters, in a script that separates
            words by spaces.
    """
    if refused := sorted(switches - FUZZY_SWITCHES):
        allowed = ", ".join(sorted(FUZZY_SWITCHES))
        raise RuleRejected(written, f"a fuzzy rule takes the switches {allowed}, got {refused[0]}")
    if body.startswith("/") or "*" in body:
        raise RuleRejected(written, "a fuzzy rule is one whole word, without * and not a regex")
    rule = _plain_rule(written, body, kind, switches)
    if other := [char for char in rule.core if char.isalpha() and script_code(char) not in FUZZY_SCRIPTS]:
        expected = "fuzzy rules are for alphabets with spaces between words"
        raise RuleRejected(written, f"{expected}, got {other[0]} ({script_code(other[0])})")
    letters = folded_words(rule.core, Fold.NATIVE)
    if " " in letters:
        raise RuleRejected(written, "a fuzzy rule is one word, without spaces or signs inside")
    if not MIN_FUZZY <= len(letters) <= MAX_FUZZY:
        expected = f"expected a fuzzy rule of {MIN_FUZZY} to {MAX_FUZZY} letters"
        raise RuleRejected(written, f"{expected}, got {len(letters)}: short words have too many neighbours")
    return replace(rule, fuzzy=True)


def _core_edges(core: str) -> tuple[int, int]:
    """Start and end of the letters; signs used as letters (``@ss``, ``a$$``) are included."""
    start, end = 0, len(core)
    while start < end and not _is_core(core, start, 1):
        start += 1
    while end > start and not _is_core(core, end - 1, -1):
        end -= 1
    return start, end


def _is_core(core: str, at: int, step: int) -> bool:
    char = core[at]
    if unicodedata.category(char)[0] in "LNM" or char in "\u200c\u200d":
        return True
    while 0 <= at < len(core) and core[at] in _LEET_EDGE:
        at += step
    return char in _LEET_EDGE and 0 <= at < len(core) and core[at].isalpha()


def _is_pictogram(core: str) -> bool:
    return any(unicodedata.category(char)[0] == "S" or ord(char) > 0xFFFF for char in core)
