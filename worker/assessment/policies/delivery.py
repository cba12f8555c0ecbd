"""What is sent when a draft is not trusted, or in addition to it: the options that every policy shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum

from pydantic import ConfigDict, with_config

from worker.assessment.policies.texts import texts
from worker.model import Tier

MISSING = texts("missing")
CONFIDENCE: Mapping[str, Mapping[str, str]] = texts("confidence")
SUGGESTIONS = texts("suggestions")
_MOST_CHARS = 2000
_MOST_PROMPT_CHARS = 20_000


class FallbackLevel(StrEnum):
    """What may happen instead of sending a draft that is not trusted."""

    PARTIAL = "partial"
    TEXT = "text"
    HANDOFF = "handoff"
    SILENCE = "silence"
    POLICY = "policy"


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True, kw_only=True)
class RetryWith:
    """One more draft by another model or prompt, when the first draft is not trusted enough.

    Attributes:
        below: 0..1, a first draft with less confidence is made once more; the better assessed draft counts.
        model: name of one of the deployment's models; empty: the same model.
        prompt: instead of the account's own; empty: the same prompt.
    """

    below: float
    model: str = ""
    prompt: str = ""

    def __post_init__(self) -> None:
        if not 0.0 < self.below <= 1.0:
            raise ValueError(f"retry_with.below: expected a number above 0, at most 1, got {self.below}")
        if not (self.model.strip() or self.prompt.strip()):
            raise ValueError("retry_with: expected a model, a prompt or both, got none")
        if len(self.prompt) > _MOST_PROMPT_CHARS or "\x00" in self.prompt:
            expected = f"at most {_MOST_PROMPT_CHARS} characters without NUL"
            raise ValueError(f"retry_with.prompt: expected {expected}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The options of an account's ``assessment_policy`` that every design has.

    Attributes:
        fallback_levels: tried in order for a draft that is not trusted; the first that is possible ends the
            event, and silence if none is. ``policy`` stands for the action that the policy chose.
        partial_min_share: 0..1, share of a draft's sentences that must be supported for a partial answer.
        missing_texts: language -> sentence after a partial answer.
        tell_confidence: whether a text on its confidence follows every assessed reply.
        confidence_texts: language -> tier -> that text; an empty text adds nothing.
        thresholds: condition (``label:subject=tax``) -> field of the design -> 0..1, used
            instead of the field where the condition applies.
        retry_with: another model or prompt for a first draft of low confidence; None: no second draft.
        suggest_questions: whether up to three headings of documents near the question follow a fallback text.
        suggestion_texts: language -> text before these headings.
    """

    fallback_levels: tuple[FallbackLevel, ...] = (FallbackLevel.POLICY,)
    partial_min_share: float = 0.5
    missing_texts: Mapping[str, str] = field(default_factory=lambda: dict(MISSING))
    tell_confidence: bool = False
    confidence_texts: Mapping[str, Mapping[Tier, str]] = field(
        default_factory=lambda: {
            language: {Tier(tier): text for tier, text in texts.items()}
            for language, texts in CONFIDENCE.items()
        }
    )

    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    retry_with: RetryWith | None = None
    suggest_questions: bool = False
    suggestion_texts: Mapping[str, str] = field(default_factory=lambda: dict(SUGGESTIONS))

    def __post_init__(self) -> None:
        levels = self.fallback_levels
        if not levels or len(set(levels)) != len(levels):
            shown = ", ".join(levels) or "none"
            raise ValueError(f"fallback_levels: expected at least one level, each once, got {shown}")
        if not 0.0 < self.partial_min_share <= 1.0:
            raise ValueError(
                f"partial_min_share: expected a number above 0, at most 1, got {self.partial_min_share}"
            )
        own = (*self.missing_texts.values(), *self.suggestion_texts.values())
        texts = (*own, *_texts(self.confidence_texts))
        if any(len(text) > _MOST_CHARS or "\x00" in text for text in texts):
            expected = f"texts of at most {_MOST_CHARS} characters without NUL"
            raise ValueError(f"missing_texts, confidence_texts, suggestion_texts: expected {expected}")


def _texts(by_language: Mapping[str, Mapping[Tier, str]]) -> tuple[str, ...]:
    return tuple(text for texts in by_language.values() for text in texts.values())


DELIVERY_FIELDS = frozenset(each.name for each in fields(Delivery))
"""Names of the options, the same in every design."""
