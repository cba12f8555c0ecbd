"""Evidence that needs no reader: a draft copied from a passage, whose own words are those of the question.

A sentence is verbatim when a whole sentence of a passage has the same words in the same order, but for a
few words of grammar; negation, modality, conditions and numbers are no such words. The next sentence of the
passage must not limit it. A question is answered verbatim when each of its content words stands in the draft,
in the passage's title, or in a question of the passage that the copied sentence answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, list_pattern, list_words
from worker.assessment.text.words import STOP, split_sentences, text_units


def is_verbatim(question: str, sentences: Sequence[str], passages: Sequence[tuple[str, str]]) -> bool:
    """Whether the sentences are copied from one passage, a (title, text), and have the question's words."""
    asked = frozenset(unit for unit in text_units(question) if unit not in STOP)
    return bool(sentences and asked) and any(
        copies(sentences, text) and asked <= _spoken_of(sentences, title, text) for title, text in passages
    )


def copies(sentences: Sequence[str], passage: str) -> bool:
    """Whether each sentence is a whole sentence of a passage that the next one does not limit."""
    parts = [(_bearing(part), _limits(after)) for part, after in pairwise((*split_sentences(passage), ""))]
    free = {bearing for bearing, limited in parts if bearing and not limited}
    return all(_bearing(sentence) in free for sentence in sentences)


def _spoken_of(sentences: Sequence[str], title: str, passage: str) -> frozenset[str]:
    """The words of the copied sentences, of the title, and of questions that stand before them."""
    copied = {_bearing(sentence) for sentence in sentences}
    parts = split_sentences(passage)
    asked = [one for one, after in pairwise(parts) if one.endswith(("?", "？")) and _bearing(after) in copied]
    return frozenset(text_units("\n".join((title, *sentences, *asked))))


@once
def _bearing(sentence: str) -> tuple[str, ...]:
    """The words of a sentence in order, without articles and pronouns of the account and the author."""
    free = list_words("verbatim_free")
    words = (word.strip(_SIGNS) for word in folded_text(sentence).split())
    return tuple(word for word in words if word and word not in free)


_SIGNS: Final = ".,;:!?()[]\"“”„«»'。，！？、；："
"""Punctuation at the ends of words; a change of it changes no word."""


def _limits(sentence: str) -> bool:
    """Whether a sentence limits the one before it ("However, ...", "Unless ...")."""
    return bool(sentence) and list_pattern("limiting_heads").match(folded_text(sentence).lstrip()) is not None
