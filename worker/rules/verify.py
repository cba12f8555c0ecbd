"""Whether a matched text spells a rule: the chain of named transformations."""

from __future__ import annotations

import re
import unicodedata

from worker.rules.fold import TABLES, Fold, natural
from worker.rules.gaps import gaps_agree
from worker.rules.innocence import leet_is_fair
from worker.rules.letters import letters_agree
from worker.rules.model import How, Level, Rule, Switch
from worker.rules.units import rule_units, units

_SELECTOR = re.compile("[\u034f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Marks that nobody sees: the grapheme joiner and variation selectors."""


def spelled(rule: Rule, fold: Fold, matched: str, level: Level) -> frozenset[How] | None:
    """How the matched text spells the rule, or None when it does not; needs nothing but the two."""
    wanted, found = rule_units(rule.core, fold), list(units(matched, fold))
    hows: set[How] = set()
    if not letters_agree(wanted, found, hows, level) or not gaps_agree(wanted, found, hows, level):
        return None
    if hows & {How.LEET, How.HOMOGLYPH} and not leet_is_fair(found):
        return None
    if any(TABLES[fold][ord(char)] == "" for char in matched if char not in rule.core):
        hows.add(_invisible(matched, hows))
    return frozenset(hows) if _switches_allow(rule, hows, matched) else None


def _invisible(matched: str, hows: set[How]) -> How:
    marks = any(unicodedata.category(char) in {"Mn", "Me"} and not _SELECTOR.match(char) for char in matched)
    return How.ACCENT if marks or How.ACCENT in hows else How.INVISIBLE


def _switches_allow(rule: Rule, hows: set[How], matched: str) -> bool:
    if Switch.CASE in rule.switches and not hows <= {How.EXACT}:
        return False
    if Switch.EXACT_ACCENTS in rule.switches and natural(rule.core) != natural(matched):
        folded = hows - {How.EXACT, How.CASE, How.WIDTH, How.LEET, How.SEPARATED, How.REPEAT, How.INVISIBLE}
        if folded:
            return False
    if Switch.NO_LEET in rule.switches and How.LEET in hows:
        return False
    return not (How.SEPARATED in hows and {Switch.NO_SPACING, Switch.SUBSTRING} & rule.switches)
