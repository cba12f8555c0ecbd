"""Whether the letters of a candidate are the rule's, letter by letter, with the method of each difference."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter

from worker.model import RuleLevel
from worker.rules.folding.fold import LEET, LEET_OTHER, base_letter, natural_form, script_code
from worker.rules.folding.units import LetterUnit
from worker.rules.model import MatchMethod

MIN_CAPITAL_I = 4
"""Fewest letters of a word in which a capital I among small letters may replace l."""
MIN_STRETCH = 3
"""Fewest equal letters in a row that count as stretched: a doubled letter makes other words."""


def letters_agree(
    expected: tuple[LetterUnit, ...], found: list[LetterUnit], methods: set[MatchMethod], level: RuleLevel
) -> bool:
    """Whether the letters are the rule's, stretched or not; differences are added to ``methods``."""
    if len(expected) == len(found):
        for rule_letter, text_letter in zip(expected, found, strict=True):
            if (method := letter_method(rule_letter, text_letter, found)) is None:
                return False
            methods.add(method)
        return True
    pairs = _paired_runs(expected, found, _exact_letter) or _paired_runs(
        expected, found, attrgetter("letter")
    )
    if pairs is None:
        return False
    if level is RuleLevel.DEFAULT and max(map(_stretch, pairs), default=0) < MIN_STRETCH:
        return False
    methods.add(MatchMethod.REPEAT)
    return all(_run_agrees(*pair, found, methods) for pair in pairs)


def _exact_letter(unit: LetterUnit) -> str:
    """The letter, with ``i`` and ``l`` distinct; ``1`` and ``|`` stay either."""
    return base_letter(unit.char) if unit.letter == "i" else unit.letter


def _paired_runs(
    expected: Sequence[LetterUnit], found: Sequence[LetterUnit], key: Callable[[LetterUnit], str]
) -> list[tuple[list[LetterUnit], list[LetterUnit]]] | None:
    """The runs of equal letters in rule and text in pairs, or None when they differ."""
    rule_runs = [(letter, list(run)) for letter, run in groupby(expected, key)]
    text_runs = [(letter, list(run)) for letter, run in groupby(found, key)]
    if [letter for letter, _ in rule_runs] != [letter for letter, _ in text_runs]:
        return None
    return [(rule_run, text_run) for (_, rule_run), (_, text_run) in zip(rule_runs, text_runs, strict=True)]


def _stretch(pair: tuple[list[LetterUnit], list[LetterUnit]]) -> int:
    """Length of the text's run if the rule's is shorter, else 0.

    Digits and bars count as ``i`` and as ``l``; ``i`` next to ``l`` is not a repetition.
    """
    expected, found = pair
    if len(found) <= len(expected):
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
    expected: list[LetterUnit], found: list[LetterUnit], whole: list[LetterUnit], methods: set[MatchMethod]
) -> bool:
    """Whether a run in the text matches the rule's run in order, each letter at least once."""
    reached: dict[int, frozenset[MatchMethod]] = {-1: frozenset()}
    for unit in found:
        step: dict[int, frozenset[MatchMethod]] = {}
        for at, before in reached.items():
            for to in (at, at + 1):
                how = letter_method(expected[to], unit, whole) if 0 <= to < len(expected) else None
                if how is not None and to not in step:
                    step[to] = before | {how}
        reached = step
    methods |= reached.get(len(expected) - 1, frozenset())
    return len(expected) - 1 in reached


def letter_method(expected: LetterUnit, found: LetterUnit, whole: Sequence[LetterUnit]) -> MatchMethod | None:
    """How a letter of a text is the rule's, or None for another letter; ``whole`` are all letters found."""
    rule_letter, char = expected.char, found.char
    if expected.letter != found.letter:
        return None
    if rule_letter == char:
        return MatchMethod.EXACT
    if natural_form(rule_letter) == natural_form(char):
        return MatchMethod.CASE if rule_letter.casefold() == char.casefold() else MatchMethod.WIDTH
    rule_base, text_base = base_letter(rule_letter), base_letter(char)
    if rule_base == text_base:
        return MatchMethod.ACCENT
    return _evasive_method(rule_base, text_base, found, whole)


def _evasive_method(  # noqa: PLR0911  # a table of cases, one line each
    rule_letter: str, char: str, found: LetterUnit, whole: Sequence[LetterUnit]
) -> MatchMethod | None:
    """The method for different letters: leet, look-alike, spelling variant, or None for no match."""
    if char in LEET or found.char in LEET:
        letters = LEET.get(char) or LEET[found.char]
        if rule_letter in letters or LEET_OTHER.get(rule_letter) == char:
            return MatchMethod.LEET
        other = not rule_letter.isascii() and not rule_letter.isdigit() and script_code(rule_letter) != "Latn"
        return MatchMethod.HOMOGLYPH if other else None
    if rule_letter in LEET:
        return None
    if rule_letter in {"i", "l"} and char in {"i", "l"}:
        return MatchMethod.HOMOGLYPH if rule_letter == "l" and _capital_for_l(found, whole) else None
    if rule_letter.isdigit() or (char.isdigit() and len(char) > 1):
        return None
    if char.isdigit():  # a digit of another script, by value or by looks
        by_value = rule_letter in LEET.get(str(unicodedata.digit(char)), "")
        return MatchMethod.LEET if by_value else MatchMethod.HOMOGLYPH
    same_script = script_code(rule_letter[:1] or " ") == script_code(char[:1] or " ")
    return MatchMethod.VARIANT if same_script else MatchMethod.HOMOGLYPH


def _capital_for_l(unit: LetterUnit, whole: Sequence[LetterUnit]) -> bool:
    """Whether a capital I may stand for l: in letters of another font, or among small letters."""
    if unit.char != "I":
        return unicodedata.normalize("NFKC", unit.char) == "I"
    others = [other.char for other in whole if other.char != "I"]
    return len(whole) >= MIN_CAPITAL_I and whole[0].at != unit.at and all(char.islower() for char in others)
