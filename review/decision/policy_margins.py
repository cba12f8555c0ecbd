"""The measures that each policy compares, with the thresholds that were used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from review.decision.margin import Margin
from review.languages import mark
from worker.assessment import Policy
from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.policies.consensus import ConsensusPolicy
from worker.assessment.policies.failsafe_policy import FailsafePolicy
from worker.assessment.policies.guardrail import GuardrailPolicy
from worker.assessment.policies.safety_checks import SafetyPolicy
from worker.assessment.policies.validators import ValidatorsPolicy
from worker.assessment.signals.grounds import EvidenceKind
from worker.snapshot import Snapshot, SnapshotAssessment


def policy_margins(assessment: SnapshotAssessment, snapshot: Snapshot, policy: Policy) -> Iterator[Margin]:
    """The margins of a draft; the deciding comparison is the first one."""
    match policy:
        case CalibratedPolicy():
            return _calibrated(assessment, snapshot, policy)
        case GuardrailPolicy():
            return _guardrail(assessment, policy)
        case FailsafePolicy():
            return _failsafe(assessment, policy)
        case ValidatorsPolicy():
            return _validators(assessment, policy)
        case ConsensusPolicy():
            return _consensus(assessment, policy)
        case SafetyPolicy():
            return _safety(assessment, snapshot, policy)


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
