"""How close a decision was to another outcome: each of its measures against a threshold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from review.languages import gettext, mark
from review.languages.numbers import localized
from review.words.decisions import DRAFT_PROBLEMS
from worker.assessment import Policy, parse_policy, with_thresholds
from worker.assessment.policies.designs import design_name, design_of
from worker.assessment.policies.vetoes import Veto
from worker.errors import PolicyRejected
from worker.model import Json, Stage
from worker.snapshot import Snapshot, SnapshotAssessment

VETOES: Final = frozenset({veto.value for veto in Veto})
"""Checks that stop a draft with any scores."""
SUBJECTS: Final[dict[str, str]] = {
    Stage.MODERATION: mark("message"),
    Stage.MODERATION_REPLY: mark("draft"),
}
SMALLEST_SHOWN: Final = 0.01
"""Lower scores are not shown when they have no threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """One measure against one threshold.

    Attributes:
        subject: what was measured: the message, the draft, the passages.
        effect: what happens from the threshold on.
        threshold: None when the API's own flag decides.
        sends: the policy sends a draft only if this measure reaches the threshold.
        is_category: ``measure`` is a category of moderation; otherwise a marked text.
    """

    subject: str
    measure: str
    score: float
    threshold: float | None
    effect: str
    sends: bool = False
    is_category: bool = False

    @property
    def reached(self) -> bool:
        """Whether the score is at or above the threshold."""
        return self.threshold is not None and self.score >= self.threshold

    @property
    def shown(self) -> bool:
        """Whether the page shows it: every score with a threshold, and others that are not close to 0."""
        return self.threshold is not None or self.score >= SMALLEST_SHOWN

    def comparison(self) -> str:
        """``0.62 of 0.70, 0.08 short``; three decimals where two would hide the difference."""
        if self.threshold is None:
            return localized(f"{self.score:.2f}")
        score, threshold, off = self._figures(self.threshold)
        values = {"score": score, "threshold": threshold, "off": off}
        if self.reached:
            return gettext("%(score)s of %(threshold)s, %(off)s over") % values
        return gettext("%(score)s of %(threshold)s, %(off)s short") % values

    def requirement(self) -> str:
        """``0.62 where 0.70 is needed``; the score alone without a threshold."""
        if self.threshold is None:
            return localized(f"{self.score:.2f}")
        score, threshold, _off = self._figures(self.threshold)
        text = gettext("%(score)s where %(threshold)s is needed")
        return text % {"score": score, "threshold": threshold}

    def rounded(self) -> tuple[str, str]:
        """Score and threshold with enough decimals to show a difference; the threshold is empty for None."""
        if self.threshold is None:
            return localized(f"{self.score:.2f}"), ""
        return self._figures(self.threshold)[:2]

    def _figures(self, threshold: float) -> tuple[str, str, str]:
        """Score, threshold and their distance, with enough decimals to show a difference."""
        gap = self.score - threshold
        places = 2 if abs(gap) >= 0.005 or gap == 0 else 3 if abs(gap) >= 0.0005 else 6
        figures = (self.score, threshold, abs(gap))
        score, needed, off = (localized(f"{each:.{places}f}") for each in figures)
        return score, needed, off


def moderation_margins(snapshot: Snapshot) -> tuple[Margin, ...]:
    """The stored moderation scores, closest to its threshold first."""
    found = (
        Margin(
            subject=SUBJECTS[stage.stage],
            measure=category,
            is_category=True,
            score=each.score,
            threshold=each.threshold,
            effect=mark("no threshold: blocked when the model flags it")
            if each.threshold is None
            else mark("blocked"),
        )
        for stage in snapshot.stages
        if stage.stage in SUBJECTS
        for category, each in stage.highest.items()
    )
    return tuple(
        sorted(found, key=lambda each: (each.threshold is None, (each.threshold or 0.0) - each.score))
    )


def assessment_margins(snapshot: Snapshot, settings: Mapping[str, Json] | None) -> tuple[Margin, ...]:
    """The draft's confidence and its parts, against the policy of the settings version that was used.

    ``settings`` is that version's ``assessment_policy``; None when it is no longer stored.
    """
    assessment = snapshot.assessment
    try:
        policy = None if settings is None else parse_policy(dict(settings))
    except PolicyRejected:  # of another release
        return ()
    if not assessment or policy is None:
        return ()
    wanted = assessment.policy.partition("@")[0]
    chain = (policy, design_of(policy).following(policy))
    used = next((each for each in chain if each is not None and design_name(each) == wanted), None)
    return () if used is None else tuple(_policy_margins(snapshot, assessment, _as_used(used, assessment)))


def _policy_margins(snapshot: Snapshot, assessment: SnapshotAssessment, policy: Policy) -> Iterator[Margin]:
    """The limits of the policy with what was measured, those that decided first."""
    measured = {
        "confidence": assessment.confidence,
        "support": assessment.support,
        "relevance": assessment.relevance,
        "best_similarity": max((each.similarity for each in snapshot.passages), default=0.0),
    }
    limits = sorted(design_of(policy).limits, key=lambda each: each.category != assessment.category)
    for limit in limits:
        score = measured.get(limit.value, assessment.signals.get(limit.value))
        if score is not None:
            threshold = assessment.diagnostic(limit.threshold, getattr(policy, limit.threshold))
            yield Margin(
                subject=limit.subject,
                measure=limit.measure,
                score=score,
                threshold=threshold,
                effect=limit.effect,
                sends=limit.sends,
            )


def _as_used(policy: Policy, assessment: SnapshotAssessment) -> Policy:
    """The policy with the thresholds that conditions set for this event."""
    stored = assessment.diagnostics.get("thresholds")
    values = stored if isinstance(stored, dict) else {}
    known = set(design_of(policy).thresholds)
    usable = {
        name: float(value)
        for name, value in values.items()
        if name in known and isinstance(value, int | float) and 0 <= value <= 1
    }
    try:
        return with_thresholds(policy, usable)
    except ValueError:  # of another release
        return policy


def deciding_margin(found: Iterable[Margin], *, sent: bool) -> Margin | None:
    """The comparison that sent or stopped a draft; None when no comparison decided.

    A stopped draft is compared with the lowest threshold of its measure: between two it is rechecked.
    """
    of_draft = [each for each in found if each.subject == "draft"]
    if sent:
        return next((each for each in of_draft if each.sends and each.reached), None)
    failed = next((each for each in of_draft if each.sends and not each.reached), None)
    short = [each for each in of_draft if failed and each.measure == failed.measure and not each.reached]
    return min(short, key=lambda each: each.threshold or 0.0, default=None)


def trust_wording(assessment: SnapshotAssessment, found: Iterable[Margin], *, sent: bool) -> str:
    """The comparison that decided about a draft and the checks that stopped it; empty when unknown."""
    codes = () if sent else (*assessment.failed_checks, assessment.category)
    problems = ", ".join(
        dict.fromkeys(gettext(DRAFT_PROBLEMS[each]) for each in codes if each in DRAFT_PROBLEMS)
    )
    comparison = "" if sent else "; ".join(assessment.failed_comparisons)
    if not comparison and (sent or assessment.measured) and not VETOES & set(codes):
        margin = deciding_margin(found, sent=sent)
        comparison = _comparison(margin) if margin else ""
    return ": ".join(each for each in (comparison, problems) if each)


def _comparison(margin: Margin) -> str:
    values = {"measure": gettext(margin.measure), "requirement": margin.requirement()}
    return gettext("its %(measure)s is %(requirement)s") % values
