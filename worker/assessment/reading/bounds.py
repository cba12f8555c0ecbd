"""Whether a text limits a number from below ("at least 3") or from above ("at most 3")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from worker.assessment.reading.numbers import figures
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
        (each for each in said.keys() & stated.keys() if said[each].isdisjoint(stated[each])), default=None
    )


@once
def bounds(text: str) -> Mapping[str, frozenset[str]]:
    """Number -> the lists whose phrases stand beside it.

    "At least 48 hours before" and "up to 48 hours before" are one limit: a clause with such a word has none.
    """
    found: dict[str, set[str]] = {}
    for clause in _CLAUSE_END.split(folded_text(text)):
        if list_pattern("moments").search(clause) is not None:
            continue
        for name in LISTS:
            for match in list_pattern(name).finditer(clause):
                for number in _number_beside(clause, match):
                    found.setdefault(number, set()).add(name)
    return {number: frozenset(names) for number, names in found.items()}


def _number_beside(clause: str, match: re.Match[str]) -> frozenset[str]:
    """The readings of the number after a phrase, else of the number before it."""
    after = figures(clause[match.end() : match.end() + NEAR]).numbers
    before = figures(clause[max(0, match.start() - NEAR) : match.start()]).numbers
    return (after[:1] or before[-1:] or (frozenset(),))[0]
