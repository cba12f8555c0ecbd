"""The byte strings of a rule in the automaton, one for each way a folded text may contain it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from worker.displayed import without_flags
from worker.rules.folding.fold import ASCII_SIGNS, ASCII_TABLES, TABLES, Fold
from worker.rules.model import Rule

_SIGN_INSIDE = re.compile(rf"\w[{re.escape(ASCII_SIGNS)}]|[{re.escape(ASCII_SIGNS)}]\w")


def folded_words(text: str, fold: Fold) -> str:
    """The words of a text under a fold, one space between words, none at the ends."""
    if text.isascii():
        return " ".join(text.encode().translate(ASCII_TABLES[fold]).decode().split())
    return " ".join(text.translate(TABLES[fold]).split())


def collapsed_runs(text: str) -> str:
    """The text with every run of one letter written once."""
    return "".join(letter for letter, _ in groupby(text))


def rule_forms(rule: Rule) -> Iterator[bytes]:
    """All distinct forms of a rule, with the spaces that bind it to whole words."""
    seen: set[str] = set()
    core = without_flags(rule.core)
    for fold in _folds(core):
        whole = folded_words(core, fold)
        for form in (whole, collapsed_runs(whole), *_glued(whole)):
            if form and form not in seen:
                seen.add(form)
                yield _edged(rule, form).encode("utf-8", "replace")


def _folds(core: str) -> tuple[Fold, ...]:
    if _SIGN_INSIDE.search(core):
        return (Fold.SIGNS,)
    return (Fold.NATIVE,) if core.isascii() else (Fold.NATIVE, Fold.LOOKS)


def _glued(whole: str) -> tuple[str, ...]:
    if " " not in whole:
        return ()
    glued = whole.replace(" ", "")
    return (glued, collapsed_runs(glued)) if len(collapsed_runs(glued)) > 2 else ()


def _edged(rule: Rule, form: str) -> str:
    return ("" if rule.open_start else " ") + form + ("" if rule.open_end else " ")
