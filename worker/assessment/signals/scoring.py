"""The score of a draft without a judge: its signals, the confidence they give, and its vetoes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from worker.assessment.non_answers.recogniser import is_non_answer
from worker.assessment.relevance.asked import is_task
from worker.assessment.relevance.scoring import RelevanceScore, relevance_score
from worker.assessment.signals.coefficients import CoefficientSet, relevance_model
from worker.assessment.signals.grounds import EvidenceKind, Grounds, evidence_grounds
from worker.assessment.signals.lexical import lexical_signals
from worker.assessment.text.citations import CitationCheck, citation_check, without_citations
from worker.assessment.text.language import author_language, mixed_script_words, wrong_language
from worker.assessment.values import DraftCase


class Veto(StrEnum):
    """Facts that stop a draft at any score."""

    MODERATION_HIT = "moderation_hit"
    NO_EVIDENCE = "no_evidence"
    INVALID_CITATION = "invalid_citation"
    WRONG_LANGUAGE = "wrong_language"
    MIXED_SCRIPTS = "mixed_scripts"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalScore:
    """The score of a draft by its signals only.

    Attributes:
        support: 0..1, probability that the draft is grounded; vetoes do not change it.
        relevance: how far the draft answers the question; None where that cannot be measured.
        vetoes: facts that stop the draft.
    """

    kind: EvidenceKind
    signals: Mapping[str, float]
    support: float
    relevance: RelevanceScore | None
    vetoes: tuple[Veto, ...]
    citations: CitationCheck

    @property
    def all_signals(self) -> Mapping[str, float]:
        """The signals of support, then those of relevance."""
        return {**self.signals, **(self.relevance.signals if self.relevance else {})}


def score_draft(
    case: DraftCase, model: CoefficientSet, *, require_evidence: bool, check_relevance: bool = True
) -> tuple[SignalScore, Grounds]:
    """The score of a draft, and the grounds it was compared with; no model is called."""
    grounds = evidence_grounds("" if is_task(case.query) else case.query, case.context)
    prose = without_citations(case.draft)
    citations = citation_check(case.draft, case.evidence.passages)
    signals = {
        **lexical_signals(grounds, prose),
        "invalid_citations": float(len(citations.invalid)),
        "uncited_share": 1.0 - citations.coverage,
        "refusal": float(is_non_answer(prose)),
    }
    score = SignalScore(
        kind=grounds.kind,
        signals=signals,
        support=model.kinds[grounds.kind].confidence(signals),
        relevance=relevance_score(case, relevance_model(model)) if check_relevance else None,
        vetoes=_vetoes(case, citations, prose, require_evidence=require_evidence),
        citations=citations,
    )
    return score, grounds


def _vetoes(
    case: DraftCase, citations: CitationCheck, prose: str, *, require_evidence: bool
) -> tuple[Veto, ...]:
    found = []
    if case.evidence.moderation_hit:
        found.append(Veto.MODERATION_HIT)
    if require_evidence and not case.context.strip():
        found.append(Veto.NO_EVIDENCE)
    if citations.invalid:
        found.append(Veto.INVALID_CITATION)
    if _wrong_language(case, prose) is not None:
        found.append(Veto.WRONG_LANGUAGE)
    if mixed_script_words(prose):
        found.append(Veto.MIXED_SCRIPTS)
    return tuple(found)


def _wrong_language(case: DraftCase, prose: str) -> str | None:
    """The draft's language when it is certainly not the required one; None when none is required."""
    configured = case.evidence.languages
    wanted = author_language(case) if configured or case.evidence.query_language else None
    return wrong_language(prose, wanted, configured) if wanted else None


def score_reasons(case: DraftCase, score: SignalScore) -> tuple[str, ...]:
    """The reasons for a reviewer: the vetoes, then the signals above 0, in words."""
    veto_reasons = {
        Veto.MODERATION_HIT: f"moderation flagged the draft: {case.evidence.moderation_hit}",
        Veto.NO_EVIDENCE: "the draft states facts and there is no passage to rest them on",
        Veto.INVALID_CITATION: f"the draft cites passages that do not exist: {list(score.citations.invalid)}",
        Veto.WRONG_LANGUAGE: "the draft is in another language than the question",
        Veto.MIXED_SCRIPTS: "words of the draft mix look-alike letters of two scripts",
    }
    signal_reasons = (
        ("missing_words", "words of the draft do not occur in the passages"),
        ("bare_sentences", "no fact of some sentence occurs in the passages"),
        ("unsupported_numbers", "numbers of the draft do not occur in the passages"),
        ("unsupported_times", "times of day of the draft do not occur in the passages"),
        ("unsupported_names", "names of the draft do not occur in the passages"),
        ("affirmed_off", "the draft affirms what the record says is off or leaves blank"),
    )
    noticed = (text for name, text in signal_reasons if score.signals[name] > 0)
    return (*(veto_reasons[veto] for veto in score.vetoes), *noticed)
