"""Whether a text has a word: exact, by stem, inside a compound, or with one letter wrong."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from worker.assessment.text.words import is_unspaced, unaccented_unit

NEAR = 0.8
"""How far a word counts that shares its stem with a word of the text, or differs by a typing error."""

_STEM = 5
"""Fewest letters of a shared stem."""

_LONGEST = 40
"""Letters up to which a word is compared by stem and typing errors; longer ones cost too much time."""

_LETTERS_PER_ERROR = 4
"""One typing error (a letter wrong, missing, added, or two swapped) is allowed per so many letters."""


class Words:
    """The units of one text, indexed for comparison once."""

    def __init__(self, units: Collection[str]) -> None:
        self.units = frozenset(units)

    @cached_property
    def _plain(self) -> frozenset[str]:
        return frozenset(map(unaccented_unit, self.units))

    @cached_property
    def _joined(self) -> str:
        return " " + " ".join(unit for unit in self._plain if len(unit) >= _STEM) + " "

    @cached_property
    def _by_letter(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for unit in self._plain:
            if len(unit) >= _STEM - 1:
                found.setdefault(unit[0], []).append(unit)
        return found

    def holds(self, unit: str) -> float:
        """0..1, how surely the text has a word of a question."""
        if unit in self.units:
            return 1.0
        plain = unaccented_unit(unit)
        if plain in self._plain:
            return 1.0 if unit == plain else NEAR
        if not _STEM <= len(plain) <= _LONGEST or is_unspaced(plain) or plain.isdigit():
            return 0.0
        return NEAR if self._has_stem(plain) or self._has_alike(plain) else 0.0

    def _has_stem(self, plain: str) -> bool:
        """Whether a word of the text begins or ends alike, or is part of a compound."""
        kept = plain[: max(_STEM, len(plain) - 3)]
        return kept in self._joined or any(plain[:end] in self._plain for end in range(_STEM, len(plain)))

    def _has_alike(self, plain: str) -> bool:
        errors = len(plain) // _LETTERS_PER_ERROR
        return any(
            abs(len(other) - len(plain)) <= errors and typing_errors(plain, other, errors) <= errors
            for other in self._by_letter.get(plain[0], ())
        )


def typing_errors(one: str, other: str, most: int) -> int:
    """Letters to change, add, drop or swap to make one word the other, at most ``most`` + 1."""
    before, row = [0] * (len(other) + 1), list(range(len(other) + 1))
    for at, letter in enumerate(one, start=1):
        earlier, before, row = before, row, [at]
        for to, wanted in enumerate(other, start=1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                cost = min(cost, earlier[to - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
