"""Sentences that a judge may call a courtesy, so that no passage must support them."""

from __future__ import annotations

import re
from typing import Final

from worker.assessment.reading.clauses import content_of
from worker.assessment.reading.facts import disagreements
from worker.assessment.reading.polarity import headed
from worker.assessment.text.small_talk import is_small_talk
from worker.assessment.text.wordlists import folded_text, list_pattern

MOST_WORDS: Final = 2
"""Content words of a sentence too short to state much ("These things happen!")."""
MOST_COURTESY_WORDS: Final = 4
"""Most words beside a word of regret or thanks ("I am sorry, get well soon!")."""
_ABOUT: Final = re.compile(
    r"(?: you| ihnen| dir| euch)?[\s,]*"
    r"(?:about|for|to (?:hear|read|see|learn)|that you|über|für|wegen|pour|de|du|des|por|per|om|voor|za)"
    r"\b[^,.;:!?]*[.!]*"
)
"""What is regretted or thanked for: a courtesy, whatever it names."""
_MISHAP: Final = re.compile(r" (?:that )?(?:it|this|things) [^,.;:!?\d]*[.!]*")
"""What went wrong, after regret ("it still is not right"); it states nothing where it has hardly a word."""


def states_nothing(sentence: str, *, asked: str, passages: str) -> bool:
    """Whether a sentence states no fact: a question, small talk, regret, thanks, or hardly a word.

    A word of the passages speaks of what the account offers: "Insurance included!" states something.
    """
    head, body = headed(sentence)
    if head and not body:  # what follows is compared with it
        return True
    if disagreements(sentence, draft="", quoted="", beside="", passages="", question=asked, asked=asked):
        return False
    folded = folded_text(sentence).strip()
    if folded.endswith(("?", "？")) or is_small_talk(folded):
        return True
    courtesy = list_pattern("courtesies").search(folded)
    if courtesy is not None and _ABOUT.fullmatch(folded[courtesy.end() :]) is not None:
        return True
    said = content_of(list_pattern("courtesies").sub(" ", folded))
    if courtesy is not None and _MISHAP.fullmatch(folded[courtesy.end() :]) and len(said) <= MOST_WORDS:
        return True
    most = MOST_WORDS if courtesy is None else MOST_COURTESY_WORDS
    return len(said) <= most and said.isdisjoint(content_of(passages))
