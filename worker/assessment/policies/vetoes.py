"""Facts that stop a draft under the policies of Hushgate, whatever a judge says."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from worker.assessment.text.citations import invalid_citations, without_citations
from worker.assessment.text.language import author_language, mixed_script_words, wrong_language
from worker.assessment.values import DraftCase


class Veto(StrEnum):
    """Facts that stop a draft at any confidence."""

    MODERATION_HIT = "moderation_hit"
    NO_EVIDENCE = "no_evidence"
    INVALID_CITATION = "invalid_citation"
    WRONG_LANGUAGE = "wrong_language"
    MIXED_SCRIPTS = "mixed_scripts"


VETO_REASONS: Final[Mapping[Veto, str]] = {
    Veto.MODERATION_HIT: "moderation flagged the draft",
    Veto.NO_EVIDENCE: "the draft states facts and there is no passage to rest them on",
    Veto.INVALID_CITATION: "the draft cites passages that do not exist",
    Veto.WRONG_LANGUAGE: "the draft is in another language than the question",
    Veto.MIXED_SCRIPTS: "words of the draft mix look-alike letters of two scripts",
}


def vetoes(case: DraftCase, *, require_evidence: bool) -> tuple[Veto, ...]:
    """The facts that stop a draft, in the order of the closed set."""
    prose = without_citations(case.draft)
    found = {
        Veto.MODERATION_HIT: bool(case.evidence.moderation_hit),
        Veto.NO_EVIDENCE: require_evidence and not case.context.strip(),
        Veto.INVALID_CITATION: bool(invalid_citations(case.draft, case.evidence.passages)),
        Veto.WRONG_LANGUAGE: _wrong_language(case, prose) is not None,
        Veto.MIXED_SCRIPTS: bool(mixed_script_words(prose)),
    }
    return tuple(veto for veto, noticed in found.items() if noticed)


def _wrong_language(case: DraftCase, prose: str) -> str | None:
    """The detected language if it differs from the required language; otherwise None."""
    configured, published = case.evidence.languages, case.evidence.query_language
    wanted = author_language(case) if configured or published else None
    question = None if published else case.query
    return wrong_language(prose, wanted, configured, question=question) if wanted else None
