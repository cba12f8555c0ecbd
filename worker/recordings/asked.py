"""Ports that ask through one place, which records the answers or plays recorded ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from worker.assessment.reading.asking import Judge
from worker.assessment.reading.model import ReadingRequest
from worker.classifiers.prompts import ClassifierQuestion
from worker.model import Completion, Event, Message, ModerationScores, NewerEvent, Prompt, Retrieved
from worker.ports import Arrivals, Classifier, Conversations, LanguageModel, Moderator, Retriever
from worker.recordings.recording import Port

Value = TypeVar("Value")
NO_LABELS: Final[dict[str, str]] = {}
PortCall: TypeAlias = Callable[..., Awaitable[Any]]
PortAnswer: TypeAlias = Coroutine[Any, Any, Value]


class Asks(Protocol):
    """The place through which ports ask."""

    def ask(
        self, port: str, request: object, call: PortCall | None, *given: Any, **named: Any
    ) -> PortAnswer[Any]:
        """The answer of a port to a request; ``call(*given, **named)`` asks the port behind it."""
        ...


@dataclass(frozen=True, slots=True)
class AskedModerator:
    """A moderation API; as in ``worker.ports``."""

    asks: Asks
    behind: Moderator | None

    def moderate(self, text: str, image_urls: Sequence[str]) -> PortAnswer[ModerationScores]:
        """Scores of a text and its images."""
        request = (text, tuple(image_urls))
        return self.asks.ask(
            Port.MODERATOR, request, self.behind.moderate if self.behind else None, text, image_urls
        )


@dataclass(frozen=True, slots=True)
class AskedClassifier:
    """A classifier; as in ``worker.ports``."""

    asks: Asks
    port: str
    behind: Classifier | None

    def classify(self, question: ClassifierQuestion) -> PortAnswer[ModerationScores]:
        """Scores of a text."""
        call = self.behind.classify if self.behind else None
        return self.asks.ask(self.port, question, call, question)


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A language model; as in ``worker.ports``."""

    asks: Asks
    port: str
    behind: LanguageModel | None

    def complete(self, prompt: Prompt, timeout_s: float) -> PortAnswer[Completion]:
        """One answer."""
        return self.asks.ask(
            self.port, prompt, self.behind.complete if self.behind else None, prompt, timeout_s
        )


@dataclass(frozen=True, slots=True)
class AskedJudge:
    """A judge; as in ``worker.assessment``."""

    asks: Asks
    behind: Judge | None

    def read(self, request: ReadingRequest) -> PortAnswer[Completion]:
        """The raw answer."""
        call = self.behind.read if self.behind else None
        return self.asks.ask(Port.JUDGE, request, call, request)


@dataclass(frozen=True, slots=True)
class AskedRetriever:
    """A search; as in ``worker.ports``."""

    asks: Asks
    behind: Retriever | None

    def search(
        self,
        user_id: str,
        query: str,
        limit: int,
        min_similarity: float = 0.0,
        labels: Mapping[str, str] | None = None,
        *,
        earlier: Sequence[str] = (),
        embedded: Sequence[str] | None = None,
    ) -> PortAnswer[Retrieved]:
        """Up to ``limit`` passages of this account."""
        given = (user_id, query, limit, min_similarity, labels)
        lines = {"earlier": tuple(earlier), "embedded": None if embedded is None else tuple(embedded)}
        kept = dict(labels) if labels else NO_LABELS
        request = (user_id, query, limit, min_similarity, kept, *lines.values())
        return self.asks.ask(
            Port.SEARCH, request, self.behind.search if self.behind else None, *given, **lines
        )


@dataclass(frozen=True, slots=True)
class AskedConversations:
    """The stored history; as in ``worker.ports``."""

    asks: Asks
    behind: Conversations | None

    def history(self, user_id: str, conversation_id: str, limit: int) -> PortAnswer[tuple[Message, ...]]:
        """The newest lines."""
        given = (user_id, conversation_id, limit)
        call = self.behind.history if self.behind else None
        return self.asks.ask(Port.HISTORY, given, call, *given)


@dataclass(frozen=True, slots=True)
class AskedArrivals:
    """Later events of the conversation; as in ``worker.ports``."""

    asks: Asks
    behind: Arrivals | None

    def newer(self, event: Event) -> PortAnswer[tuple[NewerEvent, ...]]:
        """The events that wait behind this one."""
        call = self.behind.newer if self.behind else None
        return self.asks.ask(Port.ARRIVALS, event.event_id, call, event)
