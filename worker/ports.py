"""The ports of the engine: what it calls outside, and the errors of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from worker.assessment.reading.asking import Judge
from worker.classifiers.prompts import ClassifierQuestion
from worker.model import Completion, Event, Message, ModerationScores, NewerEvent, Prompt, Retrieved
from worker.moderation_holds import Holds


class Clock(Protocol):
    """Time and new identifiers; the engine has no other source of either."""

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
        ModerationUnavailable: no result this time.
        ModerationRejected: this input can never be moderated.
        EndpointMisconfigured: no input can be moderated until the deployment is corrected.
    """

    async def moderate(self, text: str, image_urls: Sequence[str]) -> ModerationScores:
        """Scores of a text and the images that go with it."""
        ...


class Classifier(Protocol):
    """A model that classifies a text, by a written policy or by categories of its own.

    Raises:
        ModerationUnavailable: no result this time; of kind ``unreadable`` when the model answered something
            else, which the text itself may have caused.
        ModerationRejected: this input can never be classified.
        EndpointMisconfigured: no input can be classified until deployment or account are corrected.
    """

    async def classify(self, question: ClassifierQuestion) -> ModerationScores:
        """Scores of a text."""
        ...


class LanguageModel(Protocol):
    """A chat model.

    Raises:
        ModelUnavailable: timeouts, connection errors, 429, 5xx, a malformed or empty completion.
        ModelRejected: 400, 401, 403, 404, 422; a retry cannot help.
    """

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:
        """One answer, tool request or refusal, within ``timeout_s``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When a call to the model is repeated.

    Attributes:
        attempts: tries in all (Silent Guardrails: 3).
        first_wait_s: wait after the first failure, doubled after each further one (Guardrails: 2, 4, 8).
        longest_wait_s: where the doubling ends; a longer Retry-After ends the attempts at once, because an
            earlier call would be refused.
    """

    attempts: int = 3
    first_wait_s: float = 2.0
    longest_wait_s: float = 60.0

    def wait_s(self, attempt: int, retry_after_s: float | None) -> float | None:
        """Seconds to wait after failed ``attempt`` (from 1); None to give up."""
        if attempt >= self.attempts or (retry_after_s or 0.0) > self.longest_wait_s:
            return None
        backoff = min(self.first_wait_s * 2.0 ** (attempt - 1), max(self.first_wait_s, self.longest_wait_s))
        return max(backoff, retry_after_s or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLimits:
    """What one draft may cost.

    Attributes:
        timeout_s: limit of one attempt.
        tool_rounds: how often the model may ask for tools before it must answer.
        context_tokens: of the model: the prompt and the answer together.
        answer_tokens: longest answer.
    """

    timeout_s: float = 30.0
    tool_rounds: int = 2
    context_tokens: int = 16_000
    answer_tokens: int = 512

    @property
    def prompt_tokens(self) -> int:
        """What is left for a prompt, at least half of the context."""
        return max(self.context_tokens - self.answer_tokens, self.context_tokens // 2)


class Retriever(Protocol):
    """A search over an account's documents.

    Raises:
        RetrievalUnavailable: the search could not be made.
        StorageUnavailable: the document store is down; the event waits.
    """

    async def search(
        self,
        user_id: str,
        query: str,
        limit: int,
        min_similarity: float = 0.0,
        labels: Mapping[str, str] | None = None,
        *,
        earlier: Sequence[str] = (),
        embedded: Sequence[str] | None = None,
    ) -> Retrieved:
        """Up to ``limit`` passages of this account, best first.

        ``earlier`` are the lines of the conversation that the query continues, oldest first. ``embedded`` is
        the query, then these lines, as an embedding vendor may read them; None: as they are. Passages below
        ``min_similarity`` (0..1) and documents without all of ``labels`` are left out.
        """
        ...


class Embedder(Protocol):
    """An embedding model.

    Raises:
        RetrievalUnavailable: no vectors this time.
        EmbeddingRejected: 400, 401, 403, 404, 422; a retry cannot help.
    """

    async def embed(
        self, texts: Sequence[str], *, model: str, dimensions: int = 0
    ) -> tuple[tuple[float, ...], ...]:
        """One vector of length 1 per text, each of ``dimensions`` numbers; 0 leaves the size to the model."""
        ...


class Conversations(Protocol):
    """The stored history.

    Raises:
        StorageUnavailable: it could not be read.
    """

    async def history(self, user_id: str, conversation_id: str, limit: int) -> tuple[Message, ...]:
        """The newest ``limit`` lines, oldest first."""
        ...


class Arrivals(Protocol):
    """Events of a conversation that came after one of them.

    Raises:
        StorageUnavailable: it could not be read.
    """

    async def newer(self, event: Event) -> tuple[NewerEvent, ...]:
        """The events that wait behind this one in its conversation, oldest first, at most 100.

        Without those that were decided before, such as repetitions.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """All ports with their limits, built by the composition root.

    Attributes:
        moderator: None when moderation is switched off.
        classifiers: the deployment's classifiers, by name.
        models: the deployment's other language models, by name.
        judge: None when no judge is configured; its answers are then "unavailable".
        arrivals: None where no event can come meanwhile, such as a replay.
        retry: when calls to the model are repeated.
        is_replaced: whether new events have other ports, so that a held event begins again with those.
    """

    clock: Clock
    moderator: Moderator | None
    model: LanguageModel
    retriever: Retriever
    conversations: Conversations
    judge: Judge | None = None
    arrivals: Arrivals | None = None
    classifiers: Mapping[str, Classifier] = field(default_factory=dict)
    models: Mapping[str, LanguageModel] = field(default_factory=dict)
    retry: RetryPolicy = RetryPolicy()
    limits: ModelLimits = ModelLimits()
    holds: Holds = field(default_factory=Holds)
    is_replaced: Callable[[], bool] = lambda: False
