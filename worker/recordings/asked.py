"""Ports that ask through one place, which records the answers or plays recorded ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from worker.assessment.reading.model import ReadingRequest
from worker.classifiers.prompts import ClassifierQuestion
from worker.model import Completion, Event, Message, ModerationScores, NewerEvent, Prompt, Retrieved

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
class AskedPort:
    """Any port but the clock, as in ``worker.ports``; it has the methods of each.

    Attributes:
        behind: the port that answers; None: there is none.
    """

    asks: Asks
    port: str
    behind: Any = None

    def moderate(self, text: str, image_urls: Sequence[str]) -> PortAnswer[ModerationScores]:
        """Scores of a text and its images."""
        call = getattr(self.behind, "moderate", None)
        return self.asks.ask(self.port, (text, tuple(image_urls)), call, text, image_urls)

    def classify(self, question: ClassifierQuestion) -> PortAnswer[ModerationScores]:
        """Scores of a text by a classifier."""
        return self.asks.ask(self.port, question, getattr(self.behind, "classify", None), question)

    def complete(self, prompt: Prompt, timeout_s: float) -> PortAnswer[Completion]:
        """One answer of a language model."""
        return self.asks.ask(self.port, prompt, getattr(self.behind, "complete", None), prompt, timeout_s)

    def read(self, request: ReadingRequest) -> PortAnswer[Completion]:
        """The raw answer of a judge."""
        return self.asks.ask(self.port, request, getattr(self.behind, "read", None), request)

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
        return self.asks.ask(self.port, request, getattr(self.behind, "search", None), *given, **lines)

    def history(self, user_id: str, conversation_id: str, limit: int) -> PortAnswer[tuple[Message, ...]]:
        """The newest lines of the stored history."""
        given = (user_id, conversation_id, limit)
        return self.asks.ask(self.port, given, getattr(self.behind, "history", None), *given)

    def newer(self, event: Event) -> PortAnswer[tuple[NewerEvent, ...]]:
        """The events of the conversation that wait behind this one."""
        return self.asks.ask(self.port, event.event_id, getattr(self.behind, "newer", None), event)
