"""Codes, kinds of failure and lengths of time as people say them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from worker.rules.model import How

HOW: Final[Mapping[How, str]] = {
    How.EXACT: "written exactly so",
    How.CASE: "in other capitals",
    How.WIDTH: "in letters of another width",
    How.ACCENT: "with other accents",
    How.VARIANT: "in another spelling of its letters",
    How.HOMOGLYPH: "with look-alike letters of another script",
    How.LEET: "with digits or signs for letters",
    How.REPEAT: "with repeated letters",
    How.INVISIBLE: "with invisible characters inside",
    How.SEPARATED: "with its letters set apart",
    How.GLUED: "with its words run together",
    How.MASKED: "with masked letters",
    How.TYPO: "with one letter off",
    How.REGEX: "as its pattern allows",
}
KINDS: Final[Mapping[str, str]] = {
    "timeout": "timed out",
    "connection": "no connection",
    "rate_limited": "too many requests",
    "server_error": "server error",
    "malformed": "an answer that made no sense",
    "empty": "an empty answer",
    "rejected": "refused",
    "detector": "its filter failed",
}
"""How an attempt ended, as ``worker.adapters`` names it."""
ASPECTS: Final[Mapping[str, str]] = {
    "no_evidence": "no passage carries it",
    "invalid_citation": "it cites a passage that does not exist",
    "wrong_language": "it is in the wrong language",
    "mixed_scripts": "its words mix look-alike letters of two scripts",
    "moderation_hit": "moderation flagged it",
    "empty_reply": "it was empty",
    "citations_only": "it held nothing but citations",
    "context_too_large": "its passages were too long to check",
    "judge_unavailable": "the judge that should have decided did not answer",
    "undecided": "its words alone did not settle it",
    "ungrounded": "its facts are not in the passages",
}
"""What spoke against a draft, as policies name it."""
MOST_WORDS: Final = 80


def how(joined: str) -> str:
    """How a rule matched, such as ``leet+separated``, in words."""
    known = [HOW[How(each)] if each in HOW else each for each in joined.split("+") if each]
    return ", ".join(known)


def kind(outcome: str) -> str:
    """How an attempt ended, in words."""
    return KINDS.get(outcome, outcome.replace("_", " "))


def counted(times: int) -> str:
    """How often, as people say it."""
    return {1: "once", 2: "twice"}.get(times, f"{times} times")


def span_of(seconds: float) -> str:
    """A length of time as people say it: ``12 ms``, ``90 s``, ``3 h 20 min``, ``2 days``."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    if minutes < 120 and minutes != 60:
        return f"{minutes} min"
    if (minutes % 1440 == 0 and minutes > 1440) or minutes > 4 * 1440:
        return f"{round(minutes / 1440)} days"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def shortened(text: str) -> str:
    """A name or a rule, cut where it would fill the line."""
    return text if len(text) <= MOST_WORDS else text[:MOST_WORDS] + "…"


def plain(value: object) -> str:
    """A stored value as JSON; a list of words as words."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return orjson.dumps(value).decode()
