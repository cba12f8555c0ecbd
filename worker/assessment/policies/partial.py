"""The supported part of a draft: the sentences that could be sent alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.policies.designs import Policy
from worker.assessment.signals.lexical import has_bare_fact
from worker.assessment.signals.scoring import score_draft
from worker.assessment.signals.sentences import sentence_coverage
from worker.assessment.text.citations import sentences_with_citations, without_citations
from worker.assessment.text.wordlists import folded_text
from worker.assessment.text.words import is_unspaced, normalised_text, split_sentences
from worker.assessment.values import DraftCase

_LINK = re.compile(
    r"[\s\W]*(?:"
    r"(?:it|its|it's|this|that|that's|these|those|they|they're|them|their|he|she|there|then|however|but|also|and|or|"
    r"otherwise|unless|except|only|in (?:that|this|these|such) cases?|for this|such|both|if so|if not|after|"
    r"before|instead|additionally|moreover|furthermore|therefore|so|because|which|the same|though|although|"
    r"yet|not|never|even|note|nó|điều|việc này|họ|tuy nhiên|nhưng|ngoài ra|và|hoặc|nếu không|trừ|khi đó|"
    r"sau đó|vì vậy|do đó|đây|đó|cũng|bên cạnh|chỉ|lưu ý|es|das|dies\w*|er|jedoch|aber|außerdem|und|oder|"
    r"sonst|ansonsten|außer|nur|dann|danach|dabei|dafür|deshalb|dort|auch|allerdings|esto|eso|este|esta|"
    r"estos|ello|él|ella|pero|sin embargo|además|o|de lo contrario|excepto|salvo|solo|entonces|después|"
    r"por eso|también|así|il|elle|ils|elles|ce|cela|ça|cette|ces|mais|cependant|toutefois|de plus|et|ou|"
    r"sinon|sauf|seulement|alors|ensuite|donc|aussi|en outre)(?!\w)"
    r"|[它这那此其他她但不而并另否除因所然之同只也还則则]|如果不|此外)"
)
"""Beginning of a sentence that refers to the one before it or restricts it: both are kept or neither."""


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
    case: DraftCase, policy: Policy, *, min_share: float, judged: Mapping[str, float]
) -> SupportedPart | None:
    """The sentences that ``calibrated`` would send alone; None when they are too few or nothing is missing.

    A sentence without a fact is left out and not counted. Under another policy the thresholds are those of
    ``calibrated``'s defaults. ``judged`` has the judge's scores of sentences; a score replaces the signals.
    """
    measure = policy if isinstance(policy, CalibratedPolicy) else CalibratedPolicy()
    whole, grounds = score_draft(case, measure.model, require_evidence=True)
    if whole.vetoes:
        return None
    parts = sentences_with_citations(case.draft)
    factual = [bool(sentence_coverage(grounds, (without_citations(part),))) for part in parts]
    alone = [
        fact and _is_supported(case, part, measure, judged) for fact, part in zip(factual, parts, strict=True)
    ]
    kept = _with_linked(parts, factual, alone)
    facts, sent = sum(factual), sum(kept)
    if not sent or sent == facts or sent / facts < min_share:
        return None
    chosen = [part for part, keep in zip(parts, kept, strict=True) if keep]
    removed = tuple(part for part, keep in zip(parts, kept, strict=True) if not keep)
    return SupportedPart(text=_joined(case.draft, chosen), removed=removed)


def _is_supported(case: DraftCase, part: str, policy: CalibratedPolicy, judged: Mapping[str, float]) -> bool:
    scores = [judged[each] for each in judged_sentences(part) if each in judged]
    if scores:
        return min(scores) >= policy.judge_accepts
    alone = DraftCase(query=case.query, evidence=case.evidence, draft=part)
    score, _ = score_draft(alone, policy.model, require_evidence=True, check_relevance=False)
    send_at = policy.model.kinds[score.kind].send_at if policy.send_at is None else policy.send_at
    return score.support >= send_at and not has_bare_fact(score.signals) and not score.vetoes


def judged_sentences(part: str) -> list[str]:
    """The claims about which a judge may have been asked for this sentence."""
    return split_sentences(normalised_text(without_citations(part)))


def _with_linked(parts: Sequence[str], factual: Sequence[bool], alone: Sequence[bool]) -> list[bool]:
    """Which sentences are kept: linked ones only together, and none without a fact."""
    groups: list[list[int]] = []
    for place, part in enumerate(parts):
        if groups and _LINK.match(folded_text(without_citations(part))):
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
