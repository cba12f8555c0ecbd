"""Care: which texts stay covered until a person asks for them. It protects nobody by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

MODERATION: Final = "openai_moderation:"
RULE: Final = "flagged_rule"
"""Stands for texts that a rule of the account stopped before any model gave them a category."""
CATEGORIES: Final[Mapping[str, str]] = {
    "harassment": "harassment",
    "harassment/threatening": "threatening harassment",
    "hate": "hate",
    "hate/threatening": "threatening hate",
    "illicit": "advice on crime",
    "illicit/violent": "advice on violent crime",
    "self-harm": "self-harm",
    "self-harm/intent": "intent to self-harm",
    "self-harm/instructions": "instructions for self-harm",
    "sexual": "sexual content",
    "sexual/minors": "sexual content with minors",
    "violence": "violence",
    "violence/graphic": "graphic violence",
    RULE: "stopped by a word or phrase of the account, so in no category",
}
"""What somebody may have covered, with the words that a cover says."""
SCORE_FROM: Final = 0.5
"""A text is of a category when it was flagged for it, or scored this much in it and passed."""


def cover(chosen: Sequence[str], row: Mapping[str, Any]) -> tuple[str, ...]:
    """Why a decision's texts are covered for somebody who chose these categories; empty: they are not.

    Args:
        chosen: keys of ``CATEGORIES``; one covers what is below it too, ``hate`` also ``hate/threatening``.
        row: a decision with ``matched_rule`` and either ``snapshot_json`` or ``hot_categories``, see
            ``db.hot_categories``.
    """
    if not chosen:
        return ()
    found = categories(row)
    return tuple(sorted(each for each in found if any(_within(each, one) for one in chosen)))


def categories(row: Mapping[str, Any]) -> frozenset[str]:
    """Every category that a decision's texts are known to be of."""
    snapshot: Mapping[str, Any] = row.get("snapshot_json") or {}
    rules = [row["matched_rule"] or "", *(each["matched_rule"] for each in snapshot.get("findings", ()))]
    found = {rule.removeprefix(MODERATION) for rule in rules if rule.startswith(MODERATION)}
    found |= {category for category, score in scores(snapshot) if score >= SCORE_FROM}
    found |= set(row.get("hot_categories") or ())
    if any(rule and not rule.startswith(MODERATION) for rule in rules):
        found.add(RULE)
    return frozenset(found)


def scores(snapshot: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Every moderation score that the stage trace keeps, of message and reply."""
    for stage in snapshot.get("stages", ()):
        highest = stage["detail"].get("highest")
        if isinstance(highest, dict):
            yield from ((category, each["score"]) for category, each in highest.items())


def words(category: str) -> str:
    """A category in plain words; one that we do not know as the model named it."""
    return CATEGORIES.get(category, category)


def _within(category: str, chosen: str) -> bool:
    return category == chosen or category.startswith(f"{chosen}/")
