"""Seed 003's thresholds and its five checks, each a pure function of a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from worker.assessment.citations import citation_check, without_citations
from worker.assessment.outcomes import check_policy
from worker.assessment.values import Action, Case
from worker.assessment.wordlists import folded, phrase_pattern
from worker.assessment.words import facts, normalised, sentences, units
from worker.model import Passage

HALLUCINATION_PATTERNS = (
    # seed 003 names the check and no pattern; these say outright that the passages were left
    "as an ai", "in general", "it is well known", "it is commonly known", "from my knowledge",
    "based on my knowledge", "general knowledge", "not mentioned in the", "although the context does not",
)  # fmt: skip

_SENTENCE_OVERLAP = 0.5
"""A sentence overlaps when half of its fact words occur in the passages; seed 003 leaves the measure open."""


class RejectionReason(StrEnum):
    """Seed 003's eight rejection reasons."""

    LOW_CONFIDENCE = "low_confidence"
    INSUFFICIENT_CONTEXT = "insufficient_context"
    MISSING_CITATIONS = "missing_citations"
    INVALID_CITATIONS = "invalid_citations"
    OFF_TOPIC = "off_topic"
    LOW_GROUNDING = "low_grounding"
    HALLUCINATION_DETECTED = "hallucination_detected"
    MULTIPLE_ISSUES = "multiple_issues"


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyPolicy:
    """Seed 003's ``SafetyThresholds`` under their own names, and what to answer instead.

    Attributes:
        min_retrieval_confidence: 0..1, lowest mean similarity of the passages (0.6).
        min_similarity_score: 0..1, lowest best similarity for check 1 (0.5).
        min_rerank_score: 0..1, lowest best ``rerank`` label of the passages, when they carry one (0.5).
        min_chunks_required: fewest passages (1).
        min_total_context_length: fewest characters of all passages (100).
        require_citations: whether check 4 runs.
        min_citation_coverage: 0..1, share of sentences that must be cited (0.8; 1.0 is the strict trigger 4).
        min_grounding_score: 0..1, share of sentences that must overlap with the passages (0.7).
        max_topic_mismatch_score: 0..1, a best similarity below it is off topic (0.3).
        scope: fills the answer; seed 003's own is "NCERT textbooks".
        answer: sent instead of a rejected reply; ``{scope}`` is replaced.
        low_action: what becomes of a rejected reply.
    """

    version: int = 1
    enabled: bool = True
    gate: bool = False
    min_retrieval_confidence: float = 0.6
    min_similarity_score: float = 0.5
    min_rerank_score: float = 0.5
    min_chunks_required: int = 1
    min_total_context_length: int = 100
    require_citations: bool = True
    min_citation_coverage: float = 0.8
    min_grounding_score: float = 0.7
    max_topic_mismatch_score: float = 0.3
    hallucination_patterns: tuple[str, ...] = HALLUCINATION_PATTERNS
    scope: str = "our documents"
    answer: str = "I don't know based on {scope}."
    low_action: Action = Action.FALLBACK

    def __post_init__(self) -> None:
        check_policy(
            self,
            shares=(
                "min_retrieval_confidence",
                "min_similarity_score",
                "min_rerank_score",
                "min_citation_coverage",
                "min_grounding_score",
                "max_topic_mismatch_score",
            ),
            counts={"min_chunks_required": (0, 100), "min_total_context_length": (0, 200_000)},
        )
        if not all(pattern.strip() for pattern in self.hallucination_patterns):
            raise ValueError("hallucination_patterns: expected phrases, got an empty one")

    @property
    def dont_know(self) -> str:
        """What is answered instead of a rejected reply."""
        return self.answer.replace("{scope}", self.scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How one of the five checks went.

    Attributes:
        reasons: what it rejects for; empty when it passed.
        score: 0..1, what it measured, for the overall confidence; None when it measures none.
        detail: one sentence with the figures.
    """

    name: str
    detail: str
    reasons: tuple[RejectionReason, ...] = ()
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Retrieval:
    """Similarities of the passages, 0..1 each."""

    mean: float
    best: float
    best_rerank: float | None = field(default=None)


def _retrieval(passages: Sequence[Passage]) -> _Retrieval:
    similarities = [p.similarity for p in passages] or [0.0]
    reranked = [float(p.metadata["rerank"]) for p in passages if _is_number(p.metadata.get("rerank", ""))]
    return _Retrieval(
        mean=sum(similarities) / len(similarities),
        best=max(similarities),
        best_rerank=max(reranked, default=None),
    )


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def retrieval_check(case: Case, policy: SafetyPolicy) -> Check:
    """Check 1: are the passages near enough to the question?"""
    found = _retrieval(case.evidence.passages)
    weak = (
        round(found.mean, 10) < policy.min_retrieval_confidence
        or found.best < policy.min_similarity_score
        or (found.best_rerank is not None and found.best_rerank < policy.min_rerank_score)
    )
    return Check(
        name="retrieval_confidence",
        detail=f"mean similarity {found.mean:.2f}, required {policy.min_retrieval_confidence:.2f}",
        reasons=(RejectionReason.LOW_CONFIDENCE,) if weak else (),
        score=found.mean,
    )


def context_check(case: Case, policy: SafetyPolicy) -> Check:
    """Check 2: is there enough to answer from?"""
    passages = case.evidence.passages
    length = sum(len(p.text) for p in passages)
    short = len(passages) < policy.min_chunks_required or length < policy.min_total_context_length
    return Check(
        name="context_sufficiency",
        detail=f"{len(passages)} passages of {length} characters, required {policy.min_chunks_required} of "
        f"{policy.min_total_context_length}",
        reasons=(RejectionReason.INSUFFICIENT_CONTEXT,) if short else (),
    )


def topic_check(case: Case, policy: SafetyPolicy) -> Check:
    """Check 3: is the question within scope, by the best passage and by class and subject?"""
    best = _retrieval(case.evidence.passages).best
    wanted = case.evidence.expected_metadata
    mismatched = bool(case.evidence.passages) and not any(
        all(p.metadata.get(key) == value for key, value in wanted.items()) for p in case.evidence.passages
    )
    off = best < policy.max_topic_mismatch_score or mismatched
    label = f", no passage of {dict(wanted)}" if mismatched else ""
    return Check(
        name="topic_relevance",
        detail=f"best similarity {best:.2f}, required {policy.max_topic_mismatch_score:.2f}{label}",
        reasons=(RejectionReason.OFF_TOPIC,) if off else (),
    )


def citations_check(case: Case, policy: SafetyPolicy) -> Check:
    """Check 4: does every sentence cite a passage that exists?"""
    check = citation_check(case.draft, case.evidence.passages)
    reasons = []
    if round(check.coverage, 10) < policy.min_citation_coverage:
        reasons.append(RejectionReason.MISSING_CITATIONS)
    if check.invalid:
        reasons.append(RejectionReason.INVALID_CITATIONS)
    return Check(
        name="citations",
        detail=f"{len(check.uncited)} of {check.sentences} sentences uncited, invalid: {list(check.invalid)}",
        reasons=tuple(reasons),
        score=check.coverage,
    )


def grounding_score(case: Case) -> float:
    """0..1, share of the reply's sentences that overlap with the passages; 1 when none states a fact."""
    known = set(units(normalised(case.context)))
    stated = [facts(units(s)) for s in sentences(normalised(without_citations(case.draft)))]
    telling = [found for found in stated if found]
    held = sum(sum(u in known for u in found) >= _SENTENCE_OVERLAP * len(found) for found in telling)
    return held / len(telling) if telling else 1.0


def grounding_check(case: Case, policy: SafetyPolicy) -> Check:
    """Check 5: do the sentences overlap with the passages, and does none say it leaves them?"""
    score = grounding_score(case)
    outside = phrase_pattern(policy.hallucination_patterns).search(folded(case.draft))
    reasons = []
    if round(score, 10) < policy.min_grounding_score:
        reasons.append(RejectionReason.LOW_GROUNDING)
    if outside is not None:
        reasons.append(RejectionReason.HALLUCINATION_DETECTED)
    said = f", says {outside.group()!r}" if outside else ""
    return Check(
        name="answer_grounding",
        detail=f"{score:.0%} of the sentences overlap, required {policy.min_grounding_score:.0%}{said}",
        reasons=tuple(reasons),
        score=score,
    )
