"""Whether a text limits a number from below ("at least 3") or from above ("at most 3")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from worker.assessment.reading.numbers import figures
from worker.assessment.reading.units import BARE
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, list_pattern

NEAR: Final = 24
"""Characters beside a limit in which its number stands."""
LISTS: Final = ("lowest", "highest")
_CLAUSE_END: Final = re.compile(r"[,;:!?()\n，。；：！？、]|\.(?!\d)")


def other_bound(sentence: str, quoted: str) -> str | None:
    """A number that the sentence limits on one side and the quotes on the other side only, or None."""
    said, stated = bounds(sentence), bounds(quoted)
    return min(
        (each for each in said.keys() & stated.keys() if _are_against(said[each], stated[each])), default=None
    )


def _are_against(said: frozenset[tuple[str, str]], stated: frozenset[tuple[str, str]]) -> bool:
    """Whether no limit is the same and two differ; "50 euros or more" and "up to 50 kg" are two things."""
    pairs = [(one, other) for one, unit in said for other, its in stated if unit == its or BARE & {unit, its}]
    return bool(pairs) and all(one != other for one, other in pairs)


@once
def bounds(text: str) -> Mapping[str, frozenset[tuple[str, str]]]:
    """Number -> the lists whose phrases stand beside it, each with the number's unit.

    "At least 48 hours before" and "up to 48 hours before" are one limit: a clause with such a word has none.
    """
    found: dict[str, set[tuple[str, str]]] = {}
    for clause in _CLAUSE_END.split(folded_text(text)):
        if list_pattern("moments").search(_without_limits(clause)) is not None:
            continue
        for name in LISTS:
            for match in list_pattern(name).finditer(clause):
                for number, unit in _numbers_beside(clause, match):
                    found.setdefault(number, set()).add((name, unit))
    return {number: frozenset(names) for number, names in found.items()}


def _without_limits(clause: str) -> str:
    """The clause without its limits: the "bis" of "bis zu 3" is no moment."""
    for name in LISTS:
        clause = list_pattern(name).sub(" ", clause)
    return clause


def _numbers_beside(clause: str, match: re.Match[str]) -> Iterator[tuple[str, str]]:
    """The readings of the number after a phrase, else of the number before it, with its unit."""
    after = list(figures(clause[match.end() : match.end() + NEAR]).units_of())
    before = list(figures(clause[max(0, match.start() - NEAR) : match.start()]).units_of())
    for readings, unit in after[:1] or before[-1:]:
        yield from ((reading, unit) for reading in readings)
