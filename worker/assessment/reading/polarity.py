"""Yes or no, negation and conditions of a sentence against those of its quotes."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from worker.assessment.reading.languages import (
    language_of,
    main_clauses,
    restricts,
    same_language,
    says,
)
from worker.assessment.reading.numbers import figures
from worker.assessment.reading.predicates import lacking, stems
from worker.assessment.reading.units import MONEY
from worker.assessment.text.once import once
from worker.assessment.text.wordlists import folded_text, language_pattern, list_pattern
from worker.assessment.text.words import split_sentences

_CLAUSE: Final = re.compile(r"[^,.;:!?()\n，。；：！？、،؛؟]+")
_CONTRAST: Final = re.compile(r",\s*(?:and |und |et |y |e )?(?:not|nicht|pas|non|no|não|niet)\s[^,.;:!?]*")
"""The other side of a contrast: "by telephone, not in the portal"."""
_CONTRACTED: Final = re.compile(r"(?<=\w)'(?:s|re|ve|ll|d|m)(?!\w)")
"""What is left of a verb: "it's"."""
_LEAD: Final = re.compile(r"^[\W_]+")


def flipped(sentence: str, *, draft: str, quoted: str, beyond: bool) -> str | None:
    """The ``yes`` or ``no`` at the head of a sentence that its quotes say the other way round, or None.

    Only texts of one language are compared: a translation moves its negations. A draft that limits its yes
    in another sentence, a quote with a contrast ("no interest, but a fee"), and a no to what goes ``beyond``
    the quotes or with their price are left to the judge. So is a yes to what they except from their no.
    """
    head, body = headed(sentence)
    language, whole = language_of(quoted), headed(draft)[1]
    if head and not whole:
        return None if _heads(quoted) == frozenset({head}) else head
    body = body or whole
    if not head or not same_language(body, quoted):
        return None
    folded = folded_text(quoted)
    if head == "yes" and not says("negating", whole, language) and not says("agreements", whole, language):
        plain = main_clauses(_CONTRAST.sub(" ", folded), language)
        denied = says("negating", plain, language) and not says("contrasts", folded, language)
        conditional = restricts(whole, language) and restricts(folded, language)
        return "yes" if denied and not conditional and not _is_excepted(whole, folded, language) else None
    if (
        head == "no"
        and says("negating", body, language)
        and not (beyond or _says_why(whole, folded, language) or _is_priced(whole, folded))
    ):
        lists = ("negating", "restricting", "privative", "lacking", "closed")
        return None if any(says(name, folded, language) for name in lists) or lacking(folded) else "no"
    return None


def _is_priced(said: str, folded: str) -> bool:
    """Whether a text has a price of the folded quotes: "no, it is not included, it costs €3 extra"."""
    prices = [{each for each in figures(text).units_of() if each[1] in MONEY} for text in (said, folded)]
    return not prices[0].isdisjoint(prices[1])


def _says_why(said: str, folded: str, language: str | None) -> bool:
    """Whether a clause that denies nothing has only words of the folded quotes: "it contains milk"."""
    stated = stems(folded)
    plain = _CONTRACTED.sub("", said)
    reasons = (stems(each) for each in _CLAUSE.findall(plain) if not says("negating", each, language))
    return any(reason and reason <= stated for reason in reasons)


def _is_excepted(said: str, folded: str, language: str | None) -> bool:
    """Whether a folded text names something that the folded quotes except."""
    rule, *parts = language_pattern("exceptions", language).split(folded)
    clauses = (found[0] for part in parts if (found := _CLAUSE.search(part)) is not None)
    named = stems(said) - stems(rule)
    return any(not stems(clause).isdisjoint(named) for clause in clauses)


def _heads(quoted: str) -> frozenset[str]:
    """The yes and no that sentences of the quotes begin with."""
    return frozenset(head for part in split_sentences(quoted) if (head := headed(part)[0]))


def dropped_condition(sentence: str, quoted: str) -> str | None:
    """A word such as "all" for what the quotes grant with a condition only; None without one."""
    language, (_, body) = language_of(quoted), headed(sentence)
    if not (says("universal", body, language) or says("boundless", body, language)):
        return None
    folded = _not_all(language).sub(" ", language_pattern("recurring", language).sub(" ", body))
    other = folded_text(quoted)
    excepted = says("exceptions", other, language)
    unlimited = says("universal", other, language) or says("boundless", other, language)
    if (unlimited and not excepted) or not same_language(sentence, quoted):
        return None
    limited = excepted or restricts(other, language) or says("negating", other, language)
    found = figures(quoted)
    if not (limited or found.numbers or found.times):
        return None
    if (boundless := language_pattern("boundless", language).search(folded)) is not None:
        return boundless[0]
    if any(says(name, folded, language) for name in ("exceptions", "negating")) or restricts(
        folded, language
    ):
        return None
    return next(filter(None, (_unlimited(clause, language) for clause in _CLAUSE.findall(folded))), None)


@cache
def _not_all(language: str | None) -> re.Pattern[str]:
    """A negated "all" or "always", which limits."""
    negating = language_pattern("negating", language).pattern
    every = (language_pattern(name, language).pattern for name in ("universal", "boundless"))
    return re.compile(rf"(?:{negating})\s(?:{'|'.join(every)})")


def _unlimited(clause: str, language: str | None) -> str | None:
    """The word of a clause that says "all" without a following limit."""
    found = language_pattern("universal", language).search(clause)
    if found is None or says("privative", clause[: found.start()], language):
        return None
    return None if says("limiting", clause[found.end() :], language) else found[0]


@once
def headed(sentence: str) -> tuple[str, str]:
    """``yes``, ``no`` or nothing at the head of a sentence, and the folded rest."""
    folded = _LEAD.sub("", folded_text(sentence))
    for name in ("yes", "no"):
        found = list_pattern(f"{name}_heads").match(folded)
        if found is not None:
            return name, _LEAD.sub("", folded[found.end() :])
    return "", folded
