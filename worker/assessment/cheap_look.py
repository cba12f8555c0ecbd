"""What words alone say of a draft: its signals, the confidence they give, and the facts that stop it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from worker.assessment.citations import CitationCheck, citation_check, without_citations
from worker.assessment.coefficients import Model
from worker.assessment.language import language_for, mixed_script_words, wrong_language
from worker.assessment.signals import EvidenceKind, Grounds, grounds_of, lexical_signals
from worker.assessment.values import Case
from worker.assessment.wordlists import folded, pattern_of


class Veto(StrEnum):
    """Facts that stop a draft whatever its score."""

    MODERATION_HIT = "moderation_hit"
    NO_EVIDENCE = "no_evidence"
    INVALID_CITATION = "invalid_citation"
    WRONG_LANGUAGE = "wrong_language"
    MIXED_SCRIPTS = "mixed_scripts"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheapLook:
    """What the signals alone say of a draft.

    Attributes:
        confidence: 0..1, probability that it is grounded, whatever the vetoes.
        vetoes: facts that stop it.
    """

    kind: EvidenceKind
    signals: Mapping[str, float]
    confidence: float
    vetoes: tuple[Veto, ...]
    citations: CitationCheck


def cheap_look(case: Case, model: Model, *, require_evidence: bool) -> tuple[CheapLook, Grounds]:
    """The signals, the confidence they give and the facts that stop the draft; no model is asked."""
    grounds = grounds_of(case.query, case.context)
    prose = without_citations(case.draft)
    citations = citation_check(case.draft, case.evidence.passages)
    signals = {
        **lexical_signals(grounds, prose),
        "invalid_citations": float(len(citations.invalid)),
        "uncited_share": 1.0 - citations.coverage,
        "refusal": float(pattern_of("refusals").search(folded(prose)) is not None),
    }
    look = CheapLook(
        kind=grounds.kind,
        signals=signals,
        confidence=model.kinds[grounds.kind].confidence(signals),
        vetoes=_vetoes(case, citations, prose, require_evidence=require_evidence),
        citations=citations,
    )
    return look, grounds


def _vetoes(case: Case, citations: CitationCheck, prose: str, *, require_evidence: bool) -> tuple[Veto, ...]:
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


def _wrong_language(case: Case, prose: str) -> str | None:
    """The language the draft is in when it should surely be another; None when none is required."""
    configured = case.evidence.languages
    wanted = language_for(case) if configured or case.evidence.query_language else None
    return wrong_language(prose, wanted, configured) if wanted else None


def reasons_of(case: Case, look: CheapLook) -> tuple[str, ...]:
    """What a reviewer should look at: the vetoes, then the signals that are not nought, in words."""
    told = {
        Veto.MODERATION_HIT: f"moderation flagged the draft: {case.evidence.moderation_hit}",
        Veto.NO_EVIDENCE: "the draft states facts and there is no passage to rest them on",
        Veto.INVALID_CITATION: f"the draft cites passages that do not exist: {list(look.citations.invalid)}",
        Veto.WRONG_LANGUAGE: "the draft is in another language than the question",
        Veto.MIXED_SCRIPTS: "words of the draft mix look-alike letters of two scripts",
    }
    noted = (
        ("missing_words", "words of the draft do not occur in the passages"),
        ("bare_sentences", "no fact of some sentence occurs in the passages"),
        ("unsupported_numbers", "numbers of the draft do not occur in the passages"),
        ("unsupported_times", "times of day of the draft do not occur in the passages"),
        ("unsupported_names", "names of the draft do not occur in the passages"),
        ("affirmed_off", "the draft affirms what the record says is off or leaves blank"),
    )
    return (*(told[veto] for veto in look.vetoes), *(text for name, text in noted if look.signals[name] > 0))
