"""Words that say the opposite of each other, such as open and closed, in a sentence and in its quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from worker.assessment.reading.clauses import content_of, main_clauses
from worker.assessment.reading.languages import language_of, same_language, says
from worker.assessment.reading.polarity import without_neutral
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, list_words, phrase_pattern

_CLAUSE_END: Final = re.compile(r"[,.;:!?()\n—–。，；：！？、]")
WORDS_BEFORE: Final = 3
"""Words before a word among which a negation reaches it ("not yet fully open")."""
WORDS_AFTER: Final = 2
SIGNS_BESIDE: Final = 4
"""The same in a script without spaces, in signs."""
PRICE: Final = "price"
DUTY: Final = "duty"
INCLUSION: Final = "inclusion"
TURNED_BY_NEGATION: Final = frozenset({DUTY, "opening", "money back", "validity", INCLUSION})
"""Kinds of which a negation says the other side: "not open" is closed."""
CONDITIONAL: Final = frozenset({DUTY, "money back"})
"""Kinds that a condition turns round: "you may until noon" is "after noon you may not"."""


def opposed(sentence: str, quoted: str) -> str | None:
    """A kind of which the sentence says one side only and the quotes the other side only, or None."""
    if "|" in quoted:  # cells of a table may speak of several things
        return None
    said, stated = sides(main_clauses(folded_text(sentence))), sides(quoted)
    for kind in sorted((said.keys() & stated.keys()) - {PRICE}):
        one, other = said[kind], stated[kind]
        if len(one) == 1 and len(other) == 1 and one != other and not _turned(kind, sentence, quoted):
            return kind
    return None


def free_of_charge(sentence: str, *, quoted: str, asked: str, near: Sequence[str]) -> bool:
    """Whether a sentence says that something is free of charge where none of its evidence does.

    Where the quotes name a charge, a sentence ``near`` it in the passages counts only if it is as much alike.
    """
    if sides(sentence).get(PRICE) != frozenset({True}):
        return False
    charged = sides(quoted).get(PRICE) == frozenset({False}) and same_language(sentence, quoted)
    words = content_of(sentence)
    alike = len(words & content_of(quoted)) if charged else 0
    stated = (quoted, asked, *(each for each in near if len(words & content_of(each)) >= alike))
    return not any(_gives_free(sides(each)) for each in stated)


def _gives_free(stated: Mapping[str, frozenset[bool]]) -> bool:
    return True in stated.get(PRICE, ()) or INCLUSION in stated


def waived(sentence: str, *, quoted: str, near: Sequence[str]) -> bool:
    """Whether a sentence says that something is not needed where its quotes name a condition only.

    Sentences ``near`` it in the passages may say so in place of the quotes.
    """
    if sides(sentence).get(DUTY) != frozenset({False}) or not same_language(sentence, quoted):
        return False
    folded, language = folded_text(quoted), language_of(quoted)
    named = says("conditions", folded, language) or sides(quoted).get(DUTY) == frozenset({True})
    dropped = says("negating", folded, language) or says("privative", folded, language)
    return named and not dropped and not any(False in sides(each).get(DUTY, ()) for each in near)


def _turned(kind: str, sentence: str, quoted: str) -> bool:
    texts = (sentence, quoted)
    return kind in CONDITIONAL and any(says("restricting", folded_text(t), language_of(t)) for t in texts)


@once
def sides(text: str) -> Mapping[str, frozenset[bool]]:
    """Kind -> the sides of it that a text says; a negation in the clause turns a side round."""
    found: dict[str, set[bool]] = {}
    language = language_of(text)
    for clause in _CLAUSE_END.split(without_neutral(folded_text(text), language)):
        for kind, side in _sides_of(clause, language):
            found.setdefault(kind, set()).add(side)
    return {kind: frozenset(each) for kind, each in found.items()}


def _sides_of(clause: str, language: str | None) -> Iterator[tuple[str, bool]]:
    pattern, meanings = _opposites()
    for match in pattern.finditer(clause):
        negated = _is_negated(clause, match.start(), match.end(), language)
        for kind, side in meanings[match[0]]:
            if kind in TURNED_BY_NEGATION:
                yield kind, side is not negated
            elif not negated:
                yield kind, side


def _is_negated(clause: str, start: int, end: int, language: str | None) -> bool:
    if clause[start] >= "\u3040":
        near = clause[max(0, start - SIGNS_BESIDE) : start], clause[end : end + SIGNS_BESIDE]
    else:
        before, after = clause[:start].split()[-WORDS_BEFORE:], clause[end:].split()[:WORDS_AFTER]
        near = " ".join(before), " ".join(after)
    return any(says("negating", each, language) for each in near)


@cache
def _opposites() -> tuple[re.Pattern[str], Mapping[str, frozenset[tuple[str, bool]]]]:
    """A pattern for every word, and the kinds and sides that it means."""
    found: dict[str, set[tuple[str, bool]]] = {}
    for entry in list_words("opposites"):
        kind, _, words = entry.partition(": ")
        for side, several in zip((True, False), words.split(" / "), strict=True):
            for word in several.split(", "):
                found.setdefault(folded_text(word), set()).add((kind, side))
    meanings = {word: frozenset(each) for word, each in found.items()}
    return phrase_pattern(tuple(meanings)), meanings
