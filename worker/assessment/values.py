"""The values of assessment: the case that a policy assesses and the closed sets of its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from worker.model import Json, Message, Passage


class RunFailure(StrEnum):
    """A typed error of the run that made the draft, known without reading any words."""

    TOOL_FAILURE = "tool_failure"
    TIMEOUT = "timeout"


class UnusableReason(StrEnum):
    """Why a draft cannot be assessed under any policy."""

    EMPTY_REPLY = "empty_reply"
    CITATIONS_ONLY = "citations_only"
    NO_WORDS = "no_words"
    REPEATS_MESSAGE = "repeats_message"
    CONTEXT_TOO_LARGE = "context_too_large"


class ReplyKind(StrEnum):
    """The kind of a draft; only an answer states facts that the evidence must support."""

    ANSWER = "answer"
    GREETING = "greeting"
    THANKS = "thanks"
    DISCLOSURE = "disclosure"
    CLARIFYING_QUESTION = "clarifying_question"
    HANDOFF = "handoff"
    REFUSAL = "refusal"
    PROMISE = "promised_action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a draft may be based on, and what is known about its generation.

    Attributes:
        passages: in the order the prompt numbered them; citation ``[1]`` means the first.
        failures: typed errors of tools and models during generation.
        expected_metadata: labels that a passage must have (Safety Mechanism: class and subject), or empty.
        languages: BCP 47 language codes the account answers in, or empty for any.
        query_language: code of the author's language as published, or None.
        moderation_hit: the category a moderation model flagged in the draft, or empty.
        event_metadata: the event's metadata (FailsafeNode: a profile of the author chooses among texts).
        rechecks: how often retrieval and generation were already repeated for this event.
        history: the conversation before the question, oldest first.
        other_drafts: what other models wrote for the same question, where several were asked.
        written: day and time of the question, as in the prompt; empty: unknown.
        documents_stored: False when the account has no document at all, so that no search can find any.
    """

    passages: tuple[Passage, ...] = ()
    failures: tuple[RunFailure, ...] = ()
    expected_metadata: Mapping[str, str] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    query_language: str | None = None
    moderation_hit: str = ""
    event_metadata: Mapping[str, Json] = field(default_factory=dict)
    rechecks: int = 0
    history: tuple[Message, ...] = ()
    other_drafts: tuple[str, ...] = ()
    written: str = ""
    documents_stored: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftCase:
    """One draft to be assessed, with its question and its evidence."""

    query: str
    evidence: Evidence
    draft: str

    @property
    def context(self) -> str:
        """The text of all passages, in order."""
        return "\n\n".join(passage.text for passage in self.evidence.passages)

    @property
    def titled_passages(self) -> tuple[tuple[str, str], ...]:
        """Title and text of each passage, in the order of the citation numbers."""
        return tuple((passage.title, passage.text) for passage in self.evidence.passages)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBounds:
    """The limits of a search for passages (Confidence Guardrail's recheck: 10 documents, from 0.3).

    Attributes:
        documents: how many passages to retrieve.
        min_similarity: 0..1, passages below it are left out.
    """

    documents: int
    min_similarity: float
