"""Whether the letters of a candidate are the rule's with one edit: a typo, as fuzzy rules allow it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import groupby

from worker.rules.folding.fold import natural_form
from worker.rules.folding.units import LetterUnit
from worker.rules.matching.letters import MIN_STRETCH, letter_method
from worker.rules.model import MatchMethod


def letters_agree_with_typo(
    expected: Sequence[LetterUnit], found: Sequence[LetterUnit], methods: set[MatchMethod]
) -> bool:
    """Whether the letters differ by one edit; the other differences are added to ``methods``.

    An edit is a letter more, less or other, or two neighbours exchanged. In a text with stretched letters all
    runs of one letter are compared as one letter.
    """
    added: set[MatchMethod] = {MatchMethod.TYPO}
    if any(len(list(run)) >= MIN_STRETCH for _, run in groupby(found, _letter)):
        expected, found = _collapsed(expected), _collapsed(found)
        added.add(MatchMethod.REPEAT)
    other = _edit_methods(expected, found)
    if other is None:
        return False
    methods |= added | other
    return True


def _letter(unit: LetterUnit) -> str:
    return unit.letter


def _collapsed(units: Sequence[LetterUnit]) -> list[LetterUnit]:
    return [next(run) for _, run in groupby(units, _letter)]


def _edit_methods(expected: Sequence[LetterUnit], found: Sequence[LetterUnit]) -> set[MatchMethod] | None:
    """The methods of the letters outside the edit, or None when more than one edit is needed."""
    same = 0
    while (
        same < min(len(expected), len(found))
        and letter_method(expected[same], found[same], found) is not None
    ):
        same += 1
    left, right = expected[same:], found[same:]
    pairs: list[tuple[Sequence[LetterUnit], Sequence[LetterUnit]]] = []
    if len(left) == len(right) > 1:
        pairs.append((left, [right[1], right[0], *right[2:]]))
    longer = len(left) - len(right)
    if -1 <= longer <= 1 and all(map(_is_letter, (*left[: longer >= 0], *right[: longer <= 0]))):
        pairs.append((left[longer >= 0 :], right[longer <= 0 :]))
    for rest, other in pairs:
        methods = {
            letter_method(*pair, found)
            for pair in zip((*expected[:same], *rest), (*found[:same], *other), strict=True)
        }
        if None not in methods:
            return {method for method in methods if method is not None}
    return None


def _is_letter(unit: LetterUnit) -> bool:
    """Whether an edit may concern this letter: digits and signs are no typos (``windows7``)."""
    return any(unicodedata.category(char)[0] in "LM" for char in natural_form(unit.char))
