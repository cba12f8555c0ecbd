"""What fuzzy rules match besides their own spelling: everyday words and recent messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from worker.rules.compiler import compile_rules
from worker.rules.folding.fold import data_lines
from worker.rules.model import MatchMethod

CHUNK_WORDS = 50
"""Everyday words matched as one text: few, because one text has at most 100 hits."""
SHOWN_WORDS = 12
"""Most everyday words that a message names."""


@dataclass(slots=True)
class FuzzyReach:
    """What one fuzzy rule matches by one edit.

    Attributes:
        words: everyday words, the English ones first.
        messages: number of recent messages.
    """

    words: list[str] = field(default_factory=list)
    messages: int = 0


def fuzzy_reaches(
    rules: Iterable[str], allow: Sequence[str], recent: Sequence[str]
) -> Mapping[str, FuzzyReach]:
    """The reach of each fuzzy rule that matches a text other than its own spelling.

    ``rules`` are fuzzy rules as written; hits inside the allowed texts do not count.
    """
    compiled = compile_rules(tuple(rules), allow=allow, version=0)
    if not compiled.fuzzy_rules():
        return {}
    found: dict[str, FuzzyReach] = defaultdict(FuzzyReach)
    for chunk in _chunks():
        for hit in compiled.match(chunk):
            if MatchMethod.TYPO in hit.how.split("+") and hit.text not in found[hit.rule].words:
                found[hit.rule].words.append(hit.text)
    for text in recent:
        for rule in {hit.rule for hit in compiled.match(text) if MatchMethod.TYPO in hit.how.split("+")}:
            found[rule].messages += 1
    return found


def fuzzy_warning(reach: FuzzyReach, recent: int) -> str:
    """The reach in one sentence; ``recent`` is the number of recent messages that were read."""
    parts = []
    if reach.words:
        more = len(reach.words) - SHOWN_WORDS
        listed = ", ".join(reach.words[:SHOWN_WORDS]) + (f" and {more} more" if more > 0 else "")
        plural = "s" if len(reach.words) > 1 else ""
        parts.append(f"{len(reach.words)} everyday word{plural} ({listed})")
    if recent:
        parts.append(f"{reach.messages} of the last {recent} messages")
    return f"one edit away, so it matches too: {'; '.join(parts)}"


@cache
def everyday_words_by_language() -> Mapping[str, tuple[str, ...]]:
    """Everyday words of five letters or more, by language code; English first."""
    return {code: tuple(words) for code, *words in map(str.split, data_lines("common_words.txt"))}


@cache
def _chunks() -> tuple[str, ...]:
    """The everyday words as texts of a few words each."""
    words = [word for language in everyday_words_by_language().values() for word in language]
    return tuple("\n".join(words[at : at + CHUNK_WORDS]) for at in range(0, len(words), CHUNK_WORDS))
