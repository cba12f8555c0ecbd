"""Ports that do as a test says; tests/contract/test_ports.py holds them to the real adapters' manners."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

from tests.support.readings import reading_of
from tests.support.samples import NOW
from worker.assessment import ReadingRequest
from worker.classifiers.prompts import ClassifierQuestion
from worker.model import Completion, Event, Message, ModerationScores, NewerEvent, Passage, Prompt, Retrieved

Value = TypeVar("Value")
CLEAN = ModerationScores(scores={"violence": 0.01}, flagged=frozenset(), model="fake")


class FakeClock:
    """Time that passes only during sleeps."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self._ids = count(1)

    def now(self) -> datetime:
        """The start, and what was slept since."""
        return NOW + timedelta(seconds=sum(self.slept))

    def monotonic(self) -> float:
        """Seconds slept."""
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        """Note it and give way once."""
        self.slept.append(seconds)
        await asyncio.sleep(0)

    def new_id(self, at: datetime) -> UUID:
        """1, 2, 3 ..."""
        return UUID(int=next(self._ids))


def next_of(script: list[Value | Exception]) -> Value:
    """The script's next value, its last one for ever; an error is raised."""
    step = script.pop(0) if len(script) > 1 else script[0]
    if isinstance(step, BaseException):
        raise step
    return step


@dataclass(slots=True)
class FakeModerator:
    """Answers by its script and notes what it was asked."""

    script: list[ModerationScores | Exception] = field(default_factory=lambda: [CLEAN])
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    before: Callable[[], None] = lambda: None

    async def moderate(self, text: str, image_urls: Sequence[str]) -> ModerationScores:
        """The script's next result."""
        self.asked.append((text, tuple(image_urls)))
        self.before()
        return next_of(self.script)


@dataclass(slots=True)
class FakeClassifier:
    """Answers by its script and notes what it was asked."""

    script: list[ModerationScores | Exception] = field(default_factory=lambda: [CLEAN])
    asked: list[ClassifierQuestion] = field(default_factory=list)

    async def classify(self, question: ClassifierQuestion) -> ModerationScores:
        """The script's next result."""
        self.asked.append(question)
        return next_of(self.script)


@dataclass(slots=True)
class FakeModel:
    """Answers by its script and notes what it was asked."""

    script: list[Completion | Exception]
    asked: list[Prompt] = field(default_factory=list)

    async def complete(self, prompt: Prompt, timeout_s: float) -> Completion:
        """The script's next completion."""
        self.asked.append(prompt)
        return next_of(self.script)


@dataclass(slots=True)
class FakeRetriever:
    """Finds by its script."""

    script: list[tuple[Passage, ...] | Exception]
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    least: list[float] = field(default_factory=list)
    embedded: list[Sequence[str] | None] = field(default_factory=list)
    earlier: list[Sequence[str]] = field(default_factory=list)
    degraded: str = ""

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
        """The script's next passages that are near enough and have the labels, at most ``limit``."""
        self.embedded.append(embedded)
        self.earlier.append(earlier)
        self.asked.append((user_id, query, limit))
        self.least.append(min_similarity)
        wanted = (labels or {}).items()
        near = tuple(
            p for p in next_of(self.script) if p.similarity >= min_similarity and wanted <= p.metadata.items()
        )
        return Retrieved(passages=near[:limit], degraded=self.degraded)


@dataclass(slots=True)
class FakeConversations:
    """Remembers what it was given."""

    lines: tuple[Message, ...] = ()
    asked: list[tuple[str, str]] = field(default_factory=list)
    error: Exception | None = None

    async def history(self, user_id: str, conversation_id: str, limit: int) -> tuple[Message, ...]:
        """The newest ``limit`` lines."""
        self.asked.append((user_id, conversation_id))
        if self.error is not None:
            raise self.error
        return self.lines[-limit:]


@dataclass(slots=True)
class FakeArrivals:
    """What waits behind the event, by its script."""

    script: list[tuple[NewerEvent, ...] | Exception]
    asked: list[str] = field(default_factory=list)

    async def newer(self, event: Event) -> tuple[NewerEvent, ...]:
        """The script's next events."""
        self.asked.append(event.event_id)
        return next_of(self.script)


@dataclass(slots=True)
class FakeJudge:
    """Answers by its script and notes what it was asked.

    Attributes:
        script: completions, errors, raw texts, or shares: then every sentence is supported, and the share is
            each probability and score.
    """

    script: list[Any]
    asked: list[ReadingRequest] = field(default_factory=list)

    async def read(self, request: ReadingRequest) -> Completion:
        """The script's next answer."""
        self.asked.append(request)
        answer: Completion | str | float = next_of(self.script)
        if isinstance(answer, Completion):
            return answer
        text = answer if isinstance(answer, str) else reading_of(request, answer)
        return Completion(text=text, model="judge")
