"""What the engine needs from outside, and how each may fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from worker.assessment.judge import Judge
from worker.model import Completion, Message, ModerationScores, Prompt, Retrieved


class Clock(Protocol):
    """Time and identity, so that the engine has neither of its own."""

    def now(self) -> datetime:
        """The wall clock, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``; cancelled when the worker drains."""
        ...

    def new_id(self, at: datetime) -> UUID:
        """A UUIDv7 whose time is ``at``."""
        ...


class Moderator(Protocol):
    """A moderation API.

    Raises:
        ModerationUnavailable: no verdict this time.
        ModerationRejected: this input can never be judged.
    """

    async def moderate(self, text: str, image_urls: Sequence[str]) -> ModerationScores:
        """Scores of a text and the images that go with it."""
        ...


class LanguageModel(Protocol):
    """A chat model.

    Raises:
        ModelUnavailable: timeouts, connection errors, 429, 5xx, a malformed or empty completion.
        ModelRejected: 400, 401, 403, 404, 422; asking again cannot help.
    """

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:
        """One answer, tool request or refusal, within ``timeout_s``."""
        ...


class Retriever(Protocol):
    """A search over an account's documents.

    Raises:
        RetrievalUnavailable: the search could not be made.
        StorageUnavailable: the store of the documents is away; the event waits for it.
    """

    async def search(
        self,
        user_id: str,
        query: str,
        limit: int,
        min_similarity: float = 0.0,
        labels: Mapping[str, str] | None = None,
    ) -> Retrieved:
        """Up to ``limit`` passages of this account alone, best first.

        Passages below ``min_similarity`` (0..1) are left out, and documents without all of ``labels``.
        """
        ...


class Embedder(Protocol):
    """A model that makes vectors of texts.

    Raises:
        RetrievalUnavailable: no vectors this time.
        EmbeddingRejected: 400, 401, 403, 404, 422; asking again cannot help.
    """

    async def embed(
        self, texts: Sequence[str], *, model: str, dimensions: int = 0
    ) -> tuple[tuple[float, ...], ...]:
        """One vector of length 1 a text, all of ``dimensions`` numbers; 0 leaves that to the model."""
        ...


class Conversations(Protocol):
    """The stored history.

    Raises:
        StorageUnavailable: it could not be read.
    """

    async def history(self, user_id: str, conversation_id: str, limit: int) -> tuple[Message, ...]:
        """The newest ``limit`` lines, oldest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything outside, bound together by the composition root.

    Attributes:
        moderator: None when moderation is switched off.
        judge: None when no judge is configured; what a policy would ask it is then "unavailable".
    """

    clock: Clock
    moderator: Moderator | None
    model: LanguageModel
    retriever: Retriever
    conversations: Conversations
    judge: Judge | None = None
