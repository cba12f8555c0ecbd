"""Rule syntax: from a string in ``flagged_keywords`` or ``flagged_phrases`` to a rule."""

from __future__ import annotations

import re
import unicodedata

from worker.errors import RuleRejected
from worker.rules.model import Rule, RuleKind, Switch

MAX_RULE_CHARS = 200
"""Longest plain rule; a longer string is a pasted text, not a rule."""

MAX_REGEX_CHARS = 500
"""Longest ``/regex/``; RE2 is linear, but its program grows with the pattern."""

_SWITCHES = re.compile(r"\s*\{([A-Za-z_,\s]*)\}\s*$")
_REGEX = re.compile(r"/(.*)/", re.DOTALL)
_LEET_EDGE = frozenset("@$+")


def parse_rule(written: str, kind: RuleKind) -> Rule:
    """The rule of a stored string.

    Raises:
        RuleRejected: the string is empty, too long, has an unknown switch or nothing to find.
    """
    body, switches = _split_switches(written)
    regex = _REGEX.fullmatch(body)
    if regex:
        return Rule(
            written=written, core=_regex_body(written, regex[1]), kind=RuleKind.REGEX, switches=switches
        )
    if body.startswith("/") and len(body) > 1 and _looks_unterminated(body):
        raise RuleRejected(written, "unterminated regex: expected a closing /")
    if len(body) > MAX_RULE_CHARS:
        raise RuleRejected(written, f"expected at most {MAX_RULE_CHARS} characters, got {len(body)}")
    return _plain_rule(written, body, kind, switches)


def _split_switches(written: str) -> tuple[str, frozenset[Switch]]:
    found = _SWITCHES.search(written[-MAX_REGEX_CHARS:])
    if found is None:
        return written.strip(), frozenset()
    names = [name for name in re.split(r"[,\s]+", found[1]) if name]
    unknown = [name for name in names if name not in set(Switch)]
    if unknown or not names:
        expected = ", ".join(Switch)
        raise RuleRejected(written, f"unknown switch {unknown[0] if unknown else '{}'}; expected {expected}")
    body = written[: len(written) - len(found[0])]
    return body.strip(), frozenset(Switch(name) for name in names)


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
    if start >= end:
        if not core or not _is_pictogram(core):
            raise RuleRejected(written, "nothing to look for: expected a letter, a digit or an emoji")
        return Rule(written=written, core=core, kind=kind, switches=switches, open_start=True, open_end=True)
    return Rule(
        written=written, core=core[start:end], kind=kind, switches=switches,
        open_start=open_start, open_end=open_end, prefix=core[:start].strip(), suffix=core[end:].strip(),
    )  # fmt: skip


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
