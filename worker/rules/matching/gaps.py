"""Whether the gaps of a candidate are as in the rule, or separate all letters."""

from __future__ import annotations

from itertools import groupby, pairwise

from worker.model import RuleLevel
from worker.rules.folding.fold import script_code
from worker.rules.folding.units import LetterUnit, is_spaceless
from worker.rules.model import MatchMethod

MIN_SEPARATED = 3
"""Fewest letters of an alphabetic word that may match spaced out: two spaced letters are initials."""
_CLAUSE_END = frozenset("。！？，、；：\n\r")


def gaps_agree(
    expected: tuple[LetterUnit, ...], found: list[LetterUnit], methods: set[MatchMethod], level: RuleLevel
) -> bool:
    """Whether the gaps are as in the rule, or separate all letters of a word, or (strict) are anywhere."""
    words = _words(expected, found)
    enough = len({unit.at for unit in found}) >= MIN_SEPARATED
    states = [_word_state(word, enough=enough) for word in words]
    if "partial" in states and level is RuleLevel.DEFAULT:
        return False
    if "spaced" in states or "partial" in states:
        methods.add(MatchMethod.SEPARATED)
    if len(words) == 1:
        return True
    for number, word in enumerate(words[1:], 1):
        if word[0].gap or word[0].at == words[number - 1][-1].at:
            continue
        if is_spaceless(word[0].char) or _soft_gap(expected, number):
            continue
        if states[number] != "spaced" or states[number - 1] != "spaced":
            if level is RuleLevel.DEFAULT:
                return False
            methods.add(MatchMethod.GLUED)
    return True


def _soft_gap(expected: tuple[LetterUnit, ...], number: int) -> bool:
    gaps = [unit.gap for unit in expected if unit.gap]
    return number <= len(gaps) and gaps[number - 1] in {"'", "’", "-", "\u2010", "\u2011"}


def _words(expected: tuple[LetterUnit, ...], found: list[LetterUnit]) -> list[list[LetterUnit]]:
    """The letters found, divided into the words of the rule; runs may be longer than the rule's."""
    if not any(unit.gap for unit in expected[1:]):
        return [found]
    words: list[list[LetterUnit]] = [[]]
    position = 0
    runs = [len(list(run)) for _, run in groupby(found, lambda unit: unit.letter)]
    rule_runs = [list(run) for _, run in groupby(expected, lambda unit: unit.letter)]
    for length, run in zip(runs, rule_runs, strict=True):
        cut = next((at for at, unit in enumerate(run) if unit.gap and (at or position)), None)
        if cut is not None:
            extra = max(0, length - len(run))
            at = position + min(cut + (extra if cut else 0), length)
            gap_at = next((i for i in range(position, position + length) if found[i].gap and i), at)
            words[-1] += found[position:gap_at]
            words.append([])
            words[-1] += found[gap_at : position + length]
        else:
            words[-1] += found[position : position + length]
        position += length
    return [word for word in words if word]


def _word_state(word: list[LetterUnit], *, enough: bool) -> str:
    """``whole``, ``spaced`` (a gap between all letters) or ``partial``."""
    gaps = [bool(unit.gap) for unit in word[1:]]
    if not any(gaps):
        return "whole"
    if any(set(unit.gap) & _CLAUSE_END for unit in word[1:] if is_spaceless(unit.char)):
        return "partial"
    if all(is_spaceless(unit.char) for unit in word):
        return _syllable_state(word)
    joined = all(
        unit.gap or unit.letter == before.letter or unit.at == before.at or not unit.letter.isalnum()
        for before, unit in pairwise(word)
    )
    return "spaced" if joined and enough else "partial"


def _syllable_state(word: list[LetterUnit]) -> str:
    """The state of a word without spaces: Han, kana and Thai allow any gap, Hangul one at every syllable."""
    hangul = [unit for unit in word if script_code(unit.char) == "Hang"]
    if not hangul:
        return "spaced"
    first: dict[int, LetterUnit] = {}
    for unit in word:
        first.setdefault(unit.at, unit)
    return "spaced" if all(unit.gap for unit in list(first.values())[1:]) else "partial"
