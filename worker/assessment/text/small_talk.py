"""Words of greetings, thanks and offers of help, in every language of the word lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from worker.assessment.text.wordlists import list_words
from worker.assessment.text.words import is_unspaced, word_tokens


def is_small_talk(text: str) -> bool:
    """Whether folded text consists only of words of greetings, thanks, offers of help or regret."""
    found = word_tokens(text)
    return all_small_talk(found) or found == ["sorry"]


def all_small_talk(found: Sequence[str]) -> bool:
    """Whether every token is a word of greetings, thanks and offers of help."""
    return all(
        token in _small_talk() or (is_unspaced(token) and is_segmented(token, _segments())) for token in found
    )


@cache
def _small_talk() -> frozenset[str]:
    return list_words("greetings") | list_words("thanks") | list_words("offers")


@cache
def _segments() -> frozenset[tuple[str, ...]]:
    return frozenset(map(tuple, _small_talk()))


def is_segmented(units: Sequence[str], phrases: frozenset[tuple[str, ...]]) -> bool:
    """Whether units (words, or letters of a script without spaces) consist only of phrases."""
    longest = _longest(phrases)
    reachable = {0}
    for start in range(len(units)):
        if start in reachable:
            reachable.update(
                end
                for end in range(start + 1, min(start + longest, len(units)) + 1)
                if tuple(units[start:end]) in phrases
            )
    return len(units) in reachable


@cache
def _longest(phrases: frozenset[tuple[str, ...]]) -> int:
    return max(map(len, phrases))
