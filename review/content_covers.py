"""Which texts stay covered until the person shows them: a display setting, not access control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from db.people.records import Person
from review.languages import gettext, mark
from worker.settings import ReviewSettings
from worker.snapshot import Snapshot

MODERATION: Final = "openai_moderation:"
OWN_RULE: Final = "flagged_"
"""Start of matched rules of the account's words; other names before a colon are moderators."""
RULE: Final = "flagged_rule"
"""Pseudo-category of texts stopped without a known category: by a rule or a classifier of the account."""
CATEGORIES: Final[Mapping[str, str]] = {
    "harassment": mark("harassment"),
    "harassment/threatening": mark("threatening harassment"),
    "hate": mark("hate"),
    "hate/threatening": mark("threatening hate"),
    "illicit": mark("advice on crime"),
    "illicit/violent": mark("advice on violent crime"),
    "self-harm": mark("self-harm"),
    "self-harm/intent": mark("intent to self-harm"),
    "self-harm/instructions": mark("instructions for self-harm"),
    "sexual": mark("sexual content"),
    "sexual/minors": mark("sexual content with minors"),
    "violence": mark("violence"),
    "violence/graphic": mark("graphic violence"),
    RULE: mark("stopped by a word, phrase or classifier of the account, so in no known category"),
}
"""The categories that a person can cover, with the words on the cover."""
SCORE_FROM: Final = 0.5
"""A text belongs to a category that flagged it, or in which it has at least this score."""


def with_organisation_covers(person: Person, settings: ReviewSettings) -> Person:
    """The person with the categories to cover: their own, else the organisation's, or both."""
    default = settings.organisation_covers
    if person.own_covers and not settings.covers_required:
        return person
    added = tuple(each for each in default if each not in person.covered)
    return replace(person, covered=person.covered + added) if added else person


def cover_reason(
    chosen: Sequence[str], row: Mapping[str, Any], snapshot: Snapshot | None = None
) -> tuple[str, ...]:
    """Why a decision's texts are covered for a person who chose these categories; empty for shown texts.

    Args:
        chosen: keys of ``CATEGORIES``; one includes its subcategories, ``hate`` also ``hate/threatening``.
        row: a decision with ``matched_rule``; without a snapshot also ``high_score_categories``, see
            ``db.tables.HIGH_SCORE_CATEGORIES``.
        snapshot: of the same decision.
    """
    if not chosen:
        return ()
    found = decision_categories(row, snapshot or Snapshot())
    return tuple(sorted(each for each in found if any(_includes(category, each) for category in chosen)))


def decision_categories(row: Mapping[str, Any], snapshot: Snapshot) -> frozenset[str]:
    """Every category that a decision's texts are known to belong to."""
    rules = [row["matched_rule"] or "", *(each.matched_rule for each in snapshot.findings)]
    found = {rule for rule in rules if rule and not rule.startswith(OWN_RULE)}
    for stage in snapshot.stages:
        found |= {category for category, each in stage.highest.items() if each.score >= SCORE_FROM}
    found |= set(row.get("high_score_categories") or ())
    stopped = {RULE} if any(rule.startswith(OWN_RULE) for rule in rules) else set()
    return frozenset(stopped | {_known(category) for category in found})


def _known(category: str) -> str:
    """A category without its moderator's name; one that a classifier named itself counts as ``RULE``.

    The moderation API's are scored under their own name, a classifier's as ``<moderator>:<category>``.
    """
    name, colon, own = category.partition(":")
    if not colon or f"{name}:" == MODERATION:
        return own or name
    return own.casefold() if own.casefold() in CATEGORIES else RULE


def category_wording(category: str) -> str:
    """A category in words; an unknown one as the model named it."""
    return gettext(CATEGORIES.get(category, category))


def _includes(chosen: str, category: str) -> bool:
    return category == chosen or category.startswith(f"{chosen}/")
