"""A message as a search reads it: its words with their weights, and its texts for an embedding model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from worker.documents.sentences import sentence_spans
from worker.documents.words import search_words

QUESTION_MARKS: Final = ("?", "？", "؟")
CLOSING: Final = "!.)\"'”’»」 "
"""Signs that may follow a question mark."""
QUESTION_WEIGHT: Final = 2.0
"""Weight of the words in a question among other sentences; the weights are measured, see
``docs/retrieval.md``."""
EARLIER_WEIGHT: Final = 0.3
"""Weight of words that only the earlier lines of the conversation have."""
MOST_SENTENCES: Final = 3
"""Sentences that get a vector of their own."""


def weighted_words(query: str, earlier: Sequence[str] = ()) -> dict[str, float]:
    """The weight of each word of a message and of the lines before it."""
    sentences = _sentences(query)
    questions = [each for each in sentences if _asks(each)] if len(sentences) > 1 else []
    weights = dict.fromkeys(_words(earlier), EARLIER_WEIGHT)
    weights |= dict.fromkeys(search_words(query), 1.0)
    return weights | dict.fromkeys(_words(questions), QUESTION_WEIGHT)


def embedded_texts(query: str, earlier: Sequence[str] = ()) -> tuple[str, ...]:
    """The texts whose vectors are compared: the message, after the line it continues, and its sentences."""
    continued = (f"{earlier[0]}\n{query}",) if earlier else ()
    return (query, *continued, *_chosen(_sentences(query)))


def _chosen(sentences: Sequence[str]) -> list[str]:
    """Of several sentences the questions and the last ones: an account of events precedes its question."""
    if len(sentences) < 2:
        return []
    last_first = sentences[::-1]
    questions = [each for each in last_first if _asks(each)]
    return [*questions, *(each for each in last_first if not _asks(each))][:MOST_SENTENCES]


def _asks(sentence: str) -> bool:
    return sentence.rstrip(CLOSING).endswith(QUESTION_MARKS)


def _sentences(text: str) -> list[str]:
    parts = (text[start:end].strip() for start, end in sentence_spans(text))
    return [part for part in parts if part]


def _words(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in search_words(text)]
