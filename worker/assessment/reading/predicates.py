"""Words that one text negates and the other affirms: "cannot be paused" and "you can pause"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from worker.assessment.reading.languages import language_of, main_clauses, restricts, same_language, says
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, language_pattern
from worker.assessment.text.words import STOP, comparable_unit, is_unspaced, split_sentences, word_tokens

WORDS_REACHED: Final = 4
"""Words after a negation among which the word that it negates is looked for."""
CHARS_REACHED: Final = 200
"""Characters that these words have at most, so that many negations are read in linear time."""
STEM: Final = 6
"""Letters that two forms of a word share at least."""
_LACKING: Final = re.compile(r"([^\W\d_]{3,})-?(?:free|frei(?:e[nmrs]?)?)(?!\w)|(?<!\w)non-?([^\W\d_]{3,})")
"""A word with what is not there: "gluten-free", "glutenfrei", "non-smoking"."""
_PART: Final = re.compile(r"[^.,;:!?()\n。，；：！？、،؛؟]+")


@dataclass(frozen=True, slots=True)
class Predicates:
    """The words of a text.

    Attributes:
        negated: words that directly follow a negation.
        words: all words with a meaning of their own.
        affirmed: those of the parts without a negation.
    """

    negated: frozenset[str]
    words: frozenset[str]
    affirmed: frozenset[str]


def denied(sentence: str, *, draft: str, quoted: str, near: Sequence[str], beyond: bool) -> str | None:
    """A word that only one of sentence and quotes negates, while the other has no negation; None without.

    Only texts of one language are compared, and no conditions: one text may say the other side of the
    condition of the other ("until noon you may", "after noon you may not"). Sentences ``near`` it in the
    passages may bear it out, and so may an amount or a day ``beyond`` those of the quotes.
    """
    language = language_of(quoted)
    folded, other = folded_text(sentence), folded_text(quoted)
    if not same_language(sentence, quoted) or restricts(folded, language) or restricts(other, language):
        return None
    said, stated = _predicates(main_clauses(folded, language), language), _predicates(other, language)
    if not _negates(folded, language):
        absent = lacking(other)
        if absent:
            absent -= stems(_LACKING.sub(" ", other))
        found = ((stated.negated | absent) & said.words) - said.negated
        return min(found - lacking(folded) if found else found, default=None)
    if beyond or _negates(other, language):
        return None
    found = (said.negated & stated.words) - stated.negated - said.affirmed
    if found:  # the rest of draft and paragraph is read for these words only
        affirmed = _predicates(folded_text(draft.replace(sentence, " ")), language).words
        around = (_predicates(folded_text(each), language).negated for each in near)
        found = found.difference(affirmed, lacking(other), *around)
    return min(found, default=None)


def nearest(sentence: str, quoted: str) -> str:
    """Of each line of quotes the sentences with most words of a sentence: others may deny other things."""
    said = stems(folded_text(sentence))
    return "\n".join(_nearest(said, split_sentences(line)) for line in quoted.splitlines())


def _nearest(said: frozenset[str], parts: Sequence[str]) -> str:
    shared = [len(stems(folded_text(part)) & said) for part in parts]
    return " ".join(part for part, count in zip(parts, shared, strict=True) if count == max(shared))


def lacking(folded: str) -> frozenset[str]:
    """The stems of what a folded text calls absent in one word with the absent thing."""
    return frozenset(stem_of(one or other) for one, other in _LACKING.findall(folded))


def _negates(folded: str, language: str | None) -> bool:
    return says("negating", folded, language) or says("privative", folded, language)


@once
def _predicates(folded: str, language: str | None) -> Predicates:
    negations, parts = language_pattern("negating", language), _PART.findall(folded)
    negated = {
        word
        for part in parts
        for negation in negations.finditer(part)
        if (word := _first_word(part[negation.end() :])) is not None
    }
    affirmed = " ".join(part for part in parts if negations.search(part) is None)
    return Predicates(negated=frozenset(negated), words=stems(folded), affirmed=stems(affirmed))


def stems(folded: str) -> frozenset[str]:
    """The beginnings of the words of folded text with a meaning of their own."""
    return frozenset(stem_of(word) for word in word_tokens(folded) if word not in STOP)


def _first_word(rest: str) -> str | None:
    for word in word_tokens(rest[:CHARS_REACHED])[:WORDS_REACHED]:
        if word not in STOP:
            return None if word.isdigit() or is_unspaced(word) else stem_of(word)
    return None


def stem_of(word: str) -> str:
    """The beginning of a folded word, which its forms share."""
    return comparable_unit(word)[:STEM]
