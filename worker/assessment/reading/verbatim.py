"""Evidence that stands in for a reader: a draft copied from a passage, in the words of the question.

A sentence is verbatim when it is a whole sentence of a passage, word for word, whose next sentence does not
limit it. It answers a question when each content word of the question, and each negation and limit in it,
stands in the copied sentences or in a question of the passage directly before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, list_pattern, list_words
from worker.assessment.text.words import STOP, split_sentences, text_units

LEAST_WORDS: Final = 4
"""Words of a sentence that can answer alone; "Yes." stands below many questions."""


def is_verbatim(question: str, sentences: Sequence[str], passages: Sequence[tuple[str, str]]) -> bool:
    """Whether the sentences are copied from one passage, a (title, text), and have the question's words.

    An empty question is that of a check without a message, which asks for support alone.
    """
    asked = frozenset(unit for unit in text_units(question) if unit not in STOP or unit in _binding())
    return bool(sentences and (asked or not question)) and any(
        copies(sentences, text) and asked <= _spoken_of(sentences, text) for _, text in passages
    )


def copies(sentences: Sequence[str], passage: str) -> bool:
    """Whether each sentence is a whole sentence of a passage that the next one does not limit."""
    parts = [(_words(part), _limits(after)) for part, after in pairwise((*split_sentences(passage), ""))]
    free = {words for words, limited in parts if len(words) >= LEAST_WORDS and not limited}
    return all(_words(sentence) in free for sentence in sentences)


def _spoken_of(sentences: Sequence[str], passage: str) -> frozenset[str]:
    """The words of the copied sentences, and of questions that stand directly before them."""
    copied = {_words(sentence) for sentence in sentences}
    parts = split_sentences(passage)
    asked = [one for one, after in pairwise(parts) if one.endswith(("?", "？")) and _words(after) in copied]
    return frozenset(text_units("\n".join((*sentences, *asked))))


@cache
def _binding() -> frozenset[str]:
    """Function words that change what is asked: "without", "not"."""
    words = list_words("negating") | list_words("limiting")
    return frozenset(unit for word in words for unit in text_units(word))


@once
def _words(sentence: str) -> tuple[str, ...]:
    """The words of a sentence in order, without punctuation at their ends."""
    words = (word.strip(_SIGNS) for word in folded_text(sentence).split())
    return tuple(word for word in words if word)


_SIGNS: Final = ".,;:!?()[]\"“”„«»'。，！？、；："
"""Punctuation at the ends of words; a change of it changes no word."""


def _limits(sentence: str) -> bool:
    """Whether a sentence limits the sentence before it ("However, ...", "Unless ...")."""
    return bool(sentence) and list_pattern("limiting_heads").match(folded_text(sentence).lstrip()) is not None
