"""Whether a matched text spells a rule, and by which methods."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby

from worker.model import RuleLevel
from worker.rules.folding.fold import TABLES, Fold, natural_form
from worker.rules.folding.units import LetterUnit, letter_units, rule_units
from worker.rules.matching.evasion import is_genuine_leet
from worker.rules.matching.gaps import gaps_agree
from worker.rules.matching.letters import MIN_STRETCH, letter_method, letters_agree
from worker.rules.model import MatchMethod, Rule, Switch

_SELECTOR = re.compile("[\u034f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Invisible marks: the grapheme joiner and variation selectors."""
_OTHER_SPELLING = frozenset(
    {MatchMethod.ACCENT, MatchMethod.VARIANT, MatchMethod.HOMOGLYPH, MatchMethod.GLUED}
)
"""Methods by which letters, accents or the number of words differ from the rule's."""


def spelling_methods(rule: Rule, fold: Fold, matched: str, level: RuleLevel) -> frozenset[MatchMethod] | None:
    """The methods by which the matched text spells the rule, or None for another text."""
    expected, found = rule_units(rule.core, fold), list(letter_units(matched, fold))
    methods: set[MatchMethod] = set()
    if not letters_agree(expected, found, methods, level):
        methods.clear()
        if not (rule.fuzzy and letters_agree_with_typo(expected, found, methods)):
            return None
    if not gaps_agree(expected, found, methods, level):
        return None
    if methods & {MatchMethod.LEET, MatchMethod.HOMOGLYPH} and not is_genuine_leet(found):
        return None
    if any(TABLES[fold][ord(char)] == "" for char in matched if char not in rule.core):
        methods.add(_invisible(matched, methods))
    return frozenset(methods) if _switches_allow(rule, methods, matched) else None


def _invisible(matched: str, methods: set[MatchMethod]) -> MatchMethod:
    marks = any(unicodedata.category(char) in {"Mn", "Me"} and not _SELECTOR.match(char) for char in matched)
    return MatchMethod.ACCENT if marks or MatchMethod.ACCENT in methods else MatchMethod.INVISIBLE


def _switches_allow(rule: Rule, methods: set[MatchMethod], matched: str) -> bool:
    switches = rule.switches
    if Switch.CASE in switches and not methods <= {MatchMethod.EXACT}:
        return False
    folded = Switch.EXACT_ACCENTS in switches and methods & _OTHER_SPELLING
    if folded and natural_form(rule.core) != natural_form(matched):
        return False
    if Switch.NO_LEET in switches and MatchMethod.LEET in methods:
        return False
    return not (MatchMethod.SEPARATED in methods and {Switch.NO_SPACING, Switch.SUBSTRING} & switches)


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
