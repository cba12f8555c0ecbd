"""The supported part of a draft: the sentences that a judge supports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.assessment.policies.vetoes import vetoes
from worker.assessment.reading.asking import DraftReading
from worker.assessment.reading.courtesies import LINK
from worker.assessment.text.citations import sentences_with_citations, without_citations
from worker.assessment.text.wordlists import folded_text
from worker.assessment.text.words import is_unspaced
from worker.assessment.values import DraftCase
from worker.model import ReadSentence


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedPart:
    """The part of a draft that may be sent.

    Attributes:
        text: the kept sentences with their citations.
        removed: the sentences left out, in order.
    """

    text: str
    removed: tuple[str, ...]


def supported_part(
    case: DraftCase, reading: DraftReading | None, *, min_share: float, send_at: float
) -> SupportedPart | None:
    """The sentences that a judge supports; None without a reading, for too few sentences, or for all.

    A sentence that states nothing is left out and not counted.
    """
    checked = reading.checked if reading else None
    if checked is None or checked.promises or vetoes(case, require_evidence=True):
        return None
    read = [each for each in checked.sentences if each.support is not None]
    parts = sentences_with_citations(case.draft)
    supports = [_support(case.draft, part, read) for part in parts]
    factual = [support is not None for support in supports]
    alone = [support is not None and support >= send_at for support in supports]
    kept = _with_linked(parts, factual, alone)
    facts, sent = sum(factual), sum(kept)
    if not sent or sent == facts or sent / facts < min_share:
        return None
    chosen = [part for part, keep in zip(parts, kept, strict=True) if keep]
    removed = tuple(part for part, keep in zip(parts, kept, strict=True) if not keep)
    return SupportedPart(text=_joined(case.draft, chosen), removed=removed)


def _support(draft: str, part: str, read: Sequence[ReadSentence]) -> float | None:
    """The support of a sentence with its citations: the lowest of what was read in it; None for no fact."""
    plain = without_citations(part).strip()
    found = (
        each.support for each in read if without_citations(draft[each.start : each.end]).strip() in plain
    )
    return min((support for support in found if support is not None), default=None)


def _with_linked(parts: Sequence[str], factual: Sequence[bool], alone: Sequence[bool]) -> list[bool]:
    """Which sentences are kept: linked ones only together, and none without a fact."""
    groups: list[list[int]] = []
    for place, part in enumerate(parts):
        if groups and LINK.match(folded_text(without_citations(part))):
            groups[-1].append(place)
        else:
            groups.append([place])
    kept = [False] * len(parts)
    for group in groups:
        whole = all(alone[place] for place in group if factual[place])
        for place in group:
            kept[place] = whole and factual[place]
    return kept


def _joined(draft: str, chosen: Sequence[str]) -> str:
    if "\n" in draft.strip():
        return "\n".join(chosen)
    last = without_citations(chosen[0]).rstrip(" .!?。！？")[-1:]
    return ("" if last and is_unspaced(last) else " ").join(chosen)
