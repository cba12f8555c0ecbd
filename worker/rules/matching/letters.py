"""Whether the letters of a candidate are the rule's, letter by letter, with the method of each difference."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby

from worker.rules.folding.fold import LEET, LEET_OTHER, base_letter, natural_form, script_code
from worker.rules.folding.units import LetterUnit
from worker.rules.model import Level, MatchMethod

MIN_CAPITAL_I = 4
"""Fewest letters of a word in which a capital I among small letters may replace l."""
MIN_STRETCH = 3
"""Fewest equal letters in a row that count as stretched: a doubled letter makes other words."""


def letters_agree(
    wanted: tuple[LetterUnit, ...], found: list[LetterUnit], methods: set[MatchMethod], level: Level
) -> bool:
    """Whether the letters are the rule's, stretched or not; differences are added to ``methods``."""
    if len(wanted) == len(found):
        return all(_letter_agrees(w, f, found, methods) for w, f in zip(wanted, found, strict=True))
    pairs = _paired_runs(wanted, found, _exact_letter) or _paired_runs(wanted, found, _coarse_letter)
    if pairs is None:
        return False
    if level is Level.DEFAULT and max(map(_stretch, pairs), default=0) < MIN_STRETCH:
        return False
    methods.add(MatchMethod.REPEAT)
    return all(_run_agrees(want, find, found, methods) for want, find in pairs)


def _exact_letter(unit: LetterUnit) -> str:
    """The letter, with ``i`` and ``l`` distinct; ``1`` and ``|`` stay either."""
    return base_letter(unit.char) if unit.letter == "i" else unit.letter


def _coarse_letter(unit: LetterUnit) -> str:
    return unit.letter


def _paired_runs(
    wanted: Sequence[LetterUnit], found: Sequence[LetterUnit], key: Callable[[LetterUnit], str]
) -> list[tuple[list[LetterUnit], list[LetterUnit]]] | None:
    """The runs of equal letters in rule and text in pairs, or None when they differ."""
    want_runs = [(letter, list(run)) for letter, run in groupby(wanted, key)]
    find_runs = [(letter, list(run)) for letter, run in groupby(found, key)]
    if [letter for letter, _ in want_runs] != [letter for letter, _ in find_runs]:
        return None
    return [(want, find) for (_, want), (_, find) in zip(want_runs, find_runs, strict=True)]


def _stretch(pair: tuple[list[LetterUnit], list[LetterUnit]]) -> int:
    """Length of the text's run if the rule's is shorter, else 0.

    Digits and bars count as ``i`` and as ``l``; ``i`` next to ``l`` is not a repetition.
    """
    wanted, found = pair
    if len(found) <= len(wanted):
        return 0
    if found[0].letter != "i":
        return len(found)
    longest, length, kinds = 0, 0, set[str]()
    for unit in found:
        kind = base_letter(unit.char)
        both = kind in {"i", "l"} and bool(kinds - {kind})
        length, kinds = (1, {kind}) if both else (length + 1, kinds | ({kind} & {"i", "l"}))
        longest = max(longest, length)
    return longest


def _run_agrees(
    wanted: list[LetterUnit], found: list[LetterUnit], whole: list[LetterUnit], methods: set[MatchMethod]
) -> bool:
    """Whether a run in the text matches the rule's run in order, each letter at least once."""
    reached: dict[int, frozenset[MatchMethod]] = {-1: frozenset()}
    for unit in found:
        step: dict[int, frozenset[MatchMethod]] = {}
        for at, before in reached.items():
            for to in (at, at + 1):
                how = letter_method(wanted[to], unit, whole) if 0 <= to < len(wanted) else None
                if how is not None and to not in step:
                    step[to] = before | {how}
        reached = step
    methods |= reached.get(len(wanted) - 1, frozenset())
    return len(wanted) - 1 in reached


def _letter_agrees(
    wanted: LetterUnit, found: LetterUnit, whole: list[LetterUnit], methods: set[MatchMethod]
) -> bool:
    how = letter_method(wanted, found, whole)
    if how is None:
        return False
    methods.add(how)
    return True


def letter_method(wanted: LetterUnit, found: LetterUnit, whole: Sequence[LetterUnit]) -> MatchMethod | None:
    """How one letter of a text is the rule's, or None when it is another; ``whole`` are all letters found."""
    want, char = wanted.char, found.char
    if wanted.letter != found.letter:
        return None
    if want == char:
        return MatchMethod.EXACT
    if natural_form(want) == natural_form(char):
        return MatchMethod.CASE if want.casefold() == char.casefold() else MatchMethod.WIDTH
    want_base, base_ = base_letter(want), base_letter(char)
    if want_base == base_:
        return MatchMethod.ACCENT
    return _evasive_how(want_base, base_, found, whole)


def _evasive_how(  # noqa: PLR0911  # a table of cases, one line each
    want: str, char: str, found: LetterUnit, whole: Sequence[LetterUnit]
) -> MatchMethod | None:
    """The method for different letters: leet, look-alike, spelling variant, or None for no match."""
    if char in LEET or found.char in LEET:
        letters = LEET.get(char) or LEET[found.char]
        if want in letters or LEET_OTHER.get(want) == char:
            return MatchMethod.LEET
        return (
            MatchMethod.HOMOGLYPH
            if not want.isascii() and not want.isdigit() and script_code(want) != "Latn"
            else None
        )
    if want in LEET:
        return None
    if want in {"i", "l"} and char in {"i", "l"}:
        return MatchMethod.HOMOGLYPH if want == "l" and _capital_for_l(found, whole) else None
    if want.isdigit() or (char.isdigit() and len(char) > 1):
        return None
    if char.isdigit():  # a digit of another script, by value or by looks
        return (
            MatchMethod.LEET if want in LEET.get(str(unicodedata.digit(char)), "") else MatchMethod.HOMOGLYPH
        )
    return (
        MatchMethod.VARIANT
        if script_code(want[:1] or " ") == script_code(char[:1] or " ")
        else MatchMethod.HOMOGLYPH
    )


def _capital_for_l(unit: LetterUnit, whole: Sequence[LetterUnit]) -> bool:
    """Whether a capital I may stand for l: in letters of another font, or among small letters."""
    if unit.char != "I":
        return unicodedata.normalize("NFKC", unit.char) == "I"
    others = [other.char for other in whole if other.char != "I"]
    return len(whole) >= MIN_CAPITAL_I and whole[0].at != unit.at and all(char.islower() for char in others)
