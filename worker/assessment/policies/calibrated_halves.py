"""A draft of the policy ``calibrated`` after its judge: support and relevance, each with score and tier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from worker.assessment.judge import JudgeAnswer, JudgeOutcome
from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.signals.scoring import SignalScore, Veto
from worker.model import Tier


class Shortfall(StrEnum):
    """What a draft lacks, as named in its category and its checks."""

    UNGROUNDED = "ungrounded"
    IRRELEVANT = "irrelevant"


RELEVANCE_PREFIX = "relevance_"
"""Before the outcome of a judge that was asked about relevance: ``relevance_judge_unavailable``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftHalf:
    """Support or relevance after the judge.

    Attributes:
        value: 0..1, the signals' score, or the weighted mean with the judge's.
        judged: the judge's lowest score, or None.
    """

    tier: Tier
    value: float
    judged: float | None
    answers: tuple[JudgeAnswer, ...] = ()


def judged_half(
    tier: Tier, value: float, answers: Sequence[JudgeAnswer], policy: CalibratedPolicy
) -> DraftHalf:
    """Support or relevance with the judge's answers about it, often none."""
    judged = _lowest_score(answers, policy.judge_accepts)
    if judged is None:
        return DraftHalf(tier=tier, value=value, judged=None, answers=tuple(answers))
    return DraftHalf(
        tier=Tier.HIGH if judged >= policy.judge_accepts else Tier.LOW,
        value=policy.judge_weight * judged + (1.0 - policy.judge_weight) * value,
        judged=judged,
        answers=tuple(answers),
    )


def _lowest_score(answers: Sequence[JudgeAnswer], accepts: float) -> float | None:
    """The judge's lowest score; None if a question without a score could still decide.

    One score below ``accepts`` refuses the draft, so the other answers do not matter.
    """
    lowest = min((a.score for a in answers if a.score is not None), default=None)
    if lowest is None or lowest < accepts:
        return lowest
    return lowest if all(a.score is not None for a in answers) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDraft:
    """A draft after its signals and, where they were undecided, the judge."""

    score: SignalScore
    support: DraftHalf
    relevance: DraftHalf

    @property
    def tier(self) -> Tier:
        """The lower one of the two halves; a veto is low."""
        tiers = (self.support.tier, self.relevance.tier)
        if self.score.vetoes or Tier.LOW in tiers:
            return Tier.LOW
        return Tier.MEDIUM if Tier.MEDIUM in tiers else Tier.HIGH

    @property
    def confidence(self) -> float:
        """0..1, support times relevance; a veto is a fact, not a degree, so it makes it 0."""
        return 0.0 if self.score.vetoes else self.support.value * self.relevance.value

    @property
    def shortfalls(self) -> tuple[Shortfall, ...]:
        """The halves that are low."""
        return tuple(
            name
            for name, half in ((Shortfall.UNGROUNDED, self.support), (Shortfall.IRRELEVANT, self.relevance))
            if half.tier is Tier.LOW
        )

    def category(self) -> str:
        """The veto, what the draft lacks, or the half that is undecided; empty when it is sent."""
        if self.score.vetoes:
            return self.score.vetoes[0]
        if self.tier is Tier.LOW:
            return self.shortfalls[0]
        if self.tier is Tier.HIGH:
            return ""
        half, prefix = (
            (self.support, "") if self.support.tier is Tier.MEDIUM else (self.relevance, RELEVANCE_PREFIX)
        )
        return prefix + ("judge_unavailable" if half.answers else "undecided")

    def passed_checks(self) -> tuple[str, ...]:
        """Vetoes and shortfalls that were looked for and not found."""
        halves = ((Shortfall.UNGROUNDED, self.support), (Shortfall.IRRELEVANT, self.relevance))
        kept = [name for name, half in halves if half.tier is Tier.HIGH]
        if self.score.relevance is None:
            kept = [name for name in kept if name is not Shortfall.IRRELEVANT]
        return (*(veto for veto in Veto if veto not in self.score.vetoes), *kept)

    def failed_checks(self) -> tuple[str, ...]:
        """Vetoes, shortfalls, and the outcomes of questions without a score."""
        return (
            *self.score.vetoes,
            *self.shortfalls,
            *_unusable_answers(self.support.answers, ""),
            *_unusable_answers(self.relevance.answers, RELEVANCE_PREFIX),
        )


def _unusable_answers(answers: Sequence[JudgeAnswer], prefix: str) -> tuple[str, ...]:
    bad = (a.outcome for a in answers if a.outcome is not JudgeOutcome.SCORED)
    return tuple(dict.fromkeys(prefix + outcome for outcome in bad))
