"""How close a decision was to another outcome: each measure with its threshold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from review.languages import gettext, mark
from review.languages.numbers import localized
from review.wording import DRAFT_PROBLEMS
from worker.assessment import Policy, parse_policy, with_thresholds
from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.policies.consensus import ConsensusPolicy
from worker.assessment.policies.designs import design_name
from worker.assessment.policies.failsafe_policy import FailsafePolicy
from worker.assessment.policies.guardrail import GuardrailPolicy
from worker.assessment.policies.safety_checks import SafetyPolicy
from worker.assessment.policies.thresholds import THRESHOLDS
from worker.assessment.policies.validators import ValidatorsPolicy
from worker.assessment.signals.grounds import EvidenceKind
from worker.assessment.signals.scoring import Veto
from worker.errors import PolicyRejected
from worker.model import Json, Stage
from worker.snapshot import Snapshot, SnapshotAssessment

VETOES: Final = frozenset({veto.value for veto in Veto})
"""Checks that stop a draft with any scores."""
SMALLEST_SHOWN: Final = 0.01
"""A score below it is not shown when it has no threshold."""
SUBJECTS: Final[dict[str, str]] = {
    Stage.MODERATION: mark("message"),
    Stage.MODERATION_REPLY: mark("draft"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """One measure against one threshold.

    Attributes:
        subject: what was measured: the message, the draft, the passages.
        effect: what happens from the threshold on.
        threshold: None when the API's own flag decides.
        sends: the policy requires it of a draft before it is sent.
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
        """Score and threshold with enough decimals to show a difference; an empty threshold for none."""
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
    if assessment and isinstance(policy, FailsafePolicy) and "failsafe" in assessment.passed_checks:
        policy = policy.guardrail
    if not assessment or policy is None or assessment.policy.partition("@")[0] != design_name(policy):
        return ()
    policy = _as_used(policy, assessment)
    match policy:
        case CalibratedPolicy():
            margins = _calibrated(assessment, snapshot, policy)
        case GuardrailPolicy():
            margins = _guardrail(assessment, policy)
        case FailsafePolicy():
            margins = _failsafe(assessment, policy)
        case ValidatorsPolicy():
            margins = _validators(assessment, policy)
        case ConsensusPolicy():
            margins = _consensus(assessment, policy)
        case SafetyPolicy():
            margins = _safety(assessment, snapshot, policy)
    return tuple(margins)


def _as_used(policy: Policy, assessment: SnapshotAssessment) -> Policy:
    """The policy with the thresholds that conditions set for this event."""
    stored = assessment.diagnostics.get("thresholds")
    values = stored if isinstance(stored, dict) else {}
    known = set(THRESHOLDS[type(policy)])
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

    A stopped draft is compared with the lowest threshold of its measure: between two, a judge decides.
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


def _draft(measure: str, score: float, threshold: float, effect: str) -> Margin:
    return Margin(subject="draft", measure=measure, score=score, threshold=threshold, effect=effect)


def _sends(measure: str, score: float, threshold: float, effect: str) -> Margin:
    return replace(_draft(measure, score, threshold, effect), sends=True)


def _calibrated(
    assessment: SnapshotAssessment, snapshot: Snapshot, policy: CalibratedPolicy
) -> Iterator[Margin]:
    """The half that stopped the draft first; the deciding comparison is the first one."""
    halves = (tuple(_support(assessment, policy)), tuple(_relevance(assessment, policy)))
    stopped_by_relevance = assessment.category.startswith(("irrelevant", "relevance_"))
    for half in reversed(halves) if stopped_by_relevance else halves:
        yield from half
    percentiles = [each.percentile for each in snapshot.passages if each.percentile is not None]
    if percentiles:
        yield Margin(
            subject=mark("passages"),
            measure=mark("similarity percentile"),
            score=max(percentiles),
            threshold=policy.min_percentile,
            effect=mark("similar enough to answer from"),
        )


def _support(assessment: SnapshotAssessment, policy: CalibratedPolicy) -> Iterator[Margin]:
    """Support against the thresholds that were used; without relevance it is the whole confidence."""
    if (judged := assessment.signals.get("judge_lowest")) is not None:
        accepts = assessment.diagnostic("judge_accepts", policy.judge_accepts)
        yield _sends(mark("lowest score from the judge"), judged, accepts, mark("sent"))
    kind = assessment.diagnostics.get("evidence_kind")
    if "cheap_confidence" in assessment.diagnostics and kind in set(EvidenceKind):
        cheap, model = assessment.diagnostic("cheap_confidence", 0.0), policy.model.kinds[EvidenceKind(kind)]
        send_at = model.send_at if policy.send_at is None else policy.send_at
        reject_below = model.reject_below if policy.reject_below is None else policy.reject_below
        measure = mark("confidence") if assessment.relevance is None else mark("support")
        yield _sends(measure, cheap, assessment.diagnostic("send_at", send_at), mark("sent without a judge"))
        yield _draft(
            measure, cheap, assessment.diagnostic("reject_below", reject_below), mark("judged, not refused")
        )


def _relevance(assessment: SnapshotAssessment, policy: CalibratedPolicy) -> Iterator[Margin]:
    """Relevance against the thresholds that were used, where it was measured."""
    if (judged := assessment.signals.get("judge_relevance")) is not None:
        accepts = assessment.diagnostic("judge_accepts", policy.judge_accepts)
        yield _sends(mark("relevance from the judge"), judged, accepts, mark("sent"))
    if "cheap_relevance" in assessment.diagnostics:
        cheap = assessment.diagnostic("cheap_relevance", 0.0)
        relevant_from, irrelevant_below = policy.relevance_bounds()
        yield _sends(
            mark("relevance"),
            cheap,
            assessment.diagnostic("relevant_from", relevant_from),
            mark("sent without a judge"),
        )
        yield _draft(
            mark("relevance"),
            cheap,
            assessment.diagnostic("irrelevant_below", irrelevant_below),
            mark("judged, not refused"),
        )


def _guardrail(assessment: SnapshotAssessment, policy: GuardrailPolicy) -> Iterator[Margin]:
    score = assessment.confidence
    yield _draft(mark("confidence"), score, policy.high_threshold, mark("high: sent at once"))
    yield _sends(mark("confidence"), score, policy.medium_threshold, mark("medium: rechecked, then sent"))


def _failsafe(assessment: SnapshotAssessment, policy: FailsafePolicy) -> Iterator[Margin]:
    yield _sends(mark("confidence"), assessment.confidence, policy.confidence_threshold, mark("sent"))
    if (words := assessment.signals.get("rule_score")) is not None:
        yield _draft(mark("score of the word rules"), words, policy.judge_below, mark("sent without a judge"))


def _validators(assessment: SnapshotAssessment, policy: ValidatorsPolicy) -> Iterator[Margin]:
    if (shared := assessment.signals.get("overlap")) is not None:
        yield _sends(
            mark("words shared with the passages"), shared, policy.evidence_threshold, mark("supported")
        )


def _consensus(assessment: SnapshotAssessment, policy: ConsensusPolicy) -> Iterator[Margin]:
    for name, measure, limit in (
        ("agreement", mark("facts that another draft states"), policy.min_agreement),
        ("support", mark("support by the passages"), policy.min_support),
    ):
        if name in assessment.signals:
            yield _sends(measure, assessment.signals[name], limit, mark("check passed"))


def _safety(assessment: SnapshotAssessment, snapshot: Snapshot, policy: SafetyPolicy) -> Iterator[Margin]:
    signals = assessment.signals
    limits = (
        ("retrieval_confidence", mark("mean similarity of the passages"), policy.min_retrieval_confidence),
        ("citations", mark("share of sentences cited"), policy.min_citation_coverage),
        ("answer_grounding", mark("share of sentences that passages support"), policy.min_grounding_score),
    )
    for name, measure, limit in limits:
        if name in signals:
            yield _sends(measure, signals[name], limit, mark("check passed"))
    best = max((each.similarity for each in snapshot.passages), default=0.0)
    for measure, limit in (
        (mark("best similarity"), policy.min_similarity_score),
        (mark("best similarity, to be on topic"), policy.max_topic_mismatch_score),
    ):
        yield Margin(
            subject=mark("passages"),
            measure=measure,
            score=best,
            threshold=limit,
            effect=mark("check passed"),
        )
