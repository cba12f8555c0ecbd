"""Sentences that a judge may call a courtesy, so that no passage must support them."""

from __future__ import annotations

from typing import Final

from worker.assessment.reading.clauses import content_of
from worker.assessment.reading.facts import disagreements
from worker.assessment.reading.polarity import headed
from worker.assessment.text.small_talk import is_small_talk
from worker.assessment.text.wordlists import folded_text, list_pattern

MOST_WORDS: Final = 2
"""Content words, besides regret or thanks, of a sentence too short to state much ("These things happen!")."""


def states_nothing(sentence: str, *, asked: str, passages: str) -> bool:
    """Whether a sentence states no fact: a question, small talk, regret, thanks, or hardly a word.

    A word of the passages speaks of what the account offers: "Insurance included!" states something.
    """
    head, body = headed(sentence)
    if head and not body:  # what follows is compared with it
        return True
    if disagreements(sentence, draft="", quoted="", passages="", asked=asked):
        return False
    folded = folded_text(sentence).strip()
    if folded.endswith(("?", "？")) or is_small_talk(folded):
        return True
    said = content_of(list_pattern("courtesies").sub(" ", folded))
    return len(said) <= MOST_WORDS and said.isdisjoint(content_of(passages))
