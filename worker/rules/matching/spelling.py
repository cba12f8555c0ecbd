"""Whether a matched text spells a rule, and by which methods."""

from __future__ import annotations

import re
import unicodedata

from worker.model import RuleLevel
from worker.rules.folding.fold import TABLES, Fold, natural_form
from worker.rules.folding.units import letter_units, rule_units
from worker.rules.matching.evasion import is_genuine_leet
from worker.rules.matching.gaps import gaps_agree
from worker.rules.matching.letters import letters_agree
from worker.rules.matching.typo import letters_agree_with_typo
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
