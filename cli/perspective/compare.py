"""What Perspective API and the account would have done to each text, and how often they agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cli.perspective.lines import RecordedLine
from worker import moderation
from worker.model import ModerationScores, ModeratorChoice, Stage
from worker.rules import CompiledRules
from worker.rules.findings import rule_findings

RUDE: Final = ("harassment", "harassment/threatening", "hate", "hate/threatening")
CATEGORIES: Final = {
    "TOXICITY": RUDE,
    "SEVERE_TOXICITY": RUDE,
    "IDENTITY_ATTACK": ("hate", "hate/threatening"),
    "INSULT": ("harassment", "harassment/threatening"),
    "PROFANITY": (),
    "THREAT": ("harassment/threatening", "hate/threatening", "violence"),
    "SEXUALLY_EXPLICIT": ("sexual", "sexual/minors"),
    "ATTACK_ON_AUTHOR": ("harassment", "harassment/threatening"),
    "ATTACK_ON_COMMENTER": ("harassment", "harassment/threatening"),
}
"""Categories of the moderation API by attribute; an attribute without any is compared with rules."""


def categories_of(attribute: str) -> tuple[str, ...]:
    """The categories of an attribute, also of its experimental form; none for others, such as SPAM."""
    return CATEGORIES.get(attribute.removesuffix("_EXPERIMENTAL"), ())


LEAST_OF_EACH: Final = 10
"""Least texts on which Perspective acts, and does not, for a suggested threshold."""
GRID: Final = tuple(round(step / 100, 2) for step in range(1, 100))


@dataclass(frozen=True, slots=True, kw_only=True)
class BothPolicies:
    """What decides on both sides.

    Attributes:
        limits: attribute -> score from which Perspective's user acts; ``other`` for the others.
        choice: the moderation API with the account's thresholds; None: not asked by the account.
    """

    rules: CompiledRules
    choice: ModeratorChoice | None
    limits: Mapping[str, float]
    other: float

    def limit(self, attribute: str) -> float:
        """The score from which an attribute acts."""
        return self.limits.get(attribute, self.other)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedText:
    """One text.

    Attributes:
        rule: the account's rule that matches, as decisions name it; None for none.
        scores: of the moderation API; None without an answer.
        category: the matched category, as decisions name it.
    """

    line: RecordedLine
    rule: str | None
    scores: ModerationScores | None
    category: str | None


def compare(line: RecordedLine, scores: ModerationScores | None, policy: BothPolicies) -> ComparedText:
    """What the account does to a text; rules are tested first, as in a worker."""
    found = rule_findings(policy.rules, line.text, stage=Stage.RULES)
    return ComparedText(
        line=line,
        rule=found[0].matched_rule if found else None,
        scores=scores if policy.choice else None,
        category=_category(scores, policy),
    )


def _category(scores: ModerationScores | None, policy: BothPolicies) -> str | None:
    if scores is None or policy.choice is None:
        return None
    found = moderation.finding(scores, policy.choice, stage=Stage.MODERATION)
    return found.matched_rule if found else None


def text_row(compared: ComparedText, policy: BothPolicies) -> dict[str, Any]:
    """The comparison of one text as a JSON object; ``agrees`` is None where a side has no scores."""
    line, attributes = compared.line, compared.line.attributes
    hits = sorted(name for name, score in (attributes or {}).items() if score >= policy.limit(name))
    acted = compared.rule or compared.category
    known = attributes is not None and (compared.scores is not None or compared.rule is not None)
    return {
        "kind": "text",
        "id": line.id,
        "perspective": attributes,
        "perspective_error": line.error or None,
        "perspective_acts": hits,
        "moderation": dict(compared.scores.scores) if compared.scores else None,
        "hushgate_acts": acted,
        "agrees": bool(hits) == bool(acted) if known else None,
    }


def attribute_rows(compared: Sequence[ComparedText], policy: BothPolicies) -> Iterator[dict[str, Any]]:
    """For each attribute how often both sides act, and the threshold that would agree best."""
    names = sorted({name for each in compared for name in each.line.attributes or ()})
    for name in names:
        yield _attribute_row(
            name, [each for each in compared if name in (each.line.attributes or ())], policy
        )


def _attribute_row(name: str, compared: Sequence[ComparedText], policy: BothPolicies) -> dict[str, Any]:
    categories = categories_of(name)
    pairs = [
        (_attribute_score(each, name) >= policy.limit(name), acts)
        for each in compared
        if (acts := _acts(each, categories, policy)) is not None
    ]
    agreed = sum(theirs == ours for theirs, ours in pairs)
    threshold, agreement = _suggested(name, compared, categories, policy)
    return {
        "kind": "attribute",
        "attribute": name,
        "threshold": policy.limit(name),
        "categories": list(categories),
        "texts": len(pairs),
        "both": pairs.count((True, True)),
        "perspective_only": pairs.count((True, False)),
        "hushgate_only": pairs.count((False, True)),
        "neither": pairs.count((False, False)),
        "agreement": agreed / len(pairs) if pairs else None,
        "suggested_threshold": threshold,
        "suggested_agreement": agreement,
    }


def _attribute_score(compared: ComparedText, name: str) -> float:
    assert compared.line.attributes is not None  # the caller chose texts with this attribute
    return compared.line.attributes[name]


def _acts(compared: ComparedText, categories: Sequence[str], policy: BothPolicies) -> bool | None:
    """Whether a category acts, or a rule where there is no category; None without scores."""
    if not categories:
        return compared.rule is not None
    if compared.scores is None or policy.choice is None:
        return None
    known = {name: score for name, score in compared.scores.scores.items() if name in categories}
    alike = replace(compared.scores, scores=known)
    return moderation.finding(alike, policy.choice, stage=Stage.MODERATION) is not None


def _suggested(
    name: str, compared: Sequence[ComparedText], categories: Sequence[str], policy: BothPolicies
) -> tuple[float | None, float | None]:
    """The threshold of the categories that agrees best with Perspective, by F1, and the share that agrees.

    Of equal thresholds the highest, which blocks least; none where too few texts say something.
    """
    scored = [
        (_attribute_score(each, name) >= policy.limit(name), _highest(each.scores, categories))
        for each in compared
        if each.scores is not None
    ]
    acted = sum(theirs for theirs, _ in scored)
    if not categories or min(acted, len(scored) - acted) < LEAST_OF_EACH:
        return None, None
    best = max(GRID, key=lambda limit: (_f1(scored, limit), limit))
    return best, sum(theirs == (score >= best) for theirs, score in scored) / len(scored)


def _highest(scores: ModerationScores, categories: Iterable[str]) -> float:
    return max((scores.scores.get(each, 0.0) for each in categories), default=0.0)


def _f1(scored: Iterable[tuple[bool, float]], limit: float) -> float:
    counts = [(theirs, score >= limit) for theirs, score in scored]
    both = counts.count((True, True))
    wrong = counts.count((True, False)) + counts.count((False, True))
    return 2 * both / (2 * both + wrong) if both else 0.0
