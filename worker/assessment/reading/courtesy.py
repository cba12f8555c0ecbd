"""Sentences that a judge may call a courtesy, so that no passage must support them."""

from __future__ import annotations

from typing import Final

from worker.assessment.reading.facts import disagreements
from worker.assessment.text.small_talk import is_small_talk
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.assessment.text.words import fact_units, text_units

MOST_WORDS: Final = 2
"""Content words of a sentence too short to state much ("These things happen!")."""
MOST_COURTESY_WORDS: Final = 12
"""Words of a sentence of regret or thanks; a longer one also says something else."""


def states_nothing(sentence: str, asked: str) -> bool:
    """Whether a sentence states no fact: a question, small talk, regret, thanks, or hardly a word."""
    if disagreements(sentence, draft="", quoted="", passages="", asked=asked):
        return False
    folded = folded_text(sentence).strip()
    units = text_units(sentence)
    if folded.endswith(("?", "？")) or is_small_talk(folded) or len(fact_units(units)) <= MOST_WORDS:
        return True
    return len(units) <= MOST_COURTESY_WORDS and list_pattern("courtesies").search(folded) is not None
