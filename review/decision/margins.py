"""How close a decision was to another outcome: each measure with its threshold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from review.decision.margin import Margin
from review.languages import gettext, mark
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
    """The comparison that sent a draft, or the one that stopped it; None when no comparison decided.

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
