"""The nouns of assessment: what a policy sees, what it may ask a judge, what it may answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from worker.model import Passage


class Tier(StrEnum):
    """How far a reply is trusted; seed 001 names the three."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Action(StrEnum):
    """What should become of a draft; stored in ``Assessment.action``."""

    SEND = "send"
    RECHECK = "recheck"
    FALLBACK = "fallback"
    ESCALATE = "escalate"
    SILENCE = "silence"


class Failure(StrEnum):
    """A typed error of the run that made the draft, known without reading any words."""

    TOOL_FAILURE = "tool_failure"
    TIMEOUT = "timeout"


class Unusable(StrEnum):
    """Why a draft cannot be assessed at all, whatever the policy."""

    EMPTY_REPLY = "empty_reply"
    CITATIONS_ONLY = "citations_only"
    CONTEXT_TOO_LARGE = "context_too_large"


class ReplyKind(StrEnum):
    """What a draft does; only an answer states facts that evidence must carry."""

    ANSWER = "answer"
    GREETING = "greeting"
    THANKS = "thanks"
    CLARIFYING_QUESTION = "clarifying_question"
    HANDOFF = "handoff"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a draft may rest on, and what is known of the run that made it.

    Attributes:
        passages: in the order the prompt numbered them; citation ``[1]`` means the first.
        failures: typed errors of tools and models during generation.
        expected_metadata: labels every passage must carry (seed 003: class and subject), or empty.
        languages: BCP 47 language codes the account answers in, or empty for any.
        query_language: code of the author's language as the publisher gave it, or None.
        moderation_hit: the category a moderation model flagged in the draft, or empty.
        rechecks: how many times this event was already retrieved and generated again.
    """

    passages: tuple[Passage, ...] = ()
    failures: tuple[Failure, ...] = ()
    expected_metadata: Mapping[str, str] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    query_language: str | None = None
    moderation_hit: str = ""
    rechecks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One draft to be assessed: what was asked, what it may rest on, what it says."""

    query: str
    evidence: Evidence
    draft: str

    @property
    def context(self) -> str:
        """The text of all passages, in order."""
        return "\n\n".join(passage.text for passage in self.evidence.passages)

    @property
    def numbered_context(self) -> str:
        """The passages as a judge reads them, each under its citation number."""
        return "\n\n".join(
            f"[{number}] {passage.title}\n{passage.text}"
            for number, passage in enumerate(self.evidence.passages, start=1)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """How to search again when the action is ``recheck`` (seed 001: 10 documents down to 0.3).

    Attributes:
        documents: how many passages to retrieve.
        min_similarity: 0..1, passages below are left out.
    """

    documents: int
    min_similarity: float
