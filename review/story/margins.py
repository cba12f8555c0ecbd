"""How near a decision came to ending otherwise: what was measured beside its threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from worker.assessment import parse_policy
from worker.assessment.calibrated import CalibratedPolicy
from worker.assessment.failsafe import FailsafePolicy
from worker.assessment.guardrail import GuardrailPolicy
from worker.assessment.policies import Policy, design_of
from worker.assessment.safety_checks import SafetyPolicy
from worker.assessment.signals import EvidenceKind
from worker.assessment.validators import ValidatorsPolicy
from worker.errors import PolicyRejected
from worker.model import Json

LEAST_TELLING: Final = 0.01
SUBJECTS: Final = {"moderation": "message", "moderation_reply": "draft"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """One measure against one threshold.

    Attributes:
        subject: what was measured: the message, the draft, the passages.
        effect: what happens from the threshold on.
        threshold: None when none of ours applies, as for categories that follow the API's own flag.
    """

    subject: str
    measure: str
    score: float
    threshold: float | None
    effect: str

    @property
    def reached(self) -> bool:
        """Whether the score is at or above the threshold."""
        return self.threshold is not None and self.score >= self.threshold

    @property
    def telling(self) -> bool:
        """Whether it is worth a line: scores next to nought without a threshold are not."""
        return self.threshold is not None or self.score >= LEAST_TELLING

    def told(self) -> str:
        """``0.62 of 0.70, 0.08 short``; three decimals where two would hide the difference."""
        if self.threshold is None:
            return f"{self.score:.2f}"
        gap = self.score - self.threshold
        places = 2 if abs(gap) >= 0.005 or gap == 0 else 3 if abs(gap) >= 0.0005 else 6
        score, threshold, off = (f"{each:.{places}f}" for each in (self.score, self.threshold, abs(gap)))
        return f"{score} of {threshold}, " + (f"{off} over" if self.reached else f"{off} short")


def of_moderation(snapshot: Mapping[str, Any]) -> tuple[Margin, ...]:
    """The scores that the stage trace keeps, nearest to its threshold first."""
    found = [
        Margin(
            subject=subject,
            measure=category,
            score=each["score"],
            threshold=each["threshold"],
            effect="stops it"
            if each["threshold"] is not None
            else "none set: stops it when the model flags it",
        )
        for stage in snapshot.get("stages", ())
        if (subject := SUBJECTS.get(stage["stage"])) is not None
        for category, each in (stage["detail"].get("highest") or {}).items()
    ]
    return tuple(sorted(found, key=_distance))


def of_assessment(snapshot: Mapping[str, Any], settings: Mapping[str, Json] | None) -> tuple[Margin, ...]:
    """The draft's confidence and what it is made of, against the policy of the version the decision used.

    ``settings`` is that version's ``assessment_policy``; None when it is not known any more.
    """
    assessment = snapshot.get("assessment")
    policy = policy_of(settings)
    if not assessment or policy is None or assessment["policy"].partition("@")[0] != design_of(policy):
        return ()
    match policy:
        case CalibratedPolicy():
            return tuple(_calibrated(assessment, snapshot, policy))
        case GuardrailPolicy():
            return tuple(_guardrail(assessment, policy))
        case FailsafePolicy():
            return tuple(_failsafe(assessment, policy))
        case ValidatorsPolicy():
            return tuple(_validators(assessment, policy))
        case SafetyPolicy():
            return tuple(_safety(assessment, snapshot, policy))


def policy_of(settings: Mapping[str, Json] | None) -> Policy | None:
    """A stored policy, or None when this release cannot read it."""
    if settings is None:
        return None
    try:
        return parse_policy(dict(settings))
    except PolicyRejected:
        return None


def _distance(margin: Margin) -> tuple[bool, float]:
    return (
        margin.threshold is None,
        -margin.score if margin.threshold is None else margin.threshold - margin.score,
    )


def _draft(measure: str, score: float, threshold: float, effect: str) -> Margin:
    return Margin(subject="draft", measure=measure, score=score, threshold=threshold, effect=effect)


def _calibrated(
    assessment: Mapping[str, Any], snapshot: Mapping[str, Any], policy: CalibratedPolicy
) -> Iterator[Margin]:
    noted = assessment["diagnostics"]
    if (judged := assessment["signals"].get("judge_lowest")) is not None:
        accepts = noted.get("judge_accepts", policy.judge_accepts)
        yield _draft("lowest score from the judge", judged, accepts, "sent")
    if (cheap := noted.get("cheap_confidence")) is not None:
        model = policy.model.kinds[EvidenceKind(noted["evidence_kind"])]
        send_at = noted.get("send_at", model.send_at if policy.send_at is None else policy.send_at)
        least = noted.get(
            "reject_below", model.reject_below if policy.reject_below is None else policy.reject_below
        )
        yield _draft("confidence", cheap, send_at, "sent without a judge")
        yield _draft("confidence", cheap, least, "worth a judge; refused below")
    percentiles = [
        each["percentile"] for each in snapshot.get("passages", ()) if each["percentile"] is not None
    ]
    if percentiles:
        yield Margin(
            subject="passages",
            measure="nearness",
            score=max(percentiles),
            threshold=policy.min_percentile,
            effect="near enough to answer from",
        )


def _guardrail(assessment: Mapping[str, Any], policy: GuardrailPolicy) -> Iterator[Margin]:
    score = assessment["confidence"]
    yield _draft("confidence", score, policy.high_threshold, "high: sent at once")
    yield _draft("confidence", score, policy.medium_threshold, "medium: rechecked, then sent")


def _failsafe(assessment: Mapping[str, Any], policy: FailsafePolicy) -> Iterator[Margin]:
    yield _draft("confidence", assessment["confidence"], policy.confidence_threshold, "sent")
    if (words := assessment["signals"].get("rule_score")) is not None:
        yield _draft("score by the words", words, policy.judge_below, "sent without a judge")


def _validators(assessment: Mapping[str, Any], policy: ValidatorsPolicy) -> Iterator[Margin]:
    if (shared := assessment["signals"].get("overlap")) is not None:
        yield _draft("words shared with the passages", shared, policy.evidence_threshold, "rests on them")


def _safety(
    assessment: Mapping[str, Any], snapshot: Mapping[str, Any], policy: SafetyPolicy
) -> Iterator[Margin]:
    signals = assessment["signals"]
    limits = (
        ("retrieval_confidence", "mean similarity of the passages", policy.min_retrieval_confidence),
        ("citations", "share of sentences cited", policy.min_citation_coverage),
        ("answer_grounding", "share of sentences the passages carry", policy.min_grounding_score),
    )
    for name, measure, limit in limits:
        if name in signals:
            yield _draft(measure, signals[name], limit, "check passed")
    best = max((each["similarity"] for each in snapshot.get("passages", ())), default=0.0)
    for measure, limit in (
        ("best similarity", policy.min_similarity_score),
        ("best similarity, to be on topic", policy.max_topic_mismatch_score),
    ):
        yield Margin(subject="passages", measure=measure, score=best, threshold=limit, effect="check passed")
