"""Safety Mechanism's thresholds and its five checks, each a pure function of a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from worker.assessment.policies.outcomes import check_policy
from worker.assessment.text.citations import citation_check, without_citations
from worker.assessment.text.wordlists import folded_text, phrase_pattern
from worker.assessment.text.words import fact_units, normalised_text, split_sentences, text_units
from worker.assessment.values import DraftCase
from worker.model import Action, Passage

HALLUCINATION_PATTERNS = (
    # Safety Mechanism names the check but no pattern; these state that the answer goes beyond the passages
    "as an ai", "in general", "it is well known", "it is commonly known", "from my knowledge",
    "based on my knowledge", "general knowledge", "not mentioned in the", "although the context does not",
)  # fmt: skip

UNMEASURED = "similarity not measured: no embedding model"
_SENTENCE_OVERLAP = 0.5
"""A sentence overlaps when half of its fact words occur in the passages; the design defines no measure."""


class RejectionReason(StrEnum):
    """Safety Mechanism's eight rejection reasons."""

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
    """Safety Mechanism's ``SafetyThresholds`` under their published names, and the answer after a rejection.

    Attributes:
        min_retrieval_confidence: 0..1, lowest mean similarity of the passages (0.6).
        min_similarity_score: 0..1, lowest best similarity for check 1 (0.5).
        min_rerank_score: 0..1, lowest best ``rerank`` label of the passages, if they have one (0.5).
        min_chunks_required: fewest passages (1).
        min_total_context_length: fewest characters of all passages (100).
        require_citations: whether check 4 runs.
        min_citation_coverage: 0..1, share of sentences that must be cited (0.8; 1.0 is the strict trigger 4).
        min_grounding_score: 0..1, share of sentences that must overlap with the passages (0.7).
        max_topic_mismatch_score: 0..1, a best similarity below it is off topic (0.3).
        scope: inserted into the answer; Safety Mechanism's own is "NCERT textbooks".
        answer: sent instead of a rejected reply; ``{scope}`` is replaced.
        low_action: the action for a rejected reply.
    """

    version: int = 1
    enabled: bool = True
    test_mode: bool = False
    gate: bool = True
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
        """The text sent instead of a rejected reply."""
        return self.answer.replace("{scope}", self.scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyCheck:
    """The result of one of the five checks.

    Attributes:
        reasons: the rejection reasons; empty when the check passed.
        score: 0..1, the measured value for the overall confidence; None when the check measures none.
        detail: one sentence with the figures.
    """

    name: str
    detail: str
    reasons: tuple[RejectionReason, ...] = ()
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Retrieval:
    """Similarities of the passages, 0..1 each; None where no vector was compared: words are no measure."""

    mean: float | None
    best: float | None
    best_rerank: float | None = field(default=None)


def _retrieval(passages: Sequence[Passage]) -> _Retrieval:
    measured = [p.similarity for p in passages if not p.by_words]
    similarities = measured or ([] if passages else [0.0])
    reranked = [float(p.metadata["rerank"]) for p in passages if _is_number(p.metadata.get("rerank", ""))]
    return _Retrieval(
        mean=round(sum(similarities) / len(similarities), 10) if similarities else None,
        best=max(similarities, default=None),
        best_rerank=max(reranked, default=None),
    )


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def retrieval_check(case: DraftCase, policy: SafetyPolicy) -> SafetyCheck:
    """Check 1: are the passages similar enough to the question?"""
    found = _retrieval(case.evidence.passages)
    compared = (
        (
            "mean similarity",
            None if found.mean is None else round(found.mean, 10),
            policy.min_retrieval_confidence,
        ),
        ("best similarity", found.best, policy.min_similarity_score),
        ("best rerank score", found.best_rerank, policy.min_rerank_score),
    )
    weak = [
        _figures(name, value, least) for name, value, least in compared if value is not None and value < least
    ]
    return SafetyCheck(
        name="retrieval_confidence",
        detail="; ".join(weak) or (UNMEASURED if found.mean is None else _figures(*compared[0])),
        reasons=(RejectionReason.LOW_CONFIDENCE,) if weak else (),
        score=found.mean,
    )


def _figures(name: str, value: float | None, least: float) -> str:
    """A measure and its threshold, with enough decimals to differ."""
    value = value or 0.0
    places = next((n for n in (2, 3, 4) if f"{value:.{n}f}" != f"{least:.{n}f}"), 6)
    places = 2 if value == least else places
    return f"{name} {value:.{places}f}, required {least:.{places}f}"


def context_check(case: DraftCase, policy: SafetyPolicy) -> SafetyCheck:
    """Check 2: is there enough context?"""
    passages = case.evidence.passages
    length = sum(len(p.text) for p in passages)
    counted = (
        ("passages", len(passages), policy.min_chunks_required),
        ("characters in all passages", length, policy.min_total_context_length),
    )
    short = [f"{number} {name}, required {least}" for name, number, least in counted if number < least]
    return SafetyCheck(
        name="context_sufficiency",
        detail="; ".join(short) or f"{len(passages)} passages, {length} characters",
        reasons=(RejectionReason.INSUFFICIENT_CONTEXT,) if short else (),
    )


def topic_check(case: DraftCase, policy: SafetyPolicy) -> SafetyCheck:
    """Check 3: is the question within scope, by the best passage and by class and subject?"""
    best = _retrieval(case.evidence.passages).best
    wanted = case.evidence.expected_metadata
    mismatched = bool(case.evidence.passages) and not any(
        all(p.metadata.get(key) == value for key, value in wanted.items()) for p in case.evidence.passages
    )
    limit = policy.max_topic_mismatch_score
    figures = UNMEASURED if best is None else _figures("best similarity", best, limit)
    off = [figures] if best is not None and best < limit else []
    off += [f"no passage has the labels of the message ({', '.join(wanted)})"] if mismatched else []
    return SafetyCheck(
        name="topic_relevance",
        detail="; ".join(off) or figures,
        reasons=(RejectionReason.OFF_TOPIC,) if off else (),
    )


def citations_check(case: DraftCase, policy: SafetyPolicy) -> SafetyCheck:
    """Check 4: does every sentence cite a passage that exists?

    A sentence whose only citation names no passage has an invalid citation, and none is missing.
    """
    check = citation_check(case.draft, case.evidence.passages)
    figures = _figures("share of sentences cited", check.marked, policy.min_citation_coverage)
    found: list[tuple[RejectionReason, str]] = []
    if round(check.marked, 10) < policy.min_citation_coverage:
        found.append((RejectionReason.MISSING_CITATIONS, figures))
    if check.invalid:
        cited = ", ".join(str(number) for number in check.invalid)
        found.append((RejectionReason.INVALID_CITATIONS, f"no passage has the cited number {cited}"))
    return SafetyCheck(
        name="citations",
        detail="; ".join(said for _, said in found) or figures,
        reasons=tuple(reason for reason, _ in found),
        score=check.coverage,
    )


def grounding_score(case: DraftCase) -> float:
    """0..1, share of the reply's sentences that overlap with the passages; 1 without stated facts."""
    known = set(text_units(normalised_text(case.context)))
    stated = [
        fact_units(text_units(s)) for s in split_sentences(normalised_text(without_citations(case.draft)))
    ]
    telling = [found for found in stated if found]
    held = sum(sum(u in known for u in found) >= _SENTENCE_OVERLAP * len(found) for found in telling)
    return held / len(telling) if telling else 1.0


def answer_check() -> SafetyCheck:
    """Check 5 of a non-answer, which fails, because nothing is grounded in the passages."""
    return SafetyCheck(
        name="answer_grounding",
        detail="the draft says that it has no answer",
        reasons=(RejectionReason.LOW_GROUNDING,),
        score=0.0,
    )


def grounding_check(case: DraftCase, policy: SafetyPolicy) -> SafetyCheck:
    """Check 5: do the sentences overlap with the passages, without a phrase that goes beyond them?"""
    score = grounding_score(case)
    outside = phrase_pattern(policy.hallucination_patterns).search(folded_text(case.draft))
    figures = _figures("share of sentences that overlap", score, policy.min_grounding_score)
    found: list[tuple[RejectionReason, str]] = []
    if round(score, 10) < policy.min_grounding_score:
        found.append((RejectionReason.LOW_GROUNDING, figures))
    if outside is not None:
        found.append((RejectionReason.HALLUCINATION_DETECTED, f"it says {outside.group()!r}"))
    return SafetyCheck(
        name="answer_grounding",
        detail="; ".join(said for _, said in found) or figures,
        reasons=tuple(reason for reason, _ in found),
        score=score,
    )
