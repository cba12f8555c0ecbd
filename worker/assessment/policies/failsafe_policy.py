"""FailsafeNode's word lists, categories, texts and options, each settable per account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from worker.assessment.policies.guardrail import GuardrailPolicy
from worker.assessment.policies.outcomes import check_policy
from worker.assessment.policies.texts import texts, words
from worker.model import Action

UNCERTAINTY_INDICATORS = words("failsafe_uncertainty")
"""FailsafeNode, "Uncertainty Indicators"."""
PARTIAL_INDICATORS = words("failsafe_partial")
"""FailsafeNode, "Partial Response Indicators"."""
ERROR_KEYWORDS = words("failsafe_errors")
"""FailsafeNode, "Error Keywords"."""


class ErrorKind(StrEnum):
    """The six problem categories, in the order of matching: the most specific first."""

    TOOL_FAILURE = "TOOL_FAILURE"
    TIMEOUT = "TIMEOUT"
    TECHNICAL_LIMITATION = "TECHNICAL_LIMITATION"
    INSUFFICIENT_INFO = "INSUFFICIENT_INFO"
    AMBIGUOUS_QUERY = "AMBIGUOUS_QUERY"
    UNCERTAINTY = "UNCERTAINTY"


CATEGORY_KEYWORDS: Mapping[ErrorKind, tuple[str, ...]] = MappingProxyType(
    {kind: tuple(texts("failsafe_categories")[kind]) for kind in ErrorKind}
)
"""FailsafeNode, "Smart Error Categorization", example trigger keywords."""
RESPONSES: Mapping[str, str] = texts("failsafe_responses")
"""The first three are FailsafeNode's templates; the others follow their style."""

SHARES = (
    "confidence_threshold", "judge_below", "uncertainty_penalty", "most_uncertainty_penalty",
    "partial_penalty", "most_partial_penalty", "length_penalty", "error_penalty", "most_error_penalty",
)  # fmt: skip
"""Fields from 0 to 1."""
MOST_WORDS = 500
"""Most words of a list: every draft is searched for each of them."""
MOST_WORD_CHARS = 100


def _check_categories(name: str, given: Mapping[str, object]) -> None:
    if unknown := sorted(given.keys() - set(ErrorKind)):
        raise ValueError(f"{name}: expected categories of {', '.join(ErrorKind)}, got {unknown}")


def _check_words(name: str, words: Sequence[str]) -> None:
    if len(words) > MOST_WORDS:
        raise ValueError(f"{name}: expected at most {MOST_WORDS} words or phrases, got {len(words)}")
    for word in words:
        if not word.strip():
            raise ValueError(f"{name}: expected words or phrases, got an empty one")
        if len(word) > MOST_WORD_CHARS:
            raise ValueError(f"{name}: expected at most {MOST_WORD_CHARS} characters, got {len(word)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailsafePolicy:
    """FailsafeNode's configuration; ``enabled`` and ``confidence_threshold`` are its two options.

    Attributes:
        confidence_threshold: 0..1, below it the failsafe triggers (FailsafeNode: 0.7).
        judge_below: 0..1, below this rule score the judge is asked (FailsafeNode: 0.8).
        trigger_on_category: whether a category that the draft admits of itself also triggers above the
            threshold, as in FailsafeNode's scenario 2.
        preview_chars: characters of a refused reply that its record keeps.
        uncertainty_indicators: words of doubt.
        partial_indicators: words of a partial answer.
        error_keywords: words of an error.
        category_keywords: category -> words that name it; other categories keep the published ones.
        uncertainty_penalty, partial_penalty, error_penalty: 0..1, deduction per word.
        most_uncertainty_penalty, most_partial_penalty, most_error_penalty: 0..1, largest sum of them.
        short_chars: a shorter draft costs ``length_penalty``.
        responses: category -> text sent instead.
        profile_key: the event's metadata key with the author's profile, whose texts come first.
        profile_responses: profile -> category -> text.
        guardrail: assesses each draft that passed the failsafe (FailsafeNode: Failsafe -> Guardrail); None:
            nothing follows.
        low_action: the action for a refused reply.
    """

    version: int = 1
    enabled: bool = True
    test_mode: bool = False
    gate: bool = True
    confidence_threshold: float = 0.7
    judge_below: float = 0.8
    trigger_on_category: bool = True
    preview_chars: int = 100
    uncertainty_indicators: tuple[str, ...] = UNCERTAINTY_INDICATORS
    partial_indicators: tuple[str, ...] = PARTIAL_INDICATORS
    error_keywords: tuple[str, ...] = ERROR_KEYWORDS
    category_keywords: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uncertainty_penalty: float = 0.1
    most_uncertainty_penalty: float = 0.5
    partial_penalty: float = 0.1
    most_partial_penalty: float = 0.3
    length_penalty: float = 0.2
    short_chars: int = 50
    error_penalty: float = 0.15
    most_error_penalty: float = 0.4
    responses: Mapping[str, str] = field(default_factory=lambda: dict(RESPONSES))
    profile_key: str = "profile"
    profile_responses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    low_action: Action = Action.FALLBACK
    guardrail: GuardrailPolicy | None = None

    def __post_init__(self) -> None:
        counts = {"preview_chars": (0, 10_000), "short_chars": (0, 10_000)}
        check_policy(self, shares=SHARES, counts=counts)
        _check_categories("responses", self.responses)
        _check_categories("category_keywords", self.category_keywords)
        for name in ("uncertainty_indicators", "partial_indicators", "error_keywords"):
            _check_words(name, getattr(self, name))
        for category, keywords in self.category_keywords.items():
            _check_words(f"category_keywords.{category}", keywords)
        for profile, responses in self.profile_responses.items():
            _check_categories(f"profile_responses.{profile}", responses)
        if not self.profile_key.strip():
            raise ValueError(f"profile_key: expected the name of a metadata key, got {self.profile_key!r}")

    def keywords(self, category: ErrorKind) -> tuple[str, ...]:
        """The words that name a category."""
        return self.category_keywords.get(category.value, CATEGORY_KEYWORDS[category])
