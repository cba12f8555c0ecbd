"""Ports that ask through one place, which records the answers or plays recorded ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from worker.assessment.reading.model import ReadingRequest
from worker.classifiers.prompts import ClassifierQuestion
from worker.model import Completion, Event, Message, ModerationScores, NewerEvent, Prompt, Retrieved
from worker.recordings.recording import Port

PortCall: TypeAlias = Callable[..., Awaitable[Any]]


class Asks(Protocol):
    """The place through which ports ask."""

    async def ask(self, port: str, request: object, call: PortCall | None, *given: Any, **named: Any) -> Any:
        """The answer of a port to a request; ``call(*given, **named)`` asks the port behind it."""
        ...


@dataclass(frozen=True, slots=True)
class AskedModerator:
    """A moderation API; as in ``worker.ports``."""

    asks: Asks
    call: PortCall | None

    async def moderate(self, text: str, image_urls: Sequence[str]) -> ModerationScores:
        """Scores of a text and its images."""
        request = [text, list(image_urls)]
        found: ModerationScores = await self.asks.ask(Port.MODERATOR, request, self.call, text, image_urls)
        return found


@dataclass(frozen=True, slots=True)
class AskedClassifier:
    """A classifier; as in ``worker.ports``."""

    asks: Asks
    port: str
    call: PortCall | None

    async def classify(self, question: ClassifierQuestion) -> ModerationScores:
        """Scores of a text."""
        found: ModerationScores = await self.asks.ask(self.port, question, self.call, question)
        return found


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A language model; as in ``worker.ports``."""

    asks: Asks
    port: str
    call: PortCall | None

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:
        """One answer."""
        found: Completion = await self.asks.ask(self.port, prompt, self.call, prompt, timeout_s)
        return found


@dataclass(frozen=True, slots=True)
class AskedJudge:
    """A judge; as in ``worker.assessment``."""

    asks: Asks
    call: PortCall | None

    async def read(self, request: ReadingRequest) -> Completion:
        """The raw answer."""
        found: Completion = await self.asks.ask(Port.JUDGE, request, self.call, request)
        return found


@dataclass(frozen=True, slots=True)
class AskedRetriever:
    """A search; as in ``worker.ports``."""

    asks: Asks
    call: PortCall | None

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
        """Up to ``limit`` passages of this account."""
        given = (user_id, query, limit, min_similarity, labels)
        lines = {"earlier": list(earlier), "embedded": None if embedded is None else list(embedded)}
        request = [user_id, query, limit, min_similarity, dict(labels or {}), *lines.values()]
        found: Retrieved = await self.asks.ask(Port.SEARCH, request, self.call, *given, **lines)
        return found


@dataclass(frozen=True, slots=True)
class AskedConversations:
    """The stored history; as in ``worker.ports``."""

    asks: Asks
    call: PortCall | None

    async def history(self, user_id: str, conversation_id: str, limit: int) -> tuple[Message, ...]:
        """The newest lines."""
        given = (user_id, conversation_id, limit)
        found: tuple[Message, ...] = await self.asks.ask(Port.HISTORY, list(given), self.call, *given)
        return found


@dataclass(frozen=True, slots=True)
class AskedArrivals:
    """Later events of the conversation; as in ``worker.ports``."""

    asks: Asks
    call: PortCall | None

    async def newer(self, event: Event) -> tuple[NewerEvent, ...]:
        """The events that wait behind this one."""
        found: tuple[NewerEvent, ...] = await self.asks.ask(Port.ARRIVALS, event.event_id, self.call, event)
        return found
