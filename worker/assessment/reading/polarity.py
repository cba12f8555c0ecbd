"""Yes or no, negation and conditions of a sentence against those of its quotes."""

from __future__ import annotations

import re
from typing import Final

from worker.assessment.reading.clauses import main_clauses
from worker.assessment.reading.languages import same_language
from worker.assessment.reading.numbers import figures
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, list_pattern

_CLAUSE: Final = re.compile(r"[^,.;:!?()\n，。；：！？、]+")
_LEAD: Final = re.compile(r"^[\W_]+")


def flipped(sentence: str, draft: str, quoted: str) -> str | None:
    """The ``yes`` or ``no`` at the head of a sentence that its quotes say the other way round, or None.

    Only texts of one language are compared: a translation moves its negations. A draft that limits its yes
    in another sentence, and a quote with a contrast ("no interest, but a fee"), are left to the judge.
    """
    head, body = _headed(sentence)
    if not head or not same_language(sentence, quoted):
        return None
    folded, whole = _without_neutral(folded_text(quoted)), _headed(draft)[1]
    if head == "yes" and not _says("negating", whole) and not _says("agreements", whole):
        denied = _says("negating", main_clauses(folded)) and not _says("contrasts", folded)
        conditional = _says("restricting", whole) and _says("restricting", folded)
        return "yes" if denied and not conditional else None
    if head == "no" and _says("negating", body):
        return None if _says("negating", folded) or _says("restricting", folded) else "no"
    return None


def dropped_condition(sentence: str, quoted: str) -> str | None:
    """A word such as "all" for what the quotes grant with a condition only; None without one."""
    _, body = _headed(sentence)
    folded, other = _without_neutral(list_pattern("recurring").sub(" ", body)), folded_text(quoted)
    if not same_language(sentence, quoted) or _says("universal", other) or _says("boundless", other):
        return None
    limited = _says("restricting", other) or _says("negating", other) or bool(figures(quoted).numbers)
    if not limited:
        return None
    boundless = list_pattern("boundless").search(folded)
    if boundless is not None:
        return boundless[0]
    if _says("restricting", folded) or _says("negating", folded):
        return None
    for clause in _CLAUSE.findall(folded):
        found = list_pattern("universal").search(clause)
        if found is None or _says("privative", clause[: found.start()]):
            continue
        if not _says("limiting", clause[found.end() :]):
            return found[0]
    return None


def _without_neutral(folded: str) -> str:
    """The text without negations that deny nothing: "no more than three"."""
    return list_pattern("neutral").sub(" ", folded)


def _says(name: str, folded: str) -> bool:
    return list_pattern(name).search(folded) is not None


@once
def _headed(sentence: str) -> tuple[str, str]:
    """``yes``, ``no`` or nothing at the head of a sentence, and the folded rest."""
    folded = _LEAD.sub("", folded_text(sentence))
    for name in ("yes", "no"):
        found = list_pattern(f"{name}_heads").match(folded)
        if found is not None:
            return name, _LEAD.sub("", folded[found.end() :])
    return "", folded
