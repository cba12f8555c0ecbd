"""What rules, moderation and checks notice in a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from worker.model.generation import Tokens
from worker.model.stages import Stage


class Severity(StrEnum):
    """How much weight a finding has on its own."""

    NOTE = "note"
    WARN = "warn"
    BLOCK = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range of code points in the original text, ``text[start:end]``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule, a model or a check noticed; a finding has no effect of its own.

    Attributes:
        code: a stable word, such as ``flagged_keyword`` or ``openai_moderation``.
        severity: whether the finding alone blocks.
        matched_rule: as stored in ``ai_decisions.matched_rule``, such as ``flagged_keyword:spam``.
        evidence: one sentence for a reviewer; may quote the rule, never more than 300 characters.
        how: how a rule matched (``exact``, ``case``, ``leet`` ...), or empty.
        score: 0..1 where the source gives one, else None.
        span: where in the original text, or None when it concerns the whole.
    """

    stage: Stage
    code: str
    severity: Severity
    matched_rule: str
    evidence: str
    how: str = ""
    score: float | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationScores:
    """The result of a moderation call.

    Attributes:
        scores: category -> 0..1.
        flagged: the categories the API itself flagged.
        model: the name the API gave.
        tokens: what the call cost; none for the moderation API.
        unchecked_images: images that could not be checked, such as those that cannot be fetched; the scores
            are of the text and of the other images.
    """

    scores: Mapping[str, float]
    flagged: frozenset[str]
    model: str
    unchecked_images: int = 0
    tokens: Tokens = field(default_factory=Tokens)
