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
        token in _small_talk() or (is_unspaced(token) and _segmented(token, _small_talk(), _longest()))
        for token in found
    )


@cache
def _small_talk() -> frozenset[str]:
    return list_words("greetings") | list_words("thanks") | list_words("offers")


@cache
def _longest() -> int:
    return max(len(word) for word in _small_talk())


def _segmented(run: str, allowed: frozenset[str], longest: int) -> bool:
    """Whether a run of an unspaced script consists only of allowed words."""
    reachable = {0}
    for start in range(len(run)):
        if start in reachable:
            reachable.update(
                end
                for end in range(start + 1, min(start + longest, len(run)) + 1)
                if run[start:end] in allowed
            )
    return len(run) in reachable
