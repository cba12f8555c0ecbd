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
from worker.snapshot import Snapshot, SnapshotAssessment


def policy_margins(assessment: SnapshotAssessment, snapshot: Snapshot, policy: Policy) -> Iterator[Margin]:
    """The margins of a draft; the deciding comparison is the first one."""
    match policy:
        case CalibratedPolicy():
            return _read(assessment, policy.send_at)
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


def _read(assessment: SnapshotAssessment, send_at: float) -> Iterator[Margin]:
    """What the judge read, the half that stopped the draft first; nothing where no judge read it."""
    send_at = assessment.diagnostic("send_at", send_at)
    halves = (
        (mark("support"), assessment.support),
        (mark("relevance"), assessment.relevance),
    )
    for measure, value in reversed(halves) if assessment.category == "irrelevant" else halves:
        if value is not None:
            yield _sends(measure, value, send_at, mark("sent"))


def _guardrail(assessment: SnapshotAssessment, policy: GuardrailPolicy) -> Iterator[Margin]:
    score = assessment.confidence
    yield _draft(mark("confidence"), score, policy.high_threshold, mark("high: sent at once"))
    yield _sends(mark("confidence"), score, policy.medium_threshold, mark("medium: rechecked, then sent"))


def _failsafe(assessment: SnapshotAssessment, policy: FailsafePolicy) -> Iterator[Margin]:
    yield _sends(mark("confidence"), assessment.confidence, policy.confidence_threshold, mark("sent"))
    if (words := assessment.signals.get("rule_score")) is not None:
        yield _draft(
            mark("score of the word rules"), words, policy.judge_below, mark("not read by the judge")
        )


def _validators(assessment: SnapshotAssessment, policy: ValidatorsPolicy) -> Iterator[Margin]:
    if (shared := assessment.signals.get("overlap")) is not None:
        yield _sends(
            mark("words shared with the passages"), shared, policy.evidence_threshold, mark("supported")
        )


def _consensus(assessment: SnapshotAssessment, policy: ConsensusPolicy) -> Iterator[Margin]:
    if (agreed := assessment.signals.get("agreement")) is not None:
        yield _sends(
            mark("facts that another draft states"), agreed, policy.min_agreement, mark("check passed")
        )
    yield from _read(assessment, policy.send_at)


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
